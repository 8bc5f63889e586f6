r"""Reads JSON lines and JSON arrays in chunks: decompressed, cut after lines or elements, decoded natively.

Lines end only at `\n`, so answers may contain U+2028, U+0085 and similar characters.
"""

from __future__ import annotations

import codecs
import io
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs import _native
from pfgen_rs.errors import InputError, Item
from pfgen_rs.io import compression
from pfgen_rs.io.arrays import Cut, Elements, elements_at, is_array
from pfgen_rs.io.batch_outputs import answer_record
from pfgen_rs.io.chunk import Chunk, Options
from pfgen_rs.io.compression import read_parts, read_some
from pfgen_rs.io.cut_short import cut_short
from pfgen_rs.io.formats import HEAD, refuse_other_format
from pfgen_rs.io.records import as_text, optional_text_field, parse_line, text_field, token_field
from pfgen_rs.io.source import Raw, Source

__all__ = ["LONGEST_LINE", "line_chunks", "line_records", "text_blocks"]

LONGEST_LINE = 64 << 20
_READ = 1 << 20
_TOO_LONG = {
    "line": f"a line is longer than {LONGEST_LINE >> 20} MiB: is this a JSON lines file?",
    "element": f"an array element is longer than {LONGEST_LINE >> 20} MiB: is it closed?",
}


class Block(NamedTuple):
    """Complete lines (or elements, one per line), and where they begin in the decompressed text.

    `damage`: why nothing after them can be read, if so.
    """

    start: int
    text: bytes
    damage: str | None = None
    item: Item = "line"


def line_chunks(source: Source, raw: Raw, options: Options) -> Iterator[Chunk]:
    """Read the responses of a file in order; bad lines are errors, or become problems if skipped."""
    first = 1
    for block in text_blocks(raw, options.text_size):
        decoded = _DecodedLines(source.path, block, first, options)
        first += decoded.count
        if block.damage is not None:
            decoded.refuse(InputError(block.damage), first)
        yield from decoded.chunks(raw.count)
        del block, decoded  # before the next ones are read


def text_blocks(raw: io.RawIOBase, size: int) -> Iterator[Block]:
    """Cut the text at newlines, into blocks of about `size` bytes; deterministic for the same bytes.

    A JSON array is cut after elements. Raises `InputError` for files of other formats.
    """
    file = io.BufferedReader(raw, _READ)
    try:
        stream = compression.unpacking(file, raw.size if isinstance(raw, Raw) else None)
        head, damage = read_some(stream, HEAD)
        refuse_other_format(head)
        head_start = len(codecs.BOM_UTF8) if head.startswith(codecs.BOM_UTF8) else 0
        begin = _Begin(head_start, head[head_start:], damage)
        if is_array(begin.text):
            yield from _cut_at_line_end(stream, begin, size, _up_to_element_end(), "element")
        else:
            yield from _cut_at_line_end(stream, begin, size, _up_to_line_end, "line")
    finally:
        file.detach()  # or the raw file would be closed with it


class _Begin(NamedTuple):
    """The beginning of a text after its byte order mark, its offset, and why it is truncated, if so."""

    start: int
    text: bytes
    damage: str | None


def _up_to_line_end(rest: bytes, fresh: Sequence[bytes], *, ended: bool) -> tuple[Cut, bytes]:
    """Returns whole lines of consecutive pieces, and what follows; copies them only once."""
    for place in reversed(range(len(fresh))):
        end = fresh[place].rfind(b"\n") + 1
        if end:
            text = b"".join((rest, *fresh[:place], memoryview(fresh[place])[:end]))
            return Cut(text, len(text)), b"".join((fresh[place][end:], *fresh[place + 1 :]))
    whole = b"".join((rest, *fresh))
    return (Cut(whole, len(whole)), b"") if ended else (Cut(b"", 0), whole)


def _up_to_element_end() -> Callable[..., tuple[Cut, bytes]]:
    elements = Elements()

    def cut_text(rest: bytes, fresh: Sequence[bytes], *, ended: bool) -> tuple[Cut, bytes]:
        text = b"".join((rest, *fresh))
        cut = elements(text, ended=ended)
        return cut, text[cut.used :]

    return cut_text


def _cut_at_line_end(
    stream: io.BufferedIOBase,
    begin: _Begin,
    size: int,
    whole: Callable[..., tuple[Cut, bytes]],
    item: Item,
) -> Iterator[Block]:
    start, rest, damage = begin
    ended = False
    while not ended:
        fresh: Sequence[bytes] = ()
        if damage is None:
            fresh, damage = read_parts(stream, max(size - len(rest), 0) or size)
        ended = not fresh and damage is None
        cut, rest = whole(rest, fresh, ended=ended)
        del fresh
        if len(rest) > LONGEST_LINE:
            raise InputError(_TOO_LONG[item])
        damage = damage or cut.damage
        if cut.text or damage is not None:
            yield Block(start, cut.text, damage, item)
        if damage is not None:
            return
        start += cut.used
        del cut


def _token_lines(text: bytes, _: str, __: str, more: Sequence[str]) -> tuple[Any, ...]:
    """Leave every line to Python: `decode_lines` cannot decode answers that are lists of ids."""
    lines = text.removesuffix(b"\n").split(b"\n") if text else []
    irregular, start = [], 0
    for number, line in enumerate(lines):
        if line.strip():
            irregular.append((number, start, start + len(line)))
        start += len(line) + 1
    none = np.empty(0, dtype=np.int64)
    return [[]] * (2 + len(more)), none, none, irregular, len(lines)


