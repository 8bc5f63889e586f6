r"""JSON lines in chunks: unpacked, cut at line ends, and decoded natively.

Lines end at `\n` alone, so that answers may hold U+2028, U+0085 and the like.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs import _native
from pfgen_rs.errors import InputError
from pfgen_rs.io import compression
from pfgen_rs.io.chunk import Chunk, Options
from pfgen_rs.io.records import optional_text_field, parse_line, text_field, token_field
from pfgen_rs.io.source import Raw, Source

__all__ = ["LONGEST_LINE", "line_chunks", "line_records", "text_blocks"]

LONGEST_LINE = 64 << 20
_READ = 1 << 20


class Block(NamedTuple):
    """Whole lines, and where they begin in the unpacked text. `damage`: why nothing follows them."""

    start: int
    text: bytes
    damage: str | None = None


def line_chunks(source: Source, raw: Raw, options: Options) -> Iterator[Chunk]:
    """The responses of a file, in order; lines that cannot be used are problems, or end it."""
    first = 1
    for block in text_blocks(raw, options.text_size):
        decoded = _Decoded(source.path, block, first, options)
        first += decoded.count
        if block.damage is not None:
            decoded.refuse(InputError(block.damage), first)
        yield from decoded.chunks(raw.count)


def text_blocks(raw: io.RawIOBase, size: int) -> Iterator[Block]:
    """The text cut at line ends, about `size` bytes at a time; the same bytes are cut the same way."""
    file = io.BufferedReader(raw, _READ)
    try:
        yield from _cut(compression.unpacking(file), size)
    finally:
        file.detach()  # or the raw file would be closed with it


def _cut(stream: io.BufferedIOBase, size: int) -> Iterator[Block]:
    start, rest, damage = 0, b"", None
    size = max(size, len(codecs.BOM_UTF8))
    while damage is None:
        fresh, damage = _read(stream, max(size - len(rest), 0) or size)
        ended = not fresh
        if start == 0 and not rest and fresh.startswith(codecs.BOM_UTF8):
            start, fresh = len(codecs.BOM_UTF8), fresh[len(codecs.BOM_UTF8) :]
        text = rest + fresh
        if ended and damage is None:
            if text:
                yield Block(start, text)
            return
        cut = text.rfind(b"\n") + 1
        rest = text[cut:]
        if len(rest) > LONGEST_LINE:
            raise InputError(f"a line is longer than {LONGEST_LINE >> 20} MiB: is this JSON lines?")
        if cut or damage is not None:
            yield Block(start, text[:cut], damage)
        start += cut


def _read(stream: io.BufferedIOBase, size: int) -> tuple[bytes, str | None]:
    """`size` bytes, or fewer where the file ends; with the reason if it ends too early."""
    parts, missing = [], size
    try:
        # Unlike `read`, `read1` hands over what precedes the damage.
        while missing and (part := stream.read1(min(missing, _READ))):
            parts.append(part)
            missing -= len(part)
    except compression.DAMAGE as error:
        if isinstance(stream, io.BufferedReader):
            raise
        reason = f"the compressed data is damaged or cut short here ({error}): copy the file again"
        return b"".join(parts), reason
    return b"".join(parts), None


def _token_lines(text: bytes, _: str, __: str, more: Sequence[str]) -> tuple[Any, ...]:
    """What `decode_lines` gives: of lines whose answers are lists of ids none is decoded natively."""
    lines = text.removesuffix(b"\n").split(b"\n") if text else []
    irregular, start = [], 0
    for number, line in enumerate(lines):
        if line.strip():
            irregular.append((number, start, start + len(line)))
        start += len(line) + 1
    none = np.empty(0, dtype=np.int64)
    return [[]] * (2 + len(more)), none, none, irregular, len(lines)


class _Decoded:
    """The lines of a block as columns; what the native decoder does not take is parsed here."""

    def __init__(self, path: str, block: Block, first: int, options: Options) -> None:
        self._path, self._block, self._options = path, block, options
        self._problems: list[InputError] = []
        decode = _token_lines if options.tokens else _native.decode_lines
        (questions, answers, *more), numbers, starts, irregular, self.count = decode(
            block.text, *options.fields, options.more_fields
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
        for number, start, end in irregular:
            try:
                record = parse_line(self._block.text[start:end])
                question = text_field(record, self._options.question_field)
                answer = field(record, self._options.answer_field)
                more = [optional_text_field(record, key) for key in self._options.more_fields]
            except InputError as error:
                self.refuse(error, first + number)
                continue
            rows.append((question, answer, *more, first + number, self._block.start + start))
        frame = pl.DataFrame(self._columns)
        parsed = pl.DataFrame(rows, schema=frame.schema, orient="row")
        self._columns = pl.concat([frame, parsed]).sort("line").to_dict()

    def refuse(self, error: InputError, line: int) -> None:
        """Note the problem, or raise it."""
        located = InputError(error.problem, path=self._path, line=line)
        if not self._options.skip_bad_lines:
            raise located
        self._problems.append(located)

    def chunks(self, read: int) -> Iterator[Chunk]:
        """As many as it takes; at least one, which carries the problems."""
        digest: list[str] = []

        def identity(at: int) -> str:
            if not digest:
                digest.append(_native.digest(self._block.text))
            return f"{digest[0]}:{self._block.start}:{at}"

        *texts, line, start = self._columns.values()
        lines, starts = line.to_numpy(), start.to_numpy()
        for at in range(0, max(len(lines), 1), self._options.rows):
            end = at + self._options.rows
            questions, answers, *more = (column[at:end] for column in texts)
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
                tuple(more),
            )


def line_records(
    source: Source, starts: NDArray[np.int64], kept: Sequence[tuple[int, bytes]] = ()
) -> Iterator[dict[str, Any]]:
    """The objects of the lines that begin at these places of the unpacked text, which must rise.

    `kept`: texts that are still in memory, with where they begin, instead of the file.
    """
    if kept:
        begins = [start for start, _ in kept]
        for start in starts.tolist():
            begin, text = kept[int(np.searchsorted(begins, start, side="right")) - 1]
            end = text.find(b"\n", start - begin)
            yield parse_line(text[start - begin : end if end >= 0 else len(text)])
        return
    with source.open() as raw:
        file = io.BufferedReader(raw, _READ)
        stream = compression.unpacking(file)
        for start in starts.tolist():
            stream.seek(start)
            yield parse_line(stream.readline().removesuffix(b"\n"))
