"""Reads tables of other benchmarks: CSV, JSON, YAML and Parquet, none of them trusted."""

from __future__ import annotations

import csv
import io
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError, unreadable
from pfgen_rs.io.counted import counted
from pfgen_rs.io.formats import HEAD, other_encoding, refuse_other_format
from pfgen_rs.io.safe_text import shortened
from pfgen_rs.studies.tables import KEYS, BenchmarkTable, flat_row

__all__ = ["SUFFIXES", "read_benchmark_table"]

_LARGEST = 16 << 20  # bytes of a file: leaderboards have a fiftieth
_MOST_ROWS, _MOST_CELLS = 100_000, 2_000_000
_VALUE = "value"  # the column of a mapping of names to single values


def read_benchmark_table(path: str | os.PathLike[str]) -> BenchmarkTable:
    """Read a table of another benchmark, whole.

    CSV with a header; JSON or YAML: a list of rows, or a mapping of names to rows or to single values (the
    columns `(names)` and `value`); Parquet. Raises `InputError` for files that are not tables.
    """
    place = Path(path)
    read = _READERS.get(place.suffix.lower())
    if read is None:
        raise InputError(
            f"unknown format: expected a name ending in one of {', '.join(SUFFIXES)}", path=place
        )
    rows = read(place)
    if not rows:
        raise InputError("the table has no rows", path=place)
    columns = tuple(dict.fromkeys(name for row in rows for name in row))
    return BenchmarkTable(str(place), columns, tuple(rows))


def _table_bytes(path: Path) -> bytes:
    _check_table_size(path)
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(unreadable(error), path=path) from error


def _check_table_size(path: Path) -> None:
    try:
        size = path.stat().st_size
    except OSError as error:
        raise InputError(unreadable(error), path=path) from error
    if size > _LARGEST:
        raise InputError(f"is larger than {_LARGEST >> 20} MiB: remove what is no table", path=path)


def _table_text(path: Path) -> str:
    content = _table_bytes(path)
    try:
        refuse_other_format(content[:HEAD])
    except InputError as error:
        raise InputError(error.problem, path=path) from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8: {error}{other_encoding(content)}", path=path) from None


def _csv_table(path: Path) -> list[dict[str, Any]]:
    lines = csv.reader(io.StringIO(_table_text(path), newline=""), strict=True)
    try:
        header = next((_stripped(cells) for cells in lines if any(_stripped(cells))), None)
        if header is None:
            return []
        _check_header(header, path)
        return _bounded(_csv_rows(lines, header, path), path)
    except csv.Error as error:
        raise InputError(f"invalid CSV: {error}", path=path, line=lines.line_num) from None


def _stripped(cells: Sequence[str]) -> list[str]:
    return [cell.strip() for cell in cells]


def _check_header(header: Sequence[str], path: Path) -> None:
    twice = [name for name, count in Counter(header).items() if name and count > 1]
    if twice:
        raise InputError(f"two columns are called {shortened(twice[0])!r}: rename one", path=path)
    for mark, what in (("\t", "tabs"), (";", "semicolons")):
        if len(header) == 1 and mark in header[0]:
            raise InputError(f"columns are separated by {what}: expected commas", path=path)


def _csv_rows(
    lines: Iterator[Sequence[str]], header: Sequence[str], path: Path
) -> Iterator[dict[str, Any]]:
    for number, cells in enumerate(filter(None, lines), 1):
        if len(cells) != len(header):
            raise InputError(
                f"has {counted(len(cells), 'cell')}, but the header has {len(header)}",
                path=path,
                line=number,
                item="row",
            )
        yield {name: cell for name, cell in zip(header, cells, strict=True) if name}


def _json_table(path: Path) -> list[dict[str, Any]]:
    try:
        found = json.loads(_table_text(path), object_pairs_hook=_json_object)
    except (ValueError, RecursionError) as error:
        raise InputError(f"invalid JSON: {error}", path=path) from None
    return _rows_of(found, path)


def _json_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(name for name, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ValueError(f"the key {shortened(twice)!r} occurs twice in an object")
    return found


def _yaml_table(path: Path) -> list[dict[str, Any]]:
    from pfgen_rs.studies.yaml_files import load_yaml  # only now, since it needs an extra

    return _rows_of(load_yaml(_table_text(path), path), path)


def _rows_of(found: object, path: Path) -> list[dict[str, Any]]:
    """Returns the rows of a list of mappings, or of a mapping of names."""
    if isinstance(found, Mapping):
        if any(isinstance(value, list | tuple) for value in found.values()):
            listed = next(name for name, value in found.items() if isinstance(value, list | tuple))
            raise InputError(
                f"expected a list of rows, or a mapping of names to rows: {shortened(str(listed))!r} is a "
                "list (if it is the table, save it alone)",
                path=path,
            )
        found = [
            {KEYS: name, **(value if isinstance(value, Mapping) else {_VALUE: value})}
            for name, value in found.items()
        ]
    if not isinstance(found, list):
        raise InputError("expected a list of rows, or a mapping of names to rows", path=path)
    return _bounded(_flat_rows(found, path), path)


def _flat_rows(found: Sequence[object], path: Path) -> Iterator[dict[str, Any]]:
    for number, row in enumerate(found, 1):
        if not isinstance(row, Mapping):
            raise InputError(
                f"expected an object with columns, not {type(row).__name__}",
                path=path,
                line=number,
                item="row",
            )
        yield flat_row(row, str(path), number)


def _bounded(rows: Iterable[dict[str, Any]], path: Path) -> list[dict[str, Any]]:
    """Returns the rows; raises `InputError` as soon as they are too many."""
    found: list[dict[str, Any]] = []
    cells = 0
    for row in rows:
        found.append(row)
        cells += len(row)
        _check_count(len(found), cells, path)
    return found


def _check_count(rows: int, cells: int, path: Path) -> None:
    if rows > _MOST_ROWS or cells > _MOST_CELLS:
        raise InputError(
            f"has more than {_MOST_ROWS:,} rows or {_MOST_CELLS:,} cells: remove what is no table",
            path=path,
        )


def _parquet_table(path: Path) -> list[dict[str, Any]]:
    from pfgen_rs.studies.parquet_files import ParquetColumns  # only now, since it imports polars

    _check_table_size(path)
    table = ParquetColumns(path)
    _check_count(table.height, table.height * len(table.values), path)
    return _rows_of(table.rows(_LARGEST), path)


_READERS: dict[str, Callable[[Path], list[dict[str, Any]]]] = {
    ".csv": _csv_table,
    ".json": _json_table,
    ".yml": _yaml_table,
    ".yaml": _yaml_table,
    ".parquet": _parquet_table,
}
SUFFIXES = tuple(_READERS)