def _response(line: bytes, *, replace_invalid: bool) -> dict[str, Any]:
    return answer_record(parse_line(line, replace_invalid=replace_invalid))


class _DecodedLines:
    """The lines of a block as columns; lines that the native decoder cannot handle are parsed here."""

    def __init__(self, path: str, block: Block, first: int, options: Options) -> None:
        self._path, self._block, self._first, self._options = path, block, first, options
        self._problems: list[InputError] = []
        decode = _token_lines if options.tokens else _native.decode_lines
        (questions, answers, *more), numbers, starts, irregular, self.count = decode(
            block.text,
            *options.fields,
            [*options.more_fields, *(kept.key for kept in options.keep)],
        )
        self._columns = {
            "question": pl.Series(questions, dtype=pl.String),
            "answer": pl.Series(answers, dtype=options.answer_type),
            **{str(i): pl.Series(text, dtype=pl.String) for i, text in enumerate(more)},
            "line": pl.Series(numbers + first),
            "start": pl.Series(starts + block.start),
        }
        if irregular:
            self._add(irregular, first)

    def _add(self, irregular: Sequence[tuple[int, int, int]], first: int) -> None:
        rows: list[tuple[Any, ...]] = []
        field: Callable[..., Any] = token_field if self._options.tokens else text_field
        advice = self._options.advice
        for number, start, end in irregular:
            try:
                record = _response(
                    self._block.text[start:end], replace_invalid=self._options.replace_invalid
                )
                question = text_field(record, self._options.question_field, advice[0])
                answer = field(record, self._options.answer_field, advice[1])
                more = [optional_text_field(record, key) for key in self._options.more_fields]
                more += [as_text(record.get(kept.key)) for kept in self._options.keep]
            except InputError as error:
                self.refuse(error, first + number)
                continue
            rows.append((question, answer, *more, first + number, self._block.start + start))
        frame = pl.DataFrame(self._columns)
        parsed = pl.DataFrame(rows, schema=frame.schema, orient="row")
        self._columns = pl.concat([frame, parsed]).sort("line").to_dict()

    def refuse(self, error: InputError, line: int) -> None:
        """Raise the error, or record it if bad lines are skipped."""
        located = InputError(error.problem, path=self._path, line=line, item=self._block.item)
        if not self._options.skip_bad_lines:
            raise located
        self._problems.append(located)

    def chunks(self, read: int) -> Iterator[Chunk]:
        """Yield the columns in chunks; at least one, which carries the problems."""
        digest: list[str] = []

        def identity(at: int) -> str:
            if not digest:
                digest.append(_native.digest(self._block.text))
            return f"{digest[0]}:{self._block.start}:{at}"

        *texts, line, start = self._columns.values()
        lines, starts = line.to_numpy(), start.to_numpy()
        cut = self._cut_short(lines)
        for at in range(0, max(len(lines), 1), self._options.rows):
            end = at + self._options.rows
            questions, answers, *more = (column[at:end] for column in texts)
            count, keep = len(self._options.more_fields), self._options.keep
            kept = [more[count + i].alias(column.name) for i, column in enumerate(keep)]
            yield Chunk(
                questions,
                answers,
                lines[at:end],
                starts[at:end],
                [] if at else self._problems,
                self._block.text,
                self._block.start,
                lambda at=at: identity(at),  # type: ignore[misc]
                read,
                tuple(more[:count]),
                self._block.item,
                kept=pl.DataFrame(kept),
                cut_short=cut if end >= len(lines) else None,
            )

    def _cut_short(self, lines: NDArray[np.int64]) -> InputError | None:
        """Returns the sign that the file was cut short, if the block's last line is a response."""
        block, last = self._block, self._first + self.count - 1
        if block.item != "line" or block.damage is not None or block.text.endswith(b"\n"):
            return None
        if last == 1 or not len(lines) or lines[-1] != last:
            return None
        return cut_short(self._path, last, block.item, self._options)


def line_records(
    source: Source,
    starts: NDArray[np.int64],
    kept: Sequence[tuple[int, bytes]] = (),
    *,
    replace_invalid: bool = False,
) -> Iterator[dict[str, Any]]:
    """Read the objects on the lines (or elements) at these ascending offsets of the decompressed text.

    `kept`: texts that are still in memory, with their offsets, to use instead of the file. `replace_invalid`:
    see `Options`.
    """
    parse = partial(_response, replace_invalid=replace_invalid)
    if kept:
        begins = [start for start, _ in kept]
        for start in starts.tolist():
            begin, text = kept[bisect_right(begins, start) - 1]
            end = text.find(b"\n", start - begin)
            yield parse(text[start - begin : end if end >= 0 else len(text)])
        return
    with source.open() as raw:
        file = io.BufferedReader(raw, _READ)
        stream = compression.unpacking(file)
        if is_array(stream.read(HEAD).removeprefix(codecs.BOM_UTF8)):
            yield from map(parse, elements_at(stream, starts.tolist()))
            return
        for start in starts.tolist():
            stream.seek(start)
            yield parse(stream.readline().removesuffix(b"\n"))
