"""Reads CSV and TSV in chunks: cut between records, and parsed by polars a bounded number of bytes at a time.

polars' own streaming reader holds several hundred megabytes of a large file in memory.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from pfgen_rs import _native
from pfgen_rs.errors import InputError
from pfgen_rs.io import compression
from pfgen_rs.io.chunk import Chunk, Options
from pfgen_rs.io.converted import resolved, schema_record
from pfgen_rs.io.formats import HEAD, other_encoding, refuse_other_format
from pfgen_rs.io.layouts import PLAIN, is_plain
from pfgen_rs.io.lines import REPLACE, cut_short, missing, valid_text
from pfgen_rs.io.source import DELIMITED, Raw, Source
from pfgen_rs.io.tables import check_columns, table_errors
from pfgen_rs.lazy import NDArray, np, pl

_LONGEST_RECORD = 64 << 20
_BLOCK = 8 << 20
_SEMICOLONS = "is the file separated by ';'? Write it with commas"


class _CsvBlock(NamedTuple):
    """The file's header and some complete records. `suffix`: `.csv` or `.tsv`."""

    suffix: str
    header: bytes
    start: int
    text: bytes

    def valid(self) -> _CsvBlock:
        """Returns the block with U+FFFD for what is not UTF-8, unless it looks like another encoding."""
        return (
            self
            if other_encoding(self.text)
            else self._replace(text=valid_text(self.text).encode())
        )

    def identity(self, at: int) -> str:
        """Returns what tells the records from `at` on from all others."""
        digest = hashlib.sha1(self.header + self.text, usedforsecurity=False)
        return f"{digest.hexdigest()}:{self.start}:{at}"

    def schema(self, path: str) -> pl.Schema:
        """Returns the columns, all of which are text."""
        try:
            self.header.decode()
        except UnicodeDecodeError:  # polars would replace what it cannot read
            problem = f"cannot be read as {self.suffix}: the header is not UTF-8"
            raise InputError(problem + other_encoding(self.header), path=path) from None
        return self._replace(text=b"").table(path).schema

    def first_row(self, path: str) -> dict[str, Any] | None:
        """Returns the first record, unless its columns are plainly those of questions and answers."""
        if is_plain(self.schema(path)):
            return None
        first = self._replace(text=self.text[: _record_end(self.text, last=False)] or self.text)
        frame = first.table(path)
        return frame.row(0, named=True) if frame.height else None

    def table(
        self, path: str, columns: Sequence[str] | None = None, first: int | None = None
    ) -> pl.DataFrame:
        """Returns the records. CSV cannot distinguish empty text from missing text: both are empty.

        `first`: the number of the first record, for errors.
        """
        try:
            content = io.BytesIO(self.header + self.text)
            separator = DELIMITED[self.suffix]
            frame = pl.read_csv(content, separator=separator, infer_schema=False, columns=columns)
            return frame.fill_null("")
        except table_errors() as error:
            reason = str(error).split("\n\n")[0]  # the rest is advice on polars' own options
            if reason.startswith("found more fields than"):
                between = "tabs" if self.suffix == ".tsv" else "commas"
                reason = (
                    f"a row has more fields than the header: quote values that contain {between}"
                )
            if self.text.count(b'"') % 2:
                row = (first or 1) + len(_record_ends(self.text)[1])
                problem = "unclosed quotation mark in this row; within a text, double it"
                raise InputError(problem, path=path, line=row, item="row") from None
            problem = f"cannot be read as {self.suffix}: {reason}"
            hint, line = _csv_encoding(self.header, self.text, first)
            if hint:
                problem = "is not UTF-8"
            raise InputError(problem + hint, path=path, line=line, item="row") from None


def _csv_encoding(header: bytes, text: bytes, first: int | None) -> tuple[str, int | None]:
    """Returns what to do about records that are not UTF-8, and the number of the first such record."""
    try:
        text.decode()
    except UnicodeDecodeError as error:
        whole = header + text
        hint = other_encoding(whole[: whole.find(b"\n", _BLOCK >> 4) + 1 or None])
        if hint or first is None:
            return hint, None
        return REPLACE, first + len(_record_ends(text[: error.start])[1])
    return "", None


