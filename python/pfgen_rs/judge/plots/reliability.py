"""Reliability diagrams: are decisions as often right as their probabilities say."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from pfgen_rs.drawing.figures import finish
from pfgen_rs.drawing.style import COLOURS, GREY, INK, Look, drawing
from pfgen_rs.drawing.words import Language
from pfgen_rs.errors import PlotError
from pfgen_rs.judge.agreement.counts import judged, winner_probabilities
from pfgen_rs.judge.agreement.intervals import Calibration, calibration
from pfgen_rs.judge.plots.kinds import LEVEL, POINTS, JudgePlotRequest, judge_plot
from pfgen_rs.report.plot_kinds import Drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST = 9  # panels of a figure
_HEIGHTS = (3.0, 1.0)  # of the diagram and of its counts


def reliability(
    judges: Mapping[str, Calibration],
    *,
    title: str | None = None,
    language: Language = "en",
    font: str | None = None,
) -> Figure:
    """Draw for each judge how often its decisions are the raters' majority, in ten bins of probability.

    `judges`: by name (see `pfgen_rs.judge.agreement.intervals`). A point is the mean probability of a bin
    and the share of its pairs for which the decision is the majority, with the exact interval; bars below are
    the numbers of pairs. Raises `PlotError` if no pair has a probability and a majority.
    """
    if not judges:
        raise PlotError("nothing to draw: no judge")
    if len(judges) > _MOST:
        raise PlotError(f"too many judges for one figure: {len(judges)}, at most {_MOST}")
    if not any(found.pairs for found in judges.values()):
        raise PlotError("nothing to draw: no pair has a probability and a majority of raters")
    with drawing(language, font) as look:
        across = 2 if len(judges) == 4 else min(len(judges), 3)
        down = math.ceil(len(judges) / across)
        size = 0.5 + 3.9 * across, 0.8 + 4.3 * down
        figure = look.figure(title, "Reliability of decisions by probability", *size)
        outer = figure.add_gridspec(down, across)
        said = []
        for place, (name, found) in enumerate(judges.items()):
            part = outer[divmod(place, across)].subgridspec(2, 1, height_ratios=_HEIGHTS)
            above = figure.add_subplot(part[0])
            below = figure.add_subplot(part[1], sharex=above)
            _reliability_points(above, found)
            _reliability_counts(below, found)
            _label_reliability(above, below, look, first=place % across == 0)
            note = f"ECE = {found.error:.3f} (n = {found.pairs:,})"
            above.set_title(f"{look.name(name)}\n{note}", loc="left", fontsize=9)
            said.append(f"{look.name(name)}: {note}")
        return finish(figure, "; ".join(said))


def _reliability_points(axes: Axes, found: Calibration) -> None:
    axes.plot([0, 1], [0, 1], ":", color=GREY, linewidth=1, zorder=1)
    rows = [row for row in found.table.to_dicts() if row["pairs"]]
    x, y, low, high = (
        [row[name] for row in rows] for name in ("probability", "share", "low", "high")
    )
    axes.vlines(x, low, high, color=COLOURS[0], linewidth=1.6, alpha=0.6)
    axes.plot(x, y, "-o", **POINTS, linewidth=1, clip_on=False, zorder=3)
    axes.set(xlim=(0, 1), ylim=(0, 1))
    axes.tick_params(labelbottom=False)


def _reliability_counts(axes: Axes, found: Calibration) -> None:
    from matplotlib.ticker import MaxNLocator

    table = found.table
    left, width = table["from"].to_numpy(), (table["to"] - table["from"]).to_numpy()
    bars: Any = axes.bar(
        left, table["pairs"].to_numpy(), width * 0.94, align="edge", color=COLOURS[4]
    )
    labels = [f"{count:,}" if count else "" for count in table["pairs"]]
    axes.bar_label(bars, labels, fontsize=7, padding=1, color=INK)
    axes.margins(y=0.25)
    axes.set_ylim(bottom=0)
    axes.grid(visible=False, axis="x")
    axes.yaxis.set_major_locator(MaxNLocator(3, integer=True))


def _label_reliability(above: Axes, below: Axes, look: Look, *, first: bool) -> None:
    below.set_xlabel(look.say("Probability of the decision"))
    if first:
        above.set_ylabel(look.say("Share equal to the raters' majority"))
        below.set_ylabel(look.say("Pairs"))


@judge_plot(
    "reliability",
    "how often decisions by probability are the raters' majority, in ten bins of probability",
)
def draw_reliability(request: JudgePlotRequest) -> Drawn:
    """Draw the calibration of each judge."""
    judges, notes = request.decisions()
    humans = request.verdicts_of_people(judges)
    if humans is None:
        raise PlotError("a reliability diagram needs verdicts of people: --humans FILE")
    found = {name: _calibration_of(table, humans) for name, table in judges.items()}
    return Drawn(reliability(found, **request.look), notes)


def _calibration_of(decisions: pl.DataFrame, humans: pl.DataFrame) -> Calibration:
    own = humans.join(decisions.select("pair"), on="pair", how="semi", maintain_order="left")
    data = judged(decisions, own)
    probabilities = winner_probabilities(decisions)
    return calibration(data.decided["probability"], probabilities, data.verdicts, LEVEL)
