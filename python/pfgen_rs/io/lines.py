r"""Reads JSON lines and JSON arrays in chunks: decompressed, cut after lines or elements, decoded natively.

Lines end only at `\n`, so answers may contain U+2028, U+0085 and similar characters.
"""

from __future__ import annotations

import codecs
import io
import json
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

from pfgen_rs import _native
from pfgen_rs._native import LARGEST_TOKEN
from pfgen_rs.errors import InputError, Item, meant
from pfgen_rs.io import compression
from pfgen_rs.io.arrays import Cut, Elements, elements_at, is_array
from pfgen_rs.io.chunk import Chunk, Options
from pfgen_rs.io.cleaning import unicode_text
from pfgen_rs.io.compression import read_parts, read_some
from pfgen_rs.io.formats import HEAD, other_encoding, refuse_other_format
from pfgen_rs.io.layouts import PLAIN
from pfgen_rs.io.source import SURROGATE, Raw, Source, has_lone_surrogate
from pfgen_rs.io.text import shortened
from pfgen_rs.lazy import np, pl

LONGEST_LINE = 64 << 20
_READ = 1 << 20
_TOO_LONG = {
    "line": f"a line is longer than {LONGEST_LINE >> 20} MiB: is this a JSON lines file?",
    "element": f"an array element is longer than {LONGEST_LINE >> 20} MiB: is it closed?",
}


class Block(NamedTuple):
    """Complete lines (or elements, one per line), and where they begin in the decompressed text.

    `damage`: why nothing after them can be read, if so. `whole`: whether they are all of the text. `first`:
    number of the first line. Of converted ones, `lines`: the number of the line that each was, `problems`:
    what was wrong with others, `reasoned`: number of answers from which reasoning was left out.
    """

    start: int
    text: bytes
    damage: str | None = None
    item: Item = "line"
    whole: bool = False
    first: int = 1
    lines: Sequence[int] | None = None
    problems: Sequence[InputError] = ()
    reasoned: int = 0


def line_chunks(
    path: str, blocks: Iterable[Block], options: Options, read: Callable[[], int]
) -> Iterator[Chunk]:
    """Decode lines in order; bad lines are errors, or become problems if skipped.

    `read`: returns the number of bytes of the file that were read.
    """
    for block in blocks:
        decoded = _DecodedLines(path, block, options)
        if block.damage is not None:
            decoded.refuse(InputError(block.damage), block.first + decoded.count)
        yield from decoded.chunks(read())
        del block, decoded  # before the next ones are read


def text_blocks(raw: io.RawIOBase, size: int) -> Generator[Block]:
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
            yield from _cut_at_end(stream, begin, size, _up_to_element_end(), "element")
        else:
            yield from _cut_at_end(stream, begin, size, _up_to_end, "line")
    finally:
        file.detach()  # or the raw file would be closed with it


class _Begin(NamedTuple):
    """The beginning of a text after its byte order mark, its offset, and why it is truncated, if so."""

    start: int
    text: bytes
    damage: str | None


def _up_to_end(rest: bytes, fresh: Sequence[bytes], *, ended: bool) -> tuple[Cut, bytes]:
    """Returns whole lines of consecutive pieces, and what follows; copies them only once."""
    if ended:
        text = b"".join((rest, *fresh))
        return Cut(text, len(text)), b""
    for place in reversed(range(len(fresh))):
        end = fresh[place].rfind(b"\n") + 1
        if end:
            text = b"".join((rest, *fresh[:place], memoryview(fresh[place])[:end]))
            return Cut(text, len(text)), b"".join((fresh[place][end:], *fresh[place + 1 :]))
    return Cut(b"", 0), b"".join((rest, *fresh))


def _up_to_element_end() -> Callable[..., tuple[Cut, bytes]]:
    elements = Elements()

    def cut_text(rest: bytes, fresh: Sequence[bytes], *, ended: bool) -> tuple[Cut, bytes]:
        text = b"".join((rest, *fresh))
        cut = elements(text, ended=ended)
        return cut, text[cut.used :]

    return cut_text


