"""Files of JSON lines, plain or compressed: one object a line, with errors that name file and line."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pfgen_rs import _native
from pfgen_rs.errors import InputError, Item, unreadable
from pfgen_rs.io.atomic import write_atomic
from pfgen_rs.io.lines import parse_line, text_blocks
from pfgen_rs.io.source import Source

T = TypeVar("T")
_BLOCK = 1 << 20


class Line(NamedTuple):
    """An object of a file: its number from 1, its bytes without the newline, and its fields.

    `item`: what `number` counts, lines or the elements of a JSON array.
    """

    number: int
    text: bytes
    record: dict[str, Any]
    item: Item = "line"


def lines(path: Path) -> Iterator[Line]:
    """Yield the objects of JSON lines, without blank lines, or of a JSON array. Raises `InputError`."""
    for number, text, item in _line_texts(path):
        try:
            record = parse_line(text)
        except InputError as error:
            raise InputError(error.problem, path=path, line=number, item=item) from None
        yield Line(number, text, record, item)


def parsed(path: Path, read: Callable[[dict[str, Any]], T]) -> Iterator[tuple[int, T]]:
    """Yield line numbers and what `read` makes of each object; its `InputError`s get file and line."""
    return parsed_lines(path, lambda line: (line.number, read(line.record)))


def parsed_lines(path: Path, read: Callable[[Line], T]) -> Iterator[T]:
    """Yield what `read` makes of each line; its `InputError`s get file and line."""
    for line in lines(path):
        try:
            value = read(line)
        except InputError as error:
            raise InputError(error.problem, path=path, line=line.number, item=line.item) from None
        yield value


def journal_records(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a journal, up to a torn last line. Raises `InputError` with file and line."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    return
                if line.strip():
                    yield appended_record(path, number, line)
    except FileNotFoundError:
        return
    except OSError as error:
        raise InputError(unreadable(error), path=path) from error


def appended_record(path: Path, number: int, line: bytes) -> dict[str, Any]:
    """Returns the record in a line of a journal. Raises `InputError` with file and line."""
    try:
        return parse_line(line)
    except InputError as error:
        problem = f"{error.problem}: remove the line to ask for it again"
        raise InputError(problem, path=path, line=number) from None


def _line_texts(path: Path) -> Iterator[tuple[int, bytes, Item]]:
    """Yield number and bytes of each line that is not blank. Raises `InputError`."""
    number = 0
    try:
        source = _lines_source(path)  # which holds the copy of a pipe while it is read
        with source.open() as raw:
            for block in text_blocks(raw, _BLOCK):
                for text in block.text.removesuffix(b"\n").split(b"\n") if block.text else ():
                    number += 1
                    if text.strip():
                        yield number, text.removesuffix(b"\r"), block.item
                if block.damage is not None:
                    raise InputError(block.damage, path=path, line=number + 1, item=block.item)
    except InputError as error:
        if error.path is not None:
            raise
        raise InputError(error.problem, path=path, line=number + 1 if number else None) from None
    except OSError as error:
        raise InputError(unreadable(error), path=path) from error


def _lines_source(path: Path) -> Source:
    if path.is_dir():  # which is a run elsewhere
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    return Source(path)


_LINE = json.JSONEncoder(ensure_ascii=False)


def as_line(record: Mapping[str, Any]) -> bytes:
    """Returns an object as a line of JSON, with its newline."""
    return _LINE.encode(record).encode("utf-8", "surrogatepass") + b"\n"


def write_objects(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Write a file of JSON lines atomically. Raises `OutputError`."""
    write_atomic(path, b"".join(map(as_line, records)))


def id_field(record: Mapping[str, Any], key: str) -> str:
    """Returns an identifier as text, which files also write as a number. Raises `InputError`."""
    value = record.get(key)
    if isinstance(value, str | int) and not isinstance(value, bool) and str(value):
        return str(value)
    found = "nothing" if key not in record else json.dumps(value, ensure_ascii=False)[:60]
    raise InputError(f"{key!r} must be a non-empty text or a number, found {found}")


def texts_field(record: Mapping[str, Any], key: str, count: int) -> tuple[str, ...]:
    """Returns a list of this many texts. Raises `InputError`."""
    value = record.get(key)
    if not isinstance(value, list) or len(value) != count:
        raise InputError(f"{key!r} must be a list of {count} texts")
    if not all(isinstance(text, str) for text in value):
        raise InputError(f"{key!r} must contain texts only")
    return tuple(value)


# Writes JSON as `json.dumps(…, ensure_ascii=False, indent=2)` does, many times as fast.
#
# With an indent, `json` writes in Python, by generators within generators.


def indented(value: Any) -> bytes:
    """Returns a value as indented JSON; values that are not JSON types, such as times, as their `str`."""
    return _native.indented(value, _written_by_json)


def _written_by_json(value: Any, line: str) -> str:
    """Returns any value, whose lines begin with `line`: a newline and its indent."""
    text = json.dumps(value, ensure_ascii=False, indent=2, default=str)
    return text.replace("\n", line)  # texts have no newlines in JSON
