"""Tables of scores that fit the window, with a note on omitted columns.

The metrics have priority. Names are shortened first; then the length and the published spread are omitted,
then the interval; if the table is still too wide, each row is shown as a list of cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rich.console import RenderableType
from rich.table import Table

from pfgen_rs.drawing.text_tables import (
    cell,
    fits,
    new_table,
    not_shown,
    rendered,
    table_width,
    width,
)
from pfgen_rs.io.run_files import named_results
from pfgen_rs.metrics.settings import PARTS

INTERVAL = "[low, high]"
_LEGEND = f"{INTERVAL}: 95 % interval over questions (Student's t)"
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
_NAME, _SHORTEST_NAME = 14, 12  # minimum widths of shortened names, with and without the interval

Row = Mapping[str, Any]


class _Named(NamedTuple):
    name: str
    path: str | None
    place: int


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
        columns, table = self._fitting(room)
        legend = [_LEGEND] if INTERVAL in columns else []
        missing = [name for name in self._columns() if name not in columns]
        return [
            table,
            *map(cell, legend + ([not_shown(missing)] if missing else [])),
        ]

    def _columns(self) -> list[str]:
        return [INTERVAL, *self.columns]

    def _fitting(self, room: int) -> tuple[list[str], Table]:
        """Returns the columns after the score, and their table."""
        every = self._columns()
        for kept in range(len(self.optional), -1, -1):
            columns = [name for name in every if name not in self.optional[kept:]]
            for headings in ({}, _NARROW):
                table = self._table(columns, headings)
                if table_width(table) <= room or (headings and fits(table, room)):
                    return columns, table
        fewest = [name for name in self.columns if name not in self.optional]
        for columns, name in (([INTERVAL, *fewest], _NAME), (fewest, _SHORTEST_NAME)):
            table = self._table(columns, _NARROWEST)
            if fits(table, room, name):
                return columns, table
        return every, self._table(every, {})

    def _table(self, columns: Sequence[str], headings: Mapping[str, str]) -> Table:
        *numbers, names = self.about
        table = new_table(*self.about, numbers=numbers, names=[names])
        for name in ("score", *columns):
            table.add_column(headings.get(name, name), justify="right", no_wrap=True)
        for i, row in enumerate(self.rows):
            cells = [cells[i] for cells in self.about.values()] + [f"{row['score']:.4f}"]
            cells += [
                bounds(row) if name == INTERVAL else self.columns[name][i] for name in columns
            ]
            table.add_row(*map(cell, cells))
        return table


def bounds(row: Row) -> str:
    """Returns a row's interval as `[low, high]`; empty if it has none."""
    low, high = row["score_low"], row["score_high"]
    return "" if low is None or high is None else f"[{low:.3f}, {high:.3f}]"


# Shows the runs of `pfgen-rs score` as a table that fits the window.


_PUBLISHED, _LENGTH = "published ±", "length"


def scores_text(rows: Sequence[Row]) -> str:
    """Returns the table of runs, its legend and the signatures as they are printed, without colours."""
    return rendered(*score_leaderboard(rows, width()), plain=True).rstrip("\n")


def score_leaderboard(rows: Sequence[Row], room: int) -> list[RenderableType]:
    """Returns a table with as many columns as fit a window of `room`, its legend, and the signatures."""
    signatures = dict.fromkeys(row["signature"] for row in rows)
    ranks = [str(rank) for rank, _ in enumerate(rows, 1)]
    table = ScoreTable(
        rows,
        about={"rank": ranks, "run": told_names(rows)},
        columns=_view_columns(rows),
        optional=(_PUBLISHED, _LENGTH),
    )
    if len(signatures) == 1:
        return [*table.parts(room), *map(cell, signatures)]
    marked = (f"{sign}  (rank {', '.join(_view_ranks(rows, sign))})" for sign in signatures)
    return [*table.parts(room), *map(cell, marked)]


def _view_columns(rows: Sequence[Row]) -> dict[str, list[str]]:
    """Returns the cells of all columns after the interval."""
    return {
        _PUBLISHED: [_view_spread(row) for row in rows],
        _LENGTH: [f"{row['length']:.1f} ±{row['length_std']:.1f}" for row in rows],
        **{metric: [_part(row, metric) for row in rows] for metric in PARTS},
    }


def _view_spread(row: Row) -> str:
    trials = row["num_trials"]
    is_known = trials > 1 and row["score_std"] is not None
    return f"±{row['score_std']:.4f}/√{trials}" if is_known else "–"


def _part(row: Row, metric: str) -> str:
    """Returns the cell of a metric; Helpfulness is no part of a score without keyword rules."""
    is_left_out = metric == "helpfulness" and "helpfulness:none" in row["signature"]
    return "–" if is_left_out else f"{row[metric]:.4f}"


def told_names(rows: Sequence[Row]) -> list[str]:
    """Returns the names of runs; those that several have with what tells them apart."""
    named = named_results(
        [_Named(row["name"], row["file"], place) for place, row in enumerate(rows)]
    )
    return sorted(named, key=lambda name: named[name].place)


def _view_ranks(rows: Sequence[Row], signature: str) -> list[str]:
    return [str(rank) for rank, row in enumerate(rows, 1) if row["signature"] == signature]
