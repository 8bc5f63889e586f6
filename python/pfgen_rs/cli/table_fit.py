"""Fits tables into windows that are too narrow for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import RenderableType
from rich.table import Column, Table

_FOLDED = 10  # minimum width of a wrapped text column
GAP = 2
"""Space between two columns of a table."""


def fits(table: Table, room: int, folded: int = _FOLDED) -> bool:
    """Whether the table is readable in a window of `room` columns.

    Numbers are never wrapped; text may be wrapped to a width of at least `folded`.
    """
    return sum(_needed_width(column, folded) + GAP for column in table.columns) <= room


def width(table: Table) -> int:
    """Returns the width at which nothing is wrapped."""
    return sum(_widest_cell(column) + GAP for column in table.columns)


def _needed_width(column: Column, folded: int) -> int:
    widest = _widest_cell(column)
    return widest if column.no_wrap else min(widest, folded)


def _widest_cell(column: Column) -> int:
    lines = (line for part in (column.header, *column.cells) for line in str(part).split("\n"))
    return max(map(cell_len, lines))


def dropped(full: Table, shown: Table) -> list[str]:
    """Returns the headings of the columns of `full` that `shown` omits."""
    kept = set(_table_headings(shown))
    return [heading for heading in _table_headings(full) if heading not in kept]


def _table_headings(table: Table) -> Iterator[str]:
    return (str(column.header).replace("\n", " ") for column in table.columns)


def not_shown(columns: Sequence[str], *ways: str) -> str:
    """Returns a note on which columns were omitted for lack of room, and how to see them."""
    others = f"{', '.join(['a wider window', *ways])} or --format json"
    return f"not shown: {', '.join(columns)} (use {others})"


def stacked(table: Table) -> Table:
    """Convert each row to a list of its non-empty cells, one per line."""
    rows = Table.grid("name", "value", padding=(0, 2, 0, 0))
    rows.columns[1].overflow = "fold"
    headers = [column.header for column in table.columns]
    for cells in zip(*(column.cells for column in table.columns), strict=True):
        rows.add_row()
        for header, cell in zip(headers, cells, strict=True):
            _add_stacked_row(rows, header, cell)
    rows.add_row()
    return rows


def _add_stacked_row(rows: Table, header: RenderableType, cell: RenderableType) -> None:
    if str(cell):
        rows.add_row(header, cell)
