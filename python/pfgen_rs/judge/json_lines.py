"""Files of JSON lines: one object a line, with errors that name file and line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pfgen_rs.errors import InputError, unreadable
from pfgen_rs.io import write_atomic
from pfgen_rs.io.records import parse_line

__all__ = ["as_line", "id_field", "objects", "parsed", "texts_field", "write_objects"]

T = TypeVar("T")


def objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield line numbers (from 1) and objects, without blank lines. Raises `InputError`."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, _located(path, number, parse_line, line)
    except OSError as error:
        raise InputError(unreadable(error), path=path) from error


def parsed(path: Path, read: Callable[[dict[str, Any]], T]) -> Iterator[tuple[int, T]]:
    """Yield line numbers and what `read` makes of each object; its `InputError`s get file and line."""
    for number, record in objects(path):
        yield number, _located(path, number, read, record)


def _located(path: Path, number: int, read: Callable[[Any], T], value: Any) -> T:
    try:
        return read(value)
    except InputError as error:
        raise InputError(error.problem, path=path, line=number) from None


def as_line(record: Mapping[str, Any]) -> bytes:
    """Returns an object as a line of JSON, with its newline."""
    return json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


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