def _cut_at_end(
    stream: io.BufferedIOBase,
    begin: _Begin,
    size: int,
    cut_text: Callable[..., tuple[Cut, bytes]],
    item: Item,
) -> Iterator[Block]:
    start, rest, damage = begin
    ended, first = False, 1
    while not ended:
        fresh: Sequence[bytes] = ()
        asked = max(size - len(rest), 0) or size
        if damage is None:
            fresh, damage = read_parts(stream, asked)
        ended = damage is None and sum(map(len, fresh)) < asked
        cut, rest = cut_text(rest, fresh, ended=ended)
        del fresh
        if len(rest) > LONGEST_LINE:
            raise InputError(_TOO_LONG[item])
        damage = damage or cut.damage
        if cut.text or damage is not None:
            whole = ended and start == begin.start
            yield Block(start, cut.text, damage, item, whole, first)
        if damage is not None:
            return
        start += cut.used
        first += cut.text.count(b"\n")
        del cut


def _token_lines(text: bytes, columns: int) -> tuple[Any, ...]:
    """Leave every line to Python: `decode_lines` cannot decode answers that are lists of ids."""
    lines = text.removesuffix(b"\n").split(b"\n") if text else []
    irregular, start = [], 0
    for number, line in enumerate(lines):
        if line.strip():
            irregular.append((number, start, start + len(line)))
        start += len(line) + 1
    none = np.empty(0, dtype=np.int64)
    return [[]] * columns, _native.Places(none, none), irregular, len(lines)


class _DecodedLines:
    """The lines of a block as columns; lines that the native decoder cannot handle are parsed here."""

    def __init__(self, path: str, block: Block, options: Options) -> None:
        self._path, self._block, self._options = path, block, options
        self._problems = list(block.problems)
        self._texts: list[Any]
        first = 0 if block.lines is not None else block.first
        self._texts, self._places, irregular, self.count = (
            _token_lines(block.text, 2 + len(options.keys))
            if options.tokens
            else _native.decode_lines(block.text, *options.fields, options.keys, first, block.start)
        )
        if irregular or options.tokens:
            self._add(irregular, first)
        if block.lines is not None:
            lines = np.array(block.lines, dtype=np.int64)[self._places.lines]
            self._places = _native.Places(lines, self._places.starts)

    def _add(self, irregular: Sequence[tuple[int, int, int]], first: int) -> None:
        """Add the lines that are left to Python, in their places."""
        rows: list[tuple[Any, ...]] = []
        for number, start, end in irregular:
            try:
                values = self._values(self._block.text[start:end])
            except InputError as error:
                self.refuse(error, first + number)
                continue
            rows.append((*values, first + number, self._block.start + start))
        kinds = [pl.String(), self._options.answer_type, *[pl.String()] * (len(self._texts) - 2)]
        texts = (pl.Series(text, dtype=kind) for text, kind in zip(self._texts, kinds, strict=True))
        columns = {str(number): text for number, text in enumerate(texts)}
        places = {"line": pl.Series(self._places.lines), "start": pl.Series(self._places.starts)}
        frame = pl.DataFrame(columns | places)
        parsed = pl.DataFrame(rows, schema=frame.schema, orient="row")
        *self._texts, lines, starts = pl.concat([frame, parsed]).sort("line").get_columns()
        self._places = _native.Places(lines.to_numpy(), starts.to_numpy())

    def _values(self, line: bytes) -> list[Any]:
        """Returns the texts of one line."""
        options = self._options
        answer: Callable[..., Any] = token_field if options.tokens else text_field
        record = parse_line(line, replace_invalid=options.replace_invalid)
        question, key = options.fields
        return [
            _needed(text_field, record, question, options.advice[0]),
            _needed(answer, record, key, options.advice[1]),
            *(optional_text_field(record, key) for key in options.more_fields),
            *(as_text(record.get(kept.key)) for kept in options.keep),
        ]

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

        cut, count = self._cut_short(), len(self._places)
        for at in range(0, max(count, 1), self._options.rows):
            end = at + self._options.rows
            asked, answered, *more = self._between(at, end)
            optional = len(self._options.more_fields)
            kept = [
                column.alias(each.name)
                for column, each in zip(more[optional:], self._options.keep, strict=True)
            ]
            yield Chunk(
                asked,
                answered,
                self._places.between(at, end),
                [] if at else self._problems,
                self._block.text,
                self._block.start,
                lambda at=at: identity(at),  # type: ignore[misc]
                read,
                tuple(more[:optional]),
                self._block.item,
                kept=pl.DataFrame(kept) if kept else None,
                cut_short=cut if end >= count else None,
                whole=self._block.whole and count <= self._options.rows,
                read_as=self._options.read_as or PLAIN,
                reasoned=0 if at else self._block.reasoned,
            )

    def _between(self, start: int, end: int) -> list[Any]:
        """Returns these rows of all texts; of all rows, questions and answers as they were decoded."""
        texts = self._texts
        if start > 0 or end < len(self._places):
            return [pl.Series(text)[start:end] for text in texts]
        return [*texts[:2], *(pl.Series(text, dtype=pl.String) for text in texts[2:])]

    def _cut_short(self) -> InputError | None:
        """Returns the sign that the file was cut short, if the block's last line is a response."""
        block = self._block
        last = block.lines[-1] if block.lines else block.first + self.count - 1
        if block.item != "line" or block.damage is not None or block.text.endswith(b"\n"):
            return None
        rows = len(self._places)
        if last == 1 or not rows or self._places.line(rows - 1) != last:
            return None
        return cut_short(self._path, last, block.item, self._options)


