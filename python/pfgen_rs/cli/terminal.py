"""What commands show on a terminal: tables that fit its width, and progress bars.

Progress bars are imported where they are drawn: many commands show tables alone.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich import box
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Column, Table
from rich.text import Text

from pfgen_rs.cli import process
from pfgen_rs.cli.process import emit
from pfgen_rs.io.text import visible

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

    from pfgen_rs.io.source import Source

# Called with the current file, the bytes read of it, and the responses scored since the last call.
Progressed = Callable[["Source", int, int], None]
_BARS = 8  # maximum number of bars; the oldest are removed
_UNLIMITED = 10_000  # columns; without a terminal, nothing needs to be wrapped


def show(*parts: RenderableType) -> None:
    """Print tables and text; nothing is wrapped if standard output is not a terminal.

    A table that is too wide for the terminal is printed with one cell per line. Text lines are wrapped by the
    terminal itself, so that they can be copied whole.
    """
    console = _console()
    with console.capture() as captured:
        for part in parts:
            if isinstance(part, Table) and not fits(part, console.width):
                console.print(stacked(part))
            else:
                console.print(part, soft_wrap=isinstance(part, Text))
    emit(captured.get())


def _console() -> Console:
    terminal = sys.stdout.isatty()
    width = None if terminal or "COLUMNS" in os.environ else _UNLIMITED
    return Console(width=width, markup=False, highlight=False, emoji=False)


def width() -> int:
    """Returns the width of the window in columns; practically unlimited without a terminal."""
    return _console().width


def first_that_fits(*tables: Table) -> Table:
    """Returns the first table that fits the window; the first one if none does."""
    room = width()
    return next((table for table in tables if fits(table, room)), tables[0])


def new_table(
    *columns: str,
    numbers: Iterable[str] = (),
    title: str | None = None,
    rows: Iterable[Iterable[object]] = (),
) -> Table:
    """Returns a table of `rows`; columns named in `numbers` are right-aligned and never wrapped."""
    shown = None if title is None else cell(title)
    table = Table(title=shown, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    table.collapse_padding, table.pad_edge = True, False
    right = set(numbers)
    for name in columns:
        if name in right:
            table.add_column(cell(name), justify="right", no_wrap=True)
        else:
            table.add_column(cell(name), overflow="fold")
    for row in rows:
        table.add_row(*map(cell, row))
    return table


def cell(value: object, style: str = "") -> Text:
    """Returns a value as safe text, without markup and control characters."""
    return Text(visible(str(value)), style=style)


_FOLDED = 10  # minimum width of a wrapped text column
GAP = 2
"""Space between two columns of a table."""


def fits(table: Table, room: int, folded: int = _FOLDED) -> bool:
    """Whether the table is readable in a window of `room` columns.

    Numbers are never wrapped; text may be wrapped to a width of at least `folded`.
    """
    return sum(_needed_width(column, folded) + GAP for column in table.columns) <= room


def table_width(table: Table) -> int:
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


def not_shown(columns: Sequence[str]) -> str:
    """Returns a note on which columns were omitted for lack of room, and how to see them."""
    return f"not shown: {', '.join(columns)} (use a wider window or --format json)"


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


def track(items: Sequence[str], doing: str) -> Iterator[str]:
    """Iterate over items with a progress bar on standard error, if it is a terminal.

    Ctrl-C interrupts work on an item even while it waits for input.
    """
    from rich import progress as parts

    name = parts.TextColumn("{task.description}", markup=False)
    bars = (parts.BarColumn(), parts.MofNCompleteColumn(), parts.TimeElapsedColumn())
    columns = (parts.SpinnerColumn(), name, *bars)
    with progress(*columns) as bar:
        task = bar.add_task(doing, total=len(items))
        for item in items:
            bar.update(task, description=visible(f"{doing} {item}"))
            process.interrupt_reads()
            yield item
            bar.advance(task)


@contextmanager
def steps(doing: str, total: int) -> Iterator[Callable[[str], None]]:
    """Show a progress bar of steps, with remaining time. Yields what is called after each with its name."""
    from rich import progress as parts

    name = parts.TextColumn("{task.description}", markup=False)
    times = (parts.TimeElapsedColumn(), parts.TimeRemainingColumn())
    columns = (parts.SpinnerColumn(), name, parts.BarColumn(), parts.MofNCompleteColumn(), *times)
    with progress(*columns) as bar:
        task = bar.add_task(doing, total=total)
        yield lambda done: bar.update(task, advance=1, description=visible(f"{doing} {done}"))


@contextmanager
def scoring(sources: Sequence[Source]) -> Iterator[Progressed]:
    """Show a progress bar of bytes read, with rate and remaining time. Yields its update function."""
    process.interrupt_reads()
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich import progress as parts

    name = parts.TextColumn("{task.description}", markup=False)
    rate = parts.TextColumn("{task.fields[rate]}", markup=False)
    bars = (parts.BarColumn(), parts.DownloadColumn(), rate, parts.TimeRemainingColumn())
    columns = (parts.SpinnerColumn(), name, *bars)
    sizes = {id(source): source.size for source in sources}
    total = None if None in sizes.values() else sum(size or 0 for size in sizes.values())
    with progress(*columns) as bar:
        task = bar.add_task("scoring", total=total, rate="")
        begun, scored, read = 0.0, 0, dict.fromkeys(sizes, 0)

        def update(source: Source, done: int, responses: int) -> None:
            nonlocal begun, scored
            read[id(source)] = done
            if begun:
                scored += responses
            else:  # excludes the time for building indexes before the first responses are scored
                begun = time.monotonic()
            # The clock of Windows may stand still for 16 ms.
            rate = (
                f"{scored / max(time.monotonic() - begun, 0.01):,.0f} responses/s" if scored else ""
            )
            bar.update(
                task,
                description=visible(f"scoring {source.path}"),
                completed=sum(read.values()),
                rate=rate,
            )

        yield update


@contextmanager
def building() -> Iterator[Callable[[str, str, float, float], None]]:
    """Show a progress bar for each question or file, with its current step. Yields the update function."""
    from rich import progress as parts

    process.interrupt_reads()
    name = parts.TextColumn("{task.description}", markup=False)
    step = parts.TextColumn("{task.fields[step]}", markup=False)
    columns = (parts.SpinnerColumn(), name, step, parts.BarColumn(), parts.TimeElapsedColumn())
    with progress(*columns) as bar:
        tasks: dict[str, Any] = {}

        def update(what: str, doing: str, done: float, total: float) -> None:
            if what not in tasks:
                if len(tasks) >= _BARS:
                    bar.remove_task(tasks.pop(next(iter(tasks))))
                tasks[what] = bar.add_task(visible(what), step="")
            bar.update(tasks[what], step=doing, completed=done, total=total or None)

        yield update


@contextmanager
def busy(doing: str) -> Iterator[None]:
    """Show a spinner while the block runs."""
    from rich import progress as parts

    name = parts.TextColumn("{task.description}", markup=False)
    with progress(parts.SpinnerColumn(), name, parts.TimeElapsedColumn()) as bar:
        bar.add_task(visible(doing), total=None)
        yield


@contextmanager
def progress(*columns: ProgressColumn) -> Iterator[Progress]:
    """Show progress bars, which disappear when done; only on a terminal."""
    from pfgen_rs.cli.progress import OneLineProgress

    console = Console(stderr=True, markup=False, highlight=False, emoji=False)
    bar = OneLineProgress(*columns, console=console, transient=True)
    if not sys.stderr.isatty():
        yield bar  # not started, so it shows nothing
        return
    with bar:
        yield bar