def csv_chunks(source: Source, raw: Raw, options: Options) -> Iterator[Chunk]:
    """Read the responses of a file in order."""
    if options.tokens:
        raise InputError(
            "CSV cannot contain lists of token ids: use JSON lines, Parquet or Arrow IPC"
        )
    first = 1
    for block in _csv_blocks(
        source, raw, options.text_size, replace_invalid=options.replace_invalid
    ):
        if first == 1:
            schema = block.schema(source.path)
            _check_separator(schema, options)
            try:
                options = resolved(options, schema_record(schema, block.first_row(source.path)))
                check_columns(schema, options)
            except InputError as error:
                raise InputError(f"{error.problem}; the first row must name the columns") from None
        more = [key for key in options.keys if key in schema]
        frame = block.table(source.path, list(dict.fromkeys([*options.fields, *more])), first)
        blank = _blank_records(block.text, frame, options)
        cut = None
        if frame.height and not block.text.endswith(b"\n"):  # which the header has
            cut = cut_short(source.path, first + frame.height - 1, "row", options)
        for at in range(0, frame.height, options.rows):
            part = frame[at : at + options.rows]
            filled = None if blank is None else ~blank[at : at + options.rows]
            rows = np.arange(first + at, first + at + part.height, dtype=np.int64)
            questions, answers = (part.get_column(key) for key in options.fields)
            texts = tuple(
                _csv_column(part, key, pl.String()).replace("", None) for key in options.more_fields
            )
            kept = [_csv_column(part, key, kind).alias(name) for key, name, kind in options.keep]
            chunk = Chunk(
                questions,
                answers,
                _native.Places(rows),
                identity=partial(block.identity, at),
                read=raw.count,
                more=texts,
                item="row",
                kept=pl.DataFrame(kept),
                cut_short=cut if at + options.rows >= frame.height else None,
                read_as=options.read_as or PLAIN,
            )
            yield chunk if filled is None else chunk.where(filled)
        first += frame.height
        del block, frame  # before the next ones are read


def _blank_records(text: bytes, frame: pl.DataFrame, options: Options) -> NDArray[np.bool_] | None:
    """Whether each record is an empty line, which is passed over but counted; `None` if none is."""
    if not (frame.get_column(options.fields[0]) == "").any():
        return None
    codes, ends = _record_ends(text)
    if not text.endswith(b"\n"):
        ends = np.append(ends, len(text))
    starts = np.concatenate([[0], ends[:-1] + 1])
    lengths = ends - starts
    carriage = codes[np.minimum(starts, len(codes) - 1)] == ord("\r")
    blank = (lengths == 0) | ((lengths == 1) & carriage)
    return blank if len(blank) == frame.height and blank.any() else None


def _csv_column(frame: pl.DataFrame, key: str, kind: pl.DataType) -> pl.Series:
    """Returns a column, all null and of this type if it is missing."""
    if key in frame.columns:
        return frame.get_column(key)
    return pl.Series([None], dtype=kind).new_from_index(0, frame.height)


def csv_schema(source: Source) -> dict[str, pl.DataType]:
    """Returns the columns of a file, all of which are text."""
    source.file()  # reads a pipe to its end, so that it can be read again
    with source.open() as raw:
        block = next(_csv_blocks(source, raw, _BLOCK))
    return dict(block.schema(source.path))


def csv_records(
    source: Source, lines: Sequence[int], *, replace_invalid: bool = False
) -> Iterator[dict[str, Any]]:
    """Yield all columns of the records with these numbers (from 1), which must be ascending."""
    wanted, first = np.array(lines), 1
    with source.open() as raw:
        for block in _csv_blocks(source, raw, _BLOCK, replace_invalid=replace_invalid):
            frame = block.table(source.path)
            mine = wanted[(wanted >= first) & (wanted < first + frame.height)]
            yield from frame[mine - first].iter_rows(named=True)
            first += frame.height


def csv_rows(source: Source) -> Iterator[dict[str, Any]]:
    """Yield all columns of all records in order, as texts; what is missing is empty."""
    first = 1
    with source.open() as raw:
        for block in _csv_blocks(source, raw, _BLOCK):
            frame = block.table(source.path, first=first)
            yield from frame.iter_rows(named=True)
            first += frame.height


def _csv_blocks(
    source: Source, raw: Raw, size: int, *, replace_invalid: bool = False
) -> Iterator[_CsvBlock]:
    file = io.BufferedReader(raw)
    try:
        stream = compression.unpacking(file, raw.size)
        head = _read_block(stream, HEAD)
        refuse_other_format(head)
        for block in _cut_csv(stream, head, source.suffix, size):
            yield block.valid() if replace_invalid else block
    finally:
        file.detach()  # or the raw file would be closed with it