def line_records(
    source: Source, starts: Sequence[int], *, replace_invalid: bool = False
) -> Iterator[dict[str, Any]]:
    """Read the objects on the lines (or elements) at these ascending offsets of the decompressed text.

    `replace_invalid`: see `Options`.
    """
    parse = partial(parse_line, replace_invalid=replace_invalid)
    with source.open() as raw:
        file = io.BufferedReader(raw, _READ)
        stream = compression.unpacking(file)
        if is_array(stream.read(HEAD).removeprefix(codecs.BOM_UTF8)):
            yield from map(parse, elements_at(stream, starts))
            return
        for start in starts:
            stream.seek(start)
            yield parse(stream.readline().removesuffix(b"\n"))


def lines_at(texts: Iterable[tuple[int, bytes]], starts: Sequence[int]) -> Iterator[bytes]:
    """Yield the lines at these ascending offsets; `texts`: pieces of the text with their offsets."""
    left = deque(starts)
    for begin, text in texts:
        while left and left[0] < begin + len(text):
            start = left.popleft() - begin
            end = text.find(b"\n", start)
            yield text[start : end if end >= 0 else len(text)]


# Parses a line of JSON and checks its fields.


TOKENS = f"token ids must be whole numbers from 0 to {LARGEST_TOKEN}"
REPLACE = "; --replace-invalid (in Python: replace_invalid=True) reads it as U+FFFD"
_SHOWN = 60


def parse_line(line: bytes, *, replace_invalid: bool | None = None) -> dict[str, Any]:
    """Returns the line's object. Raises `InputError` for anything else.

    `replace_invalid`: whether to read what is not valid Unicode as U+FFFD; `None` where users have no choice.
    """
    text = _decoded_line(line, replace_invalid)
    try:
        record = json.loads(text)
    except RecursionError:
        raise InputError("is nested too deeply") from None
    except ValueError as error:
        whole = _json_advice(text, error)
        raise InputError(f"is not JSON: {error}: {_shown_record_value(text)}{whole}") from None
    if not isinstance(record, dict):
        raise InputError(f"expected an object, found {_shown_record_value(text.strip())}")
    if ("\\ud" in text or "\\uD" in text) and has_lone_surrogate(record):
        if not replace_invalid:
            raise InputError(SURROGATE + ("" if replace_invalid is None else REPLACE))
        record = json.loads(unicode_text(json.dumps(record, ensure_ascii=False)))
    return cast("dict[str, Any]", record)


