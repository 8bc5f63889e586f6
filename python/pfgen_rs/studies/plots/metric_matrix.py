"""The metrics against each other as a matrix of scatter plots (figure 2 of Imajo 2025)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from pfgen_rs.drawing.saving import finish
from pfgen_rs.drawing.style import COLOURS, INK, Look, drawing
from pfgen_rs.drawing.words import Language
from pfgen_rs.report.plots.points import kinds
from pfgen_rs.studies.correlations import Correlation
from pfgen_rs.studies.markdown import correlation_text, interval_text
from pfgen_rs.studies.metrics import MetricStudy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["metric_matrix"]

_SIZE = 2.3  # inches of a panel
_BINS = 20
_SMALL = 60  # runs: points of more are smaller


def metric_matrix(
    study: MetricStudy,
    *,
    title: str | None = None,
    language: Language = "en",
    font: str | None = None,
) -> Figure:
    """Draw each metric against each other, its distribution, and the correlations."""
    names = study.matrix.names
    runs = study.runs.with_columns(
        kind=pl.when(pl.col("mode").is_in(("completion", "chat", "qa")))
        .then("mode")
        .otherwise(pl.lit("other"))
    )
    pairs = {(pair.one, pair.other): pair for pair in study.matrix.pairs}
    limits = [min(0.0, _least(runs, names)), 1.04 * max(1.0, _largest(runs, names))]
    with drawing(language, font) as look:
        side = _SIZE * len(names)
        figure = look.figure(title, "Metrics against each other", side + 0.4, side + 0.6)
        panels = figure.subplots(len(names), len(names), squeeze=False)
        for i, below in enumerate(names):
            for j, across in enumerate(names):
                axes = panels[i][j]
                if i == j:
                    _draw_distribution(axes, runs[across].to_numpy(), limits)
                elif i > j:
                    _draw_points(axes, runs, across, below, look)
                    axes.set(xlim=limits, ylim=limits)
                else:
                    _write_correlation(axes, pairs.get((below, across)))
                if i >= j:
                    _label_panel(axes, i, j, len(names))
                if i == len(names) - 1:
                    axes.set_xlabel(look.say(across.title()))
                if j == 0:
                    axes.set_ylabel(look.say(below.title()))
        handles, labels = panels[1][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
        said = "; ".join(f"{one}–{other} {_told(pair)}" for (one, other), pair in pairs.items())
        return finish(figure, f"{look.say('Runs')}: {len(runs)}; {said}")


def _draw_points(axes: Axes, runs: pl.DataFrame, x: str, y: str, look: Look) -> None:
    for kind, drawn in kinds(runs).items():
        part = runs.filter(pl.col("kind") == kind)
        axes.plot(
            part[x].to_numpy(),
            part[y].to_numpy(),
            linestyle="none",
            markersize=5 if len(runs) <= _SMALL else 3,
            markeredgecolor="white",
            markeredgewidth=0.5 if len(runs) <= _SMALL else 0.2,
            label=look.say(kind),
            zorder=3,
            **drawn,
        )


def _draw_distribution(
    axes: Axes, values: np.ndarray[tuple[int], np.dtype[np.float64]], limits: list[float]
) -> None:
    axes.hist(values, bins=_BINS, range=(limits[0], limits[1]), color=COLOURS[4])
    axes.set(xlim=limits, yticks=[])
    axes.grid(visible=False)


def _write_correlation(axes: Axes, pair: Correlation | None) -> None:
    axes.set_axis_off()
    axes.set(xticks=[], yticks=[])  # or matplotlib would make some later, with settings of its own
    if pair is None:
        return
    bounds = interval_text(*pair.interval("pearson"), 3).replace(" to ", ", ")
    _write_line(axes, 0.56, f"r = {correlation_text(pair.pearson, 3)}", size=12, va="center")
    _write_line(
        axes, 0.38, f"[{bounds}]\nρ = {correlation_text(pair.spearman, 3)}", size=9, va="top"
    )


def _write_line(axes: Axes, y: float, text: str, *, size: float, va: str) -> None:
    axes.text(
        0.5,
        y,
        text.replace("-", "−"),
        ha="center",
        va=va,
        fontsize=size,
        color=INK,
        transform=axes.transAxes,
    )


def _label_panel(axes: Axes, row: int, column: int, count: int) -> None:
    """Show numbers only at the left and at the bottom; the first panel's heights are counts."""
    axes.tick_params(labelbottom=row == count - 1, labelleft=column == 0 and row > 0)
    axes.tick_params(left=column != row)


def _told(pair: Correlation) -> str:
    return f"r = {correlation_text(pair.pearson)} (n = {pair.n})"


def _least(runs: pl.DataFrame, names: tuple[str, ...]) -> float:
    return float(np.min(runs.select(names).to_numpy()))


def _largest(runs: pl.DataFrame, names: tuple[str, ...]) -> float:
    return float(np.max(runs.select(names).to_numpy()))