def _read_block(stream: io.BufferedIOBase, size: int) -> bytes:
    text, damage = compression.read_some(stream, size)
    if damage is not None:
        raise InputError(damage)
    return text


def _cut_csv(stream: io.BufferedIOBase, head: bytes, suffix: str, size: int) -> Iterator[_CsvBlock]:
    header, rest, start, line = b"", head, 0, 1
    while True:
        fresh = _read_block(stream, max(size - len(rest), 0) or size)
        text = rest + fresh
        if not header:
            cut = _record_end(text, last=False)
            if cut or not fresh:
                header, text, start = text[:cut] or text, text[cut:] if cut else b"", cut
                line = _checked_lines(header, suffix, line)
        cut = _record_end(text, last=True) if header and fresh else len(text) * bool(header)
        if not (header or fresh):
            raise InputError("the file is empty")
        if cut or not fresh:
            line = _checked_lines(text[:cut], suffix, line)
            yield _CsvBlock(suffix, header, start, text[:cut])
        if not fresh:
            return
        rest, start = text[cut:], start + cut
        if len(rest) > _LONGEST_RECORD:
            raise InputError(
                f"a record is longer than {_LONGEST_RECORD >> 20} MiB: is a quotation mark missing?"
            )


def _checked_lines(text: bytes, suffix: str, line: int) -> int:
    """Returns the number of the line after some records, of which the first begins at `line`."""
    wrong = misleading_line(text, DELIMITED[suffix])
    if wrong is not None:
        raise InputError(
            "a quotation mark is missing, or one stands inside a field without quotation marks: write such a "
            'field as "…", with every mark in it doubled',
            line=line + wrong,
        )
    return line + text.count(b"\n")


def _record_end(text: bytes, *, last: bool) -> int:
    """Returns where the first or last complete record ends: at a newline after an even number of quotes."""
    closed = _record_ends(text)[1]
    return int(closed[-1 if last else 0]) + 1 if len(closed) else 0


def _record_ends(text: bytes) -> tuple[NDArray[np.uint8], NDArray[np.intp]]:
    """Returns the bytes, and where complete records end."""
    codes = np.frombuffer(text, dtype=np.uint8)
    ends = np.flatnonzero(codes == ord("\n"))
    quotes = np.flatnonzero(codes == ord('"'))
    return codes, ends[np.searchsorted(quotes, ends) % 2 == 0]


def _check_separator(schema: pl.Schema, options: Options) -> None:
    """Raise `InputError` if another separator is likely."""
    question = options.fields[0]
    if len(schema) == 1 and question not in schema and ";" in next(iter(schema)):
        raise missing("column", question, schema, _SEMICOLONS)


# Finds quotation marks that make it uncertain where fields and records of a CSV begin.


_NEWLINE, _RETURN, _QUOTE = b'\n\r"'
_MARK = b"\xef\xbb\xbf"


def misleading_line(text: bytes, separator: str) -> int | None:
    """Returns the first line (from 0) whose quotation marks readers understand differently, if any.

    `text` begins with a record. A field in quotation marks begins and ends at a separator or a line's end
    (RFC 4180). Other marks are harmless in a line with an even number of them and without fields in marks:
    all readers take them as they are. O(n).
    """
    framed = np.frombuffer(b"\n" + text.removeprefix(_MARK) + b"\n", dtype=np.uint8)
    codes = framed[1:-1]
    quotes = np.flatnonzero(codes == _QUOTE)
    if not len(quotes):
        return None
    before, after = framed[quotes], framed[quotes + 2]
    # Two marks beside each other close and open again: they are one within the field.
    begins = np.isin(before, [_NEWLINE, ord(separator)])
    opens = begins | (before == _QUOTE)
    closes = np.isin(after, [_NEWLINE, _RETURN, _QUOTE, ord(separator)])
    is_inside = np.arange(len(quotes)) % 2 == 1
    is_stray = ~np.where(is_inside, closes, opens)
    if not is_stray.any():
        return None
    line = np.searchsorted(np.flatnonzero(codes == _NEWLINE), quotes)
    _, first, own, count = np.unique(
        line, return_index=True, return_inverse=True, return_counts=True
    )
    is_plain = (count % 2 == 0) & ~is_inside[first] & (np.bincount(own, weights=begins) == 0)
    found = line[is_stray & ~is_plain[own]]
    return int(found[0]) if len(found) else None
