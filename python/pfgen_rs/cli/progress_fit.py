"""Progress bars that keep to one line of the window."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.console import RenderableType
from rich.measure import Measurement
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

__all__ = ["OneLineProgress", "shortened"]

_WIDEST_BAR, _NARROWEST_BAR = 40, 10
_SHORTEST_NAME = 16


class OneLineProgress(Progress):
    """Progress in which every task takes one line, however long its name and narrow the window.

    Names stand in the first column of text. Where there is too little room, first the bar shrinks, then names
    lose their beginnings (the end of a path tells more); then the bar goes, and the last columns after it.
    """

    def make_tasks_table(self, tasks: Iterable[Task]) -> Table:
        """A row for each visible task."""
        shown = [task for task in tasks if task.visible]
        columns = [column for column in self.columns if isinstance(column, ProgressColumn)]
        cells = [[column(task) for task in shown] for column in columns]
        widths = self._widths(cells) if shown else {}
        table = Table.grid(padding=(0, 1), pad_edge=False)
        for width in widths.values():
            table.add_column(width=width, no_wrap=True)
        for row in range(len(shown)):
            table.add_row(*(_cut(cells[i][row], width) for i, width in widths.items()))
        return table

    def _widths(self, cells: Sequence[Sequence[RenderableType]]) -> dict[int, int]:
        """The width of each column that there is room for, by its index."""
        bars = [i for i, column in enumerate(self.columns) if isinstance(column, BarColumn)]
        name = next(i for i, column in enumerate(self.columns) if isinstance(column, TextColumn))
        wished = {i: max(map(self._width, column)) for i, column in enumerate(cells)}
        wished |= dict.fromkeys(bars, _WIDEST_BAR)
        least = wished | dict.fromkeys(bars, _NARROWEST_BAR)
        least[name] = min(wished[name], _SHORTEST_NAME)
        optional = [*(i for i in wished if i > name and i not in bars), *bars]
        while (left := self.console.width - sum(least.values()) - len(least) + 1) < 0 and optional:
            del least[optional.pop()]
        for i in (name, *bars):
            if i in least:
                more = min(max(left, 0), wished[i] - least[i])
                least[i], left = least[i] + more, left - more
        return least

    def _width(self, cell: RenderableType) -> int:
        return Measurement.get(self.console, self.console.options, cell).maximum


def _cut(cell: RenderableType, width: int) -> RenderableType:
    """A cell for a column of this width."""
    if isinstance(cell, ProgressBar):
        cell.width = width
        return cell
    return Text(shortened(cell.plain, width), cell.style) if isinstance(cell, Text) else cell


def shortened(text: str, width: int) -> str:
    """The end of a text that is too wide for so many columns, behind `…`."""
    if cell_len(text) <= width:
        return text
    start = next(i for i in range(1, len(text) + 1) if cell_len(text[i:]) < width)
    return "…" + text[start:]