def _json_advice(text: str, error: ValueError) -> str:
    """Returns what to do about text that is not JSON, if that is plain."""
    text = text.strip()
    if str(error).startswith("Unterminated string"):
        return "; the file may be cut short here: copy it again"
    if text == "{":
        return "; each object must be on a single line (jq -c .)"
    if text.startswith("{'"):
        return "; is it a Python dict? Write it with json.dumps"
    if text.endswith("},"):
        return "; remove the comma at the end, or write an array: [{…}, {…}]"
    return ""


def _decoded_line(line: bytes, replace_invalid: bool | None) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        hint = other_encoding(line)
        if replace_invalid and not hint:
            return valid_text(line)
        if error.reason == "unexpected end of data":
            hint = hint or "; the file may be cut short here: copy it again"
        hint = hint or ("" if replace_invalid is None else REPLACE)
        raise InputError(f"is not UTF-8: {error.reason} at byte {error.start}{hint}") from None


def valid_text(text: bytes) -> str:
    """Returns UTF-8 text in which U+FFFD stands for what is not valid, such as half a surrogate pair."""
    try:
        return unicode_text(text.decode(errors="surrogatepass"))
    except UnicodeDecodeError:
        return text.decode(errors="replace")


def text_field(record: Mapping[str, Any], key: str, advice: str | None = None) -> str:
    """Returns the text at a key. Raises `InputError` for anything else.

    `advice`: what to do if the key is missing.
    """
    value = _record_field(record, key, advice)
    if not isinstance(value, str):
        raise InputError(f"{key!r} must be text, not {_record_as_json(value)}")
    return value


def token_field(record: Mapping[str, Any], key: str, advice: str | None = None) -> list[int]:
    """Returns the token ids at a key. Raises `InputError` for anything else."""
    value = _record_field(record, key, advice)
    if not isinstance(value, list):
        raise InputError(f"{key!r} must be a list of token ids, not {_record_as_json(value)}")
    for token in value:
        if type(token) is not int or not 0 <= token <= LARGEST_TOKEN:
            raise InputError(f"{key!r} contains {_record_as_json(token)}: {TOKENS}")
    return value


def _needed(field: Callable[..., Any], record: Mapping[str, Any], key: str, advice: str) -> Any:
    """Returns what `field` returns; its errors say how to go on."""
    try:
        return field(record, key, advice)
    except InputError as error:
        if key not in record:
            raise
        is_list = isinstance(record[key], list) and record[key] and isinstance(record[key][0], str)
        other = f"take one with --answer-field {key}.0, or leave" if is_list else "leave"
        raise InputError(f"{error.problem}; {other} such lines out with --skip-bad-lines") from None


def missing(kind: str, name: str, found: Iterable[str], advice: str | None) -> InputError:
    """Returns the error for a record without the key, or a table without the column `name`."""
    found = list(found)
    names = ", ".join(shortened(repr(each)) for each in found) or "nothing"
    return InputError(
        f"missing {kind} {name!r}: found {names}{meant(name, found)}{(advice and '; ' + advice) or ''}"
    )


def _record_field(record: Mapping[str, Any], key: str, advice: str | None) -> Any:
    if key not in record:
        raise missing("key", key, record, advice)
    return record[key]


def _record_as_json(value: object) -> str:
    return _shortened_record_value(json.dumps(value, ensure_ascii=False))


def optional_text_field(record: dict[str, Any], key: str) -> str | None:
    """Returns the text at a key, or `None` if it is missing. Raises `InputError` for anything else."""
    return None if record.get(key) is None else text_field(record, key)


def _shown_record_value(text: str) -> str:
    return repr(_shortened_record_value(text))


def _shortened_record_value(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def as_text(value: Any) -> str | None:
    """Returns a JSON value as text: strings unchanged, null as `None`, others as JSON."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


# Notices files whose end may be missing: only their last record has no newline.


def cut_short(path: str, last: int, item: Item, options: Options) -> InputError:
    """Returns what to say of a file whose last record, unlike the others, does not end with a newline.

    `last`: its number. Raises it instead if `options` are strict.
    """
    found = InputError(
        f"the last {item} has no newline at its end, unlike the others: check whether the file was cut "
        "short, or add a newline if it is complete",
        path=path,
        line=last,
        item=item,
    )
    if options.strict:
        raise found
    return found
