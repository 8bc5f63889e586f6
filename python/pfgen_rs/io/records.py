"""All records of a file of JSON lines, a JSON array, TSV or Parquet, with their places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pfgen_rs.errors import InputError, Item, unreadable
from pfgen_rs.io import csv, json_lines, tables
from pfgen_rs.io.source import Source

T = TypeVar("T")
_ROWS = 1024


def file_records(path: Path) -> Iterator[tuple[int, Item, dict[str, Any]]]:
    """Yield number, what it counts, and record. Raises `InputError` with file and line, element or row."""
    if {".tsv", ".parquet"} & {*path.suffixes}:
        yield from ((number, "row", row) for number, row in enumerate(_rows(path), 1))
    else:
        yield from ((line.number, line.item, line.record) for line in json_lines.lines(path))


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    try:
        if ".tsv" in path.suffixes:
            yield from csv.csv_rows(Source(path))
        else:
            for frame in tables.table_rows(Source(path), _ROWS):
                yield from frame.iter_rows(named=True)
    except InputError as error:
        raise InputError(error.problem, path=path, line=error.line, item=error.item) from None
    except OSError as error:
        raise InputError(unreadable(error), path=path) from error


def choice(record: Mapping[str, Any], key: str, choices: Mapping[Any, T]) -> T:
    """Returns what a text, number or null of a record stands for. Raises `InputError` for another value."""
    value = record.get(key)
    if type(value) in (str, int, type(None)) and value in choices:
        return choices[value]
    known = ", ".join("null" if each is None else str(each) for each in choices)
    raise InputError(f"invalid {key!r} {value!r:.40}: expected one of {known}")
