"""Tables of text that fit a window, with names shortened in the middle where it is narrow.

Commands print them, and `str` of results returns them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Column, Table
from rich.text import Text

from pfgen_rs.drawing.names import short_names
from pfgen_rs.io.text import visible

_UNLIMITED = 10_000  # columns; without a terminal, nothing needs to be wrapped
_FOLDED = 10  # minimum width of a wrapped text column
_SHORTENED = 16  # width to which names are shortened before columns are left out
GAP = 2
"""Space between two columns of a table."""


def rendered(*parts: RenderableType, plain: bool = False) -> str:
    """Returns tables and text as they are printed, `plain` without colours.

    Nothing is wrapped without a terminal.
    Names are shortened in a table that is too wide for the terminal; one that still is has one cell per line.
    Text lines are wrapped by the terminal itself, so that they can be copied whole.
    """
    console = _console(plain=plain)
    with console.capture() as captured:
        for part in parts:
            if isinstance(part, Table) and not fits(part, console.width, _FOLDED):
                console.print(_stacked(part))
            else:
                if isinstance(part, Table):
                    _shorten_names(part, console.width)
                console.print(part, soft_wrap=isinstance(part, Text))
    return captured.get()


def _console(*, plain: bool = False) -> Console:
    terminal = sys.stdout.isatty()
    width = None if terminal or "COLUMNS" in os.environ else _UNLIMITED
    colours: Any = None if plain else "auto"
    return Console(width=width, color_system=colours, markup=False, highlight=False, emoji=False)


def width() -> int:
    """Returns the width of the window in columns; practically unlimited without a terminal."""
    return _console().width


def first_that_fits(*tables: Table) -> Table:
    """Returns the first table that fits the window, if need be with very short names; else the first one."""
    room = width()
    least = (_SHORTENED, _FOLDED)
    return next((each for n in least for each in tables if fits(each, room, n)), tables[0])


def new_table(
    *columns: str,
    numbers: Iterable[str] = (),
    names: Iterable[str] = (),
    title: str | None = None,
    rows: Iterable[Iterable[object]] = (),
) -> Table:
    """Returns a table of `rows`.

    Columns named in `numbers` are right-aligned and never wrapped; those in `names` are shortened where
    others are wrapped.
    """
    shown = None if title is None else cell(title)
    table = Table(title=shown, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    table.collapse_padding, table.pad_edge = True, False
    right, shortened = set(numbers), set(names)
    for name in columns:
        if name in right:
            table.add_column(cell(name), justify="right", no_wrap=True)
        else:
            table.add_column(cell(name), overflow="crop" if name in shortened else "fold")
    for row in rows:
        table.add_row(*map(cell, row))
    return table


def cell(value: object, style: str = "") -> Text:
    """Returns a value as safe text, without markup and control characters."""
    return Text(visible(str(value)), style=style)


def fits(table: Table, room: int, least: int = _SHORTENED) -> bool:
    """Whether the table is readable in a window of `room` columns.

    Numbers are never wrapped; names may be shortened to a width of `least`, other text wrapped to that of 10.
    """
    return sum(_needed_width(column, least) + GAP for column in table.columns) <= room


def table_width(table: Table) -> int:
    """Returns the width at which nothing is wrapped or shortened."""
    return sum(_widest_cell(column) + GAP for column in table.columns)


def _needed_width(column: Column, least: int) -> int:
    widest = _widest_cell(column)
    if column.no_wrap:
        return widest
    return min(widest, least if _has_names(column) else _FOLDED)


def _widest_cell(column: Column) -> int:
    lines = (line for part in (column.header, *column.cells) for line in str(part).split("\n"))
    return max(map(cell_len, lines))


def _has_names(column: Column) -> bool:
    return column.overflow == "crop"


def _shorten_names(table: Table, room: int) -> None:
    """Shorten the names in a table as far as needed for a window of `room` columns."""
    for column in filter(_has_names, table.columns):
        over = table_width(table) - room
        if over > 0:
            texts = [text for text in column.cells if isinstance(text, Text)]
            most = max(_widest_cell(column) - over, _FOLDED)
            for text, short in zip(texts, short_names([t.plain for t in texts], most), strict=True):
                text.plain = short


def dropped(full: Table, shown: Table) -> list[str]:
    """Returns the headings of the columns of `full` that `shown` omits."""
    kept = set(_headings(shown))
    return [heading for heading in _headings(full) if heading not in kept]


def _headings(table: Table) -> Iterator[str]:
    return (str(column.header).replace("\n", " ") for column in table.columns)


def not_shown(columns: Sequence[str]) -> str:
    """Returns a note on which columns were omitted for lack of room, and how to see them."""
    return f"not shown: {', '.join(columns)} (use a wider window or --format json)"


def _stacked(table: Table) -> Table:
    """Convert each row to a list of its non-empty cells, one per line."""
    rows = Table.grid("name", "value", padding=(0, 2, 0, 0))
    rows.columns[1].overflow = "fold"
    headers = [column.header for column in table.columns]
    for cells in zip(*(column.cells for column in table.columns), strict=True):
        rows.add_row()
        for header, content in zip(headers, cells, strict=True):
            if str(content):
                rows.add_row(header, content)
    rows.add_row()
    return rows
