"""Scores of runs with their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from pfgen_rs.drawing.names import MEAN_WIDTH, text_width
from pfgen_rs.drawing.panels import not_below_zero, remark
from pfgen_rs.drawing.saving import finish
from pfgen_rs.drawing.style import Look, drawing
from pfgen_rs.drawing.words import Language
from pfgen_rs.report.plots.cuts import RUNS, check_top, cut_in_figure
from pfgen_rs.report.plots.frames import drawable
from pfgen_rs.report.plots.points import kinds, numbered_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["MOST", "intervals"]

MOST = 100  # runs that are shown
_LIMITS = ("score_low", "score_high")
_RANK_SIZE, _RANK_GAP = 8.5, 4.0  # points


def intervals(
    runs: pl.DataFrame,
    *,
    top: int = MOST,
    title: str | None = None,
    language: Language = "en",
    font: str | None = None,
) -> Figure:
    """Draw scores by rank with their intervals, and the rank range of each run.

    `runs`: columns `model`, `mode`, `score`, `score_low`, `score_high` and optionally `rank_low`,
    `rank_high`. A run without an interval, for example because its score is not the mean of its questions,
    is a point only. `top`: number of runs that are shown, the best ones. Raises `PlotError` if there is
    nothing to draw.
    """
    found = numbered_points(drawable(runs, ["model", "mode"], ["score"]))
    shown = found.head(check_top(top))
    with drawing(language, font) as look:
        height = 1.5 + 0.235 * len(shown)
        figure = look.figure(title, "Scores with 95 % intervals", 9.4, height)
        axes = figure.subplots()
        _interval_rows(axes, shown)
        # The space is as wide as a digit.
        marked = zip(look.names(shown["name"]), shown["mark"], strict=True)
        labels = [f"{name}  {mark:\u2007>2}" for name, mark in marked]
        axes.set_yticks(range(len(shown)), labels)
        axes.set_ylim(len(shown) - 0.4, -0.6)
        axes.set_xlabel(look.say("Score (95 % interval over questions, Student's t)"))
        not_below_zero(axes, x=True)
        remark(axes, cut_in_figure(look, RUNS, len(shown), len(found)))
        axes.grid(visible=False, axis="y")
        _ranks_beside_intervals(axes, shown, look)
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
            clip_on=False,
            zorder=3,
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


def _ranks_beside_intervals(axes: Axes, runs: pl.DataFrame, look: Look) -> None:
    """Write the rank range of each run in a column on the right, where no interval reaches."""
    if not {"rank_low", "rank_high"} <= set(runs.columns):
        return
    said = {
        row: f"{low}" if low == high else f"{low}–{high}"
        for row, (low, high) in enumerate(runs.select("rank_low", "rank_high").rows())
        if low is not None and high is not None
    }
    heading = look.say("rank range")
    widest = max(text_width(text, look.families) for text in (heading, *said.values()))
    right = _RANK_GAP + _RANK_SIZE * MEAN_WIDTH * widest
    for row, text in said.items():
        _annotate_interval_row(axes, text, (1, row), (right, 0), "center_baseline")
    _annotate_interval_row(axes, heading, (1, -0.6), (right, 4), "bottom")


def _annotate_interval_row(
    axes: Axes, text: str, at: tuple[float, float], offset: tuple[float, float], place: str
) -> None:
    axes.annotate(
        text,
        at,
        xycoords=axes.get_yaxis_transform(),
        xytext=offset,
        textcoords="offset points",
        ha="right",
        va=place,
        fontsize=_RANK_SIZE,
        annotation_clip=False,
    )
