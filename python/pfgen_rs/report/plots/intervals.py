"""Scores of runs with their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from pfgen_rs.drawing.saving import finish
from pfgen_rs.drawing.style import drawing
from pfgen_rs.drawing.words import Language
from pfgen_rs.report.plots.frames import drawable
from pfgen_rs.report.plots.points import kinds, numbered_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["MOST", "intervals"]

MOST = 100  # runs that are shown
_LIMITS = ("score_low", "score_high")


def intervals(
    runs: pl.DataFrame,
    *,
    title: str | None = None,
    language: Language = "en",
    font: str | None = None,
) -> Figure:
    """Draw scores by rank with their intervals, and the rank range of each run.

    `runs`: columns `model`, `mode`, `score`, `score_low`, `score_high` and optionally `rank_low`,
    `rank_high`. A run without an interval, for example because its score is not the mean of its questions,
    is a point only. The 100 best runs are shown. Raises `PlotError` if there is nothing to draw.
    """
    found = numbered_points(drawable(runs, ["model", "mode"], ["score"]))
    shown = found.head(MOST)
    with drawing(language, font) as look:
        height = 1.5 + 0.235 * len(shown)
        figure = look.figure(title, "Scores with 95 % intervals", 9.4, height)
        axes = figure.subplots()
        _interval_rows(axes, shown)
        # The space is as wide as a digit.
        labels = [f"{look.name(row['name'])}  {row['mark']:\u2007>2}" for row in shown.to_dicts()]
        axes.set_yticks(range(len(shown)), labels)
        axes.set_ylim(len(shown) - 0.4, -0.6)
        axes.set_xlabel(look.say("Score (95 % interval over questions, Student's t)"))
        axes.grid(visible=False, axis="y")
        _ranks_beside_intervals(axes, shown, look.say("rank range"))
        if len(kinds(shown)) > 1:
            lines, names = axes.get_legend_handles_labels()
            said = [look.say(name) for name in names]
            figure.legend(lines, said, loc="outside lower center", ncols=len(said))
        description = f"{look.say('Runs')}: {len(shown)} / {len(found)}"
        return finish(figure, description)


def _interval_rows(axes: Axes, runs: pl.DataFrame) -> None:
    placed = runs.with_row_index("row")
    for kind, drawn in kinds(runs).items():
        part = placed.filter(pl.col("kind") == kind)
        low, high = (_interval_bounds_or_nan(part, name) for name in _LIMITS)
        rows = part["row"].to_numpy()
        axes.hlines(rows, low, high, color=drawn["color"], linewidth=1.6)
        axes.plot(
            part["score"].to_numpy(),
            rows,
            linestyle="none",
            markersize=6,
            markeredgecolor="white",
            markeredgewidth=0.6,
            label=kind,
            **drawn,
        )


def _interval_bounds_or_nan(runs: pl.DataFrame, name: str) -> Any:
    """Returns a column, with NaN for missing values, which are not drawn."""
    if name not in runs.columns:
        return np.full(len(runs), np.nan)
    return runs[name].cast(pl.Float64).fill_null(np.nan).to_numpy()


def _ranks_beside_intervals(axes: Axes, runs: pl.DataFrame, heading: str) -> None:
    """Write the rank range of each run in a column on the right."""
    if not {"rank_low", "rank_high"} <= set(runs.columns):
        return
    axes.text(1.07, 1.0, heading, transform=axes.transAxes, ha="right", va="bottom", fontsize=8.5)
    for row, (low, high) in enumerate(runs.select("rank_low", "rank_high").rows()):
        if low is not None and high is not None:
            said = f"{low}" if low == high else f"{low}–{high}"
            at = axes.get_yaxis_transform()
            axes.text(1.07, row, said, transform=at, ha="right", va="center_baseline", fontsize=8.5)
