"""Prints lines to standard error during long operations."""

import logging
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from rich import console, measure, progress_bar
from rich.cells import cell_len
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.table import Table
from rich.text import Text

from pfgen_rs.cli import process


@contextmanager
def logged(name: str, say: Callable[[str], None] = process.remark) -> Iterator[None]:
    """Print this logger's warnings, each on one line, instead of passing them to other handlers."""
    logger = logging.getLogger(name)
    handler, passed_on = _ProgressLogHandler(say), logger.propagate
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = passed_on


class _ProgressLogHandler(logging.Handler):
    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._say = say

    def emit(self, record: logging.LogRecord) -> None:
        self._say(record.getMessage())


@contextmanager
def told_at_times(line: Callable[[], str], every: float) -> Iterator[None]:
    """Print the result of `line`, unless it is empty, every `every` seconds if there is no terminal."""
    if sys.stderr.isatty():
        yield
        return
    over = threading.Event()

    def tell() -> None:
        while not over.wait(every):
            if shown := line():
                process.remark(shown)

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


# Progress bars that fit on one line of the window.


_WIDEST_BAR, _NARROWEST_BAR = 40, 10
_SHORTEST_NAME = 16


class OneLineProgress(Progress):
    """Progress bars in which every task takes one line, regardless of its name and the window's width.

    Names are in the first text column. If there is too little room, the bar is shrunk first, then names are
    shortened at the beginning (the end of a path is more informative), then the bar is omitted, and then the
    last columns.
    """

    def make_tasks_table(self, tasks: Iterable[Task]) -> Table:
        """Returns a table with one row per visible task."""
        shown = [task for task in tasks if task.visible]
        columns = [column for column in self.columns if isinstance(column, ProgressColumn)]
        cells = [[column(task) for task in shown] for column in columns]
        widths = self._widths(cells) if shown else {}
        table = Table.grid(padding=(0, 1), pad_edge=False)
        for width in widths.values():
            table.add_column(width=width, no_wrap=True)
        for row in range(len(shown)):
            table.add_row(*(_cut_cell(cells[i][row], width) for i, width in widths.items()))
        return table

    def _widths(self, cells: Sequence[Sequence[console.RenderableType]]) -> dict[int, int]:
        """Returns the width, by index, of each column for which there is room."""
        bars = [i for i, column in enumerate(self.columns) if isinstance(column, BarColumn)]
        name = next(i for i, column in enumerate(self.columns) if isinstance(column, TextColumn))
        ideal = {i: max(map(self._width, column)) for i, column in enumerate(cells)}
        ideal |= dict.fromkeys(bars, _WIDEST_BAR)
        least = ideal | dict.fromkeys(bars, _NARROWEST_BAR)
        least[name] = min(ideal[name], _SHORTEST_NAME)
        optional = [*(i for i in ideal if i > name and i not in bars), *bars]
        while (left := self.console.width - sum(least.values()) - len(least) + 1) < 0 and optional:
            del least[optional.pop()]
        for i in (name, *bars):
            if i in least:
                more = min(max(left, 0), ideal[i] - least[i])
                least[i], left = least[i] + more, left - more
        return least

    def _width(self, cell: console.RenderableType) -> int:
        return measure.Measurement.get(self.console, self.console.options, cell).maximum


def _cut_cell(cell: console.RenderableType, width: int) -> console.RenderableType:
    """Fit a cell into a column of this width."""
    if isinstance(cell, progress_bar.ProgressBar):
        cell.width = width
        return cell
    return Text(shortened(cell.plain, width), cell.style) if isinstance(cell, Text) else cell


def shortened(text: str, width: int) -> str:
    """Shorten a text to `width` columns, if necessary, by replacing its beginning with `…`."""
    if cell_len(text) <= width:
        return text
    start = next(i for i in range(1, len(text) + 1) if cell_len(text[i:]) < width)
    return "…" + text[start:]
