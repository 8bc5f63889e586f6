"""Tables of other benchmarks: each column of numbers, dates, texts or yes and no becomes one of the board."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any, Literal

from pfgen_rs.errors import InputError
from pfgen_rs.io import run_files
from pfgen_rs.io.text import shortened
from pfgen_rs.report.site.board import Cell, Column, Contribution
from pfgen_rs.site.sources import Given, site_source
from pfgen_rs.studies.tables import KEYS, MISSING, BenchmarkTable, read_benchmark_table

_SUFFIXES = (".csv", ".json")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
Kind = Literal["number", "date", "text", "flag"]
_LONGEST = 200  # characters of a text that the board shows


@site_source(
    "tables",
    about=f"tables of other benchmarks ({', '.join(_SUFFIXES)})",
    recognises=lambda path: path.suffix.lower() in _SUFFIXES and path.is_file(),
)
def read_tables(given: Sequence[Given]) -> Iterator[tuple[str, Contribution]]:
    """Yield the columns of each table, in a group that is called after its file.

    The models' names are in the column that is given, or are the keys of a mapping; no column is guessed to
    have them. Raises `InputError`, also for two rows with one name.
    """
    names = run_files.output_names([str(each.path.absolute()) for each in given])
    for each, name in zip(given, names, strict=True):
        table = read_benchmark_table(each.path)
        yield f"table {each.path}", _contribution(table, name, _names(table, each.names), each.path)


def _names(table: BenchmarkTable, column: str | None) -> str:
    if column:
        return table.find(column)
    if KEYS in table.columns:
        return KEYS
    problem = "name the column with the models' names, as in FILE:COLUMN"
    raise InputError(f"{problem}: {table.known}", path=table.path)


def _contribution(table: BenchmarkTable, group: str, names: str, path: Path) -> Contribution:
    models = table.names(names)
    rows: dict[str, dict[str, Cell]] = {name: {} for name in models if name}
    if twice := [name for name in rows if models.count(name) > 1]:
        raise InputError(f"{twice[0]!r:.80} has several rows: leave one", path=path)
    columns = []
    for name in table.columns:
        cells = [row.get(name) for row in table.rows]
        if name == names or not (found := _typed(table, name, cells)):
            continue
        kind, values = found
        key = f"{group}:{name}"
        columns.append(Column(key, group, kind, (name, name)))
        for model, value in zip(models, values, strict=True):
            if model and value is not None:
                rows[model][key] = value
    return Contribution(columns, rows, groups={group: (group, group)})


def _typed(
    table: BenchmarkTable, name: str, cells: Sequence[Any]
) -> tuple[Kind, list[Cell]] | None:
    """Returns the kind of a column and its values; `None` for one without values, or with lists."""
    there = [cell for cell in cells if not _is_missing(cell)]
    if not there:
        return None
    if all(isinstance(cell, bool) for cell in there):
        return "flag", [cell if isinstance(cell, bool) else None for cell in cells]
    with suppress(InputError):
        return "number", [*table.numbers(name)]
    if not all(isinstance(cell, str | int | float | date) for cell in there):
        return None
    texts = [None if _is_missing(cell) else str(cell).strip() for cell in cells]
    if all(text is None or _DAY.fullmatch(text) for text in texts):
        with suppress(ValueError):
            return "date", [None if text is None else date.fromisoformat(text) for text in texts]
    return "text", [None if text is None else shortened(text, _LONGEST) for text in texts]


def _is_missing(cell: Any) -> bool:
    return cell is None or (isinstance(cell, str) and cell.strip().casefold() in MISSING)
