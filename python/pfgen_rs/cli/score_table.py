"""Tables of scores that fit the window, with a note on omitted columns.

The metrics have priority: first the bar is omitted, then the length and the published spread. Then names are
wrapped, then the interval is omitted; if the table is still too wide, each row is shown as a list of cells.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.cells import cell_len
from rich.console import RenderableType
from rich.table import Table

from pfgen_rs.cli import output, table_fit
from pfgen_rs.cli.bars import NARROWEST, WIDEST, Bars, bar_bounds

__all__ = ["INTERVAL", "ScoreTable", "aligned_score_lines", "score_number"]

INTERVAL = "[low, high]"
_IN_PLAIN = {INTERVAL, "own range", "length"}
_NARROW = {
    "own range": "own\nrange",
    "truthfulness": "truth-\nfulness",
    "helpfulness": "help-\nfulness",
}
_NARROWEST = {
    "fluency": "flu-\nency",
    "truthfulness": "truth-\nful-\nness",
    "helpfulness": "help-\nful-\nness",
}
_NAME, _SHORTEST_NAME = 14, 12  # minimum widths of wrapped names, with and without the interval

Row = Mapping[str, Any]


@dataclass(frozen=True)
class ScoreTable:
    """Rows with `score`, `score_low` and `score_high`, and their cells.

    `about`: the columns before the score by heading; the last one contains names. `columns`: those after the
    interval. `optional`: columns that may be omitted, the most useful first.
    """

    rows: Sequence[Row]
    about: Mapping[str, Sequence[str]]
    columns: Mapping[str, Sequence[str]]
    optional: Sequence[str]

    def parts(self, room: int) -> list[RenderableType]:
        """Returns a table with as many columns as fit a window of `room`, and its legend."""
        columns, table, bar = self._fitting(room)
        legend = [_score_table_legend(bar)] if INTERVAL in columns else []
        missing = [name for name in self._columns() if name not in columns]
        return [
            table,
            *map(output.cell, legend + ([_score_table_omissions(missing)] if missing else [])),
        ]

    def _columns(self) -> list[str]:
        return [INTERVAL, *self.columns]

    def _fitting(self, room: int) -> tuple[list[str], Table, int]:
        """Returns the columns after the score, their table, and the width of its bar."""
        every = self._columns()
        for kept in range(len(self.optional), -1, -1):
            columns = [name for name in every if name not in self.optional[kept:]]
            for headings in ({}, _NARROW):
                left = room - table_fit.width(self._table(columns, headings))
                if left >= 0:
                    bar = min(left - table_fit.GAP, WIDEST) if columns == every else 0
                    bar = bar if bar >= NARROWEST else 0
                    return columns, self._table(columns, headings, bar), bar
        fewest = [name for name in self.columns if name not in self.optional]
        for columns, name in (([INTERVAL, *fewest], _NAME), (fewest, _SHORTEST_NAME)):
            table = self._table(columns, _NARROWEST)
            if table_fit.fits(table, room, name):
                return columns, table, 0
        return every, self._table(every, {}), 0

    def _table(self, columns: Sequence[str], headings: Mapping[str, str], bar: int = 0) -> Table:
        *numbers, _ = self.about
        table = output.new_table(*self.about, numbers=numbers)
        table.add_column("score", justify="right", no_wrap=True)
        bars = Bars(self.rows)
        for name in columns:
            table.add_column(headings.get(name, name), justify="right", no_wrap=True)
            if name == INTERVAL and bar:
                table.add_column(bars.heading(bar), no_wrap=True)
        for i, row in enumerate(self.rows):
            cells = [cells[i] for cells in self.about.values()] + [f"{row['score']:.4f}"]
            table.add_row(*map(output.cell, cells), *self._cells(i, row, columns, bars, bar))
        return table

    def _cells(
        self, i: int, row: Row, columns: Sequence[str], bars: Bars, bar: int
    ) -> Iterator[RenderableType]:
        for name in columns:
            yield output.cell(bar_bounds(row) if name == INTERVAL else self.columns[name][i])
            if name == INTERVAL and bar:
                yield bars.bar(row, bar)


def _score_table_legend(bar: int) -> str:
    shown = f"{INTERVAL} and ├─●─┤" if bar else INTERVAL
    return f"{shown}: 95 % interval over questions (Student's t)"


def _score_table_omissions(columns: Sequence[str]) -> str:
    return table_fit.not_shown(columns, *(["--plain"] if _IN_PLAIN.issuperset(columns) else []))


def aligned_score_lines(lines: Sequence[Sequence[str]], texts: int) -> str:
    """Align lines of cells for logs; the last `texts` cells of each are texts, the others numbers."""
    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    return "".join(_aligned_score_line(cells, widths, len(widths) - texts) for cells in lines)


def _aligned_score_line(cells: Sequence[str], widths: Sequence[int], numbers: int) -> str:
    padded = []
    for i, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        gap = " " * (width - cell_len(cell))
        padded.append(gap + cell if i < numbers else cell + gap)
    return "  ".join(padded).rstrip() + "\n"


def score_number(value: float | None) -> str:
    """Format a score with four decimals, or `-`."""
    return "-" if value is None else f"{value:.4f}"
