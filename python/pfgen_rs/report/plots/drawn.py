"""Figures of runs by name, with the tables that they show and remarks about what they leave out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from pfgen_rs.io.table_writer import csv_text
from pfgen_rs.metrics.names import PARTS
from pfgen_rs.report.plots import cuts
from pfgen_rs.report.plots.categories import MOST as MOST_MAPPED
from pfgen_rs.report.plots.categories import category_map, category_means
from pfgen_rs.report.plots.intervals import MOST as MOST_INTERVALS
from pfgen_rs.report.plots.intervals import intervals
from pfgen_rs.report.plots.metrics import metric_pairs, score_length
from pfgen_rs.report.plots.points import BEST, NAMED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "BOUNDS",
    "OF_RUNS",
    "RUN",
    "Drawn",
    "csv_of",
    "draw_categories",
    "draw_runs",
    "numbered_note",
    "run_columns",
]

RUN = ("name", "run", "model", "mode", "score")
BOUNDS = ("score_low", "score_high")


class _RunFigure(NamedTuple):
    """A figure of which every run is a part: its function, and the columns that it shows."""

    drawing: Callable[..., Figure]
    columns: Sequence[str]
    is_cut: bool = False  # else all runs are points


OF_RUNS: Mapping[str, _RunFigure] = {
    "metrics": _RunFigure(metric_pairs, PARTS),
    "length": _RunFigure(score_length, ("length",)),
    "intervals": _RunFigure(intervals, (*BOUNDS, "rank", "rank_low", "rank_high"), is_cut=True),
}
"""Figures that need rows as in `entries_frame` alone."""


@dataclass
class Drawn:
    """A figure, remarks about its runs, and the table that it shows, of all runs that could be shown."""

    figure: Figure
    notes: list[str] = field(default_factory=list)
    table: pl.DataFrame = field(default_factory=pl.DataFrame)

    def csv(self) -> bytes:
        """Returns the table as CSV; see `csv_of`."""
        return csv_of(self.table)


def csv_of(table: pl.DataFrame) -> bytes:
    """Returns a table as CSV, without columns of lists, in full precision."""
    plain = [name for name, kind in table.schema.items() if not kind.is_nested()]
    return csv_text(table.select(plain)).encode()


def run_columns(runs: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Returns runs by descending score, with what names them and these columns, as far as they are there."""
    found = [name for name in (*RUN, *columns) if name in runs.columns]
    return runs.select(found).sort("score", descending=True, maintain_order=True)


def draw_runs(kind: str, runs: pl.DataFrame, *, top: int | None = None, **look: Any) -> Drawn:
    """Draw one of `OF_RUNS`; `top`: number of runs of a figure that shows the best ones only."""
    made = OF_RUNS[kind]
    table = run_columns(runs, made.columns)
    if not made.is_cut:
        return Drawn(made.drawing(runs, **look), numbered_note(len(table)), table)
    shown = MOST_INTERVALS if top is None else top
    figure = made.drawing(runs, top=shown, **look)
    return Drawn(figure, _cut_notes(cuts.RUNS, shown, len(table)), table)


def draw_categories(
    scores: pl.DataFrame,
    categories: Mapping[str, str | None],
    overall: Mapping[str, float],
    *,
    top: int | None = None,
    **look: Any,
) -> Drawn:
    """Draw `category_map`, whose arguments these are."""
    table = category_means(scores, categories, overall)
    shown = MOST_MAPPED if top is None else top
    figure = category_map(scores, categories, overall, top=shown, **look)
    return Drawn(figure, _cut_notes(cuts.RUNS, shown, len(table)), table)


def numbered_note(runs: int) -> list[str]:
    """Returns what is said of a figure of so many points, if not all of them are numbered."""
    return _cut_notes(cuts.NUMBERED, BEST, runs) if runs > NAMED else []


def _cut_notes(said: str, shown: int, count: int) -> list[str]:
    note = cuts.cut_note(said, shown, count)
    return [note] if note else []
