"""Tables where there is too little room for their columns side by side."""

from __future__ import annotations

from rich.cells import cell_len
from rich.console import RenderableType
from rich.table import Column, Table

__all__ = ["GAP", "fits", "stacked", "width"]

_FOLDED = 10  # width to which a column of text may be folded and still be read
GAP = 2
"""Columns of the window between two of a table."""


def fits(table: Table, room: int) -> bool:
    """Whether the table can be read in `room` columns: numbers whole, text folded where it must be."""
    return sum(_needed(column) + GAP for column in table.columns) <= room


def width(table: Table) -> int:
    """How many columns it takes for nothing to be folded."""
    return sum(_widest(column) + GAP for column in table.columns)


def _needed(column: Column) -> int:
    widest = _widest(column)
    return widest if column.no_wrap else min(widest, _FOLDED)


def _widest(column: Column) -> int:
    lines = (line for part in (column.header, *column.cells) for line in str(part).split("\n"))
    return max(map(cell_len, lines))


def stacked(table: Table) -> Table:
    """The same rows one below the other: a line for each of their cells that is not empty."""
    rows = Table.grid("name", "value", padding=(0, 2, 0, 0))
    rows.columns[1].overflow = "fold"
    headers = [column.header for column in table.columns]
    for cells in zip(*(column.cells for column in table.columns), strict=True):
        rows.add_row()
        for header, cell in zip(headers, cells, strict=True):
            _add(rows, header, cell)
    rows.add_row()
    return rows


def _add(rows: Table, header: RenderableType, cell: RenderableType) -> None:
    if str(cell):
        rows.add_row(header, cell)
