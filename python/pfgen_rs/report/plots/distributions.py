"""Distributions of one run's scores and lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from pfgen_rs.drawing.panels import not_below_zero, remark
from pfgen_rs.drawing.saving import finish
from pfgen_rs.drawing.style import COLOURS, DASHES, INK, Look, drawing
from pfgen_rs.drawing.words import Language
from pfgen_rs.metrics.names import PARTS
from pfgen_rs.report.plots.cuts import QUESTIONS, cut_in_figure
from pfgen_rs.report.plots.frames import drawable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["MOST", "distributions"]

_BINS = 40
MOST = 120  # questions


def distributions(
    responses: pl.DataFrame,
    *,
    name: str | None = None,
    title: str | None = None,
    language: Language = "en",
    font: str | None = None,
) -> Figure:
    """Draw histograms of a run's scores and lengths, and a box plot of the scores by question.

    `responses`: columns `question_id`, `length`, `average` and the metrics, as returned by
    `pfgen_rs.report.plots.responses`. `name`: the run's, for the title. Boxes extend from quartile to
    quartile, whiskers to the last value within 1.5 times that; the first 120 questions are shown. Raises
    `PlotError` if there is nothing to draw.
    """
    found = drawable(responses, ["question_id"], ["average", "length", *PARTS])
    with drawing(language, font) as look:
        questions = found["question_id"].unique().sort().head(MOST).to_list()
        width = max(9.6, 1 + 0.21 * len(questions))
        figure = look.figure(title, "Distribution of scores and lengths", width, 7, subject=name)
        places = figure.subplot_mosaic([["total", "metrics", "length"], ["boxes"] * 3])
        _score_distribution(places["total"], found, look)
        _cumulative_distribution_of_metrics(places["metrics"], found, look)
        _length_distribution(places["length"], found, look)
        _distributions_by_question(places["boxes"], found, questions, look)
        description = f"{look.say('Responses')}: {len(found):,}"
        return finish(figure, description)


def _distribution_bin_edges(values: pl.Series, least: float) -> list[float]:
    """Returns the edges of bins from 0 that cover all values."""
    edges: list[float] = np.linspace(0, max(least, np.max(values.to_numpy())), _BINS + 1).tolist()
    return edges


def _score_distribution(axes: Axes, found: pl.DataFrame, look: Look) -> None:
    axes.hist(
        found["average"].to_numpy(),
        _distribution_bin_edges(found["average"], 1.0),
        color=COLOURS[0],
    )
    _mean_of_distribution(axes, found["average"], look, "{:.4f}")
    axes.set(xlabel=look.say("Score"), ylabel=look.say("Responses"))


def _cumulative_distribution_of_metrics(axes: Axes, found: pl.DataFrame, look: Look) -> None:
    """Draw cumulative shares, since the bars of several histograms would hide each other."""
    for metric, colour, dash in zip(PARTS, COLOURS[1:], DASHES, strict=False):
        values = found[metric].sort().to_numpy()
        shares = np.arange(1, len(values) + 1) / len(values)
        at = np.unique(np.linspace(0, len(values) - 1, 500).astype(int))
        axes.step(
            values[at], shares[at], dash, where="post", color=colour, label=look.say(metric.title())
        )
    axes.set(xlabel=look.say("Value"), ylabel=look.say("Cumulative share of responses"))
    axes.set_ylim(0, 1.02)
    not_below_zero(axes, x=True)
    axes.legend(  # above the panel, where it hides no line
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=len(PARTS),
        borderaxespad=0.2,
        columnspacing=1.0,
        handlelength=1.7,
        handletextpad=0.4,
        fontsize=8,
    )


def _length_distribution(axes: Axes, found: pl.DataFrame, look: Look) -> None:
    axes.hist(
        found["length"].to_numpy(),
        _distribution_bin_edges(found["length"], 150.0),
        color=COLOURS[2],
    )
    _mean_of_distribution(axes, found["length"], look, "{:.1f}")
    axes.set(xlabel=look.say("Length (characters)"), ylabel=look.say("Responses"))


def _mean_of_distribution(axes: Axes, values: pl.Series, look: Look, form: str) -> None:
    mean = float(values.to_numpy().mean())
    said = look.say("mean {value}").format(value=form.format(mean))
    axes.axvline(mean, color=INK, linewidth=1.2, linestyle="--", label=said)
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0.2, handlelength=1.7)
    axes.locator_params(axis="x", nbins=6)


def _distributions_by_question(
    axes: Axes, found: pl.DataFrame, questions: list[str], look: Look
) -> None:
    parts = found.partition_by("question_id", as_dict=True)
    boxes = axes.boxplot(
        [parts[(question,)]["average"].to_numpy() for question in questions],
        tick_labels=[look.name(question, 12) for question in questions],
        widths=0.62,
        patch_artist=True,
        boxprops={"facecolor": "#cfe3f1", "edgecolor": COLOURS[0], "linewidth": 0.9},
        medianprops={"color": COLOURS[1], "linewidth": 1.6},
        whiskerprops={"color": COLOURS[0], "linewidth": 0.9},
        capprops={"color": COLOURS[0], "linewidth": 0.9},
        flierprops={"marker": ".", "markersize": 2.5, "markerfacecolor": INK, "markeredgewidth": 0},
    )
    axes.tick_params(axis="x", rotation=90, labelsize=8)
    axes.grid(visible=False, axis="x")
    not_below_zero(axes, y=True)
    axes.set(xlabel=look.say("Question"), ylabel=look.say("Score"))
    remark(axes, cut_in_figure(look, QUESTIONS, len(questions), len(parts)))
    box, median = boxes["boxes"][0], boxes["medians"][0]
    axes.legend(
        [box, median],
        [look.say("box: quartiles"), look.say("line: median")],
        loc="lower right",
        bbox_to_anchor=(1, 1),
        ncols=2,
        borderaxespad=0.2,
    )
