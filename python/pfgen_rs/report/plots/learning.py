"""Learning curves: the score and its three parts during training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import polars as pl

from pfgen_rs.drawing.saving import finish
from pfgen_rs.drawing.style import COLOURS, DASHES, GREY, Look, drawing
from pfgen_rs.drawing.words import Language
from pfgen_rs.errors import PlotError
from pfgen_rs.metrics.names import PARTS
from pfgen_rs.report.plots.frames import drawable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["LearningAxis", "learning_curve"]

LearningAxis = Literal["step", "tokens"]

_AXES = {"step": "Step", "tokens": "Tokens"}
_MARKED = 60  # points; more of them hide the line


def learning_curve(
    curve: pl.DataFrame,
    *,
    x: LearningAxis = "step",
    title: str | None = None,
    language: Language = "en",
    font: str | None = None,
) -> Figure:
    """Draw the score with its interval as a band, and its three parts, against steps or tokens.

    `curve`: columns `step` or `tokens`, `score`, `fluency`, `truthfulness`, `helpfulness` and optionally
    `score_low`, `score_high`, as in `StepEvaluator.curve`. Rows with missing values are left out. The
    baseline, the score at step 0, is a horizontal line. Raises `PlotError` if there is nothing to draw.
    """
    if x not in _AXES:
        raise PlotError(f"unknown x axis {x!r}: expected one of {', '.join(_AXES)}")
    rows = drawable(curve, [], [x, "score", *PARTS]).sort(x)
    with drawing(language, font) as look:
        figure = look.figure(title, "Score during training", 8, 4.8)
        axes = figure.subplots()
        _score_while_learning(axes, rows, x, look)
        for name, colour, dash in zip(PARTS, COLOURS[1:], DASHES[1:], strict=False):
            label = look.say(name.capitalize())
            axes.plot(rows[x].to_numpy(), rows[name].to_numpy(), dash, color=colour, label=label)
        axes.set(xlabel=look.say(_AXES[x]), ylabel=look.say("Score (95 % interval)"))
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        figure.legend(loc="outside lower center", ncols=4)
        first, last = rows["score"][0], rows["score"][-1]
        return finish(figure, f"{look.say('Score')}: {first:.4f} → {last:.4f}; n = {len(rows)}")


def _score_while_learning(axes: Axes, rows: pl.DataFrame, x: str, look: Look) -> None:
    places = rows[x].to_numpy()
    marker = "o" if len(rows) <= _MARKED else None
    axes.plot(
        places,
        rows["score"].to_numpy(),
        color=COLOURS[0],
        marker=marker,
        markersize=4,
        linewidth=2.2,
        label=look.say("Score"),
        zorder=3,
    )
    if {"score_low", "score_high"} <= set(rows.columns):
        bounds = rows.select(
            pl.col("score_low", "score_high").cast(pl.Float64).fill_null(float("nan"))
        )
        low, high = (bounds[name].to_numpy() for name in bounds.columns)
        axes.fill_between(places, low, high, color=COLOURS[0], alpha=0.15, linewidth=0)
    if rows[x][0] == 0:
        axes.axhline(rows["score"][0], color=GREY, linewidth=1, linestyle=":", zorder=1)
