"""Ranks of models by a judge, with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from pfgen_rs.drawing.figures import finish
from pfgen_rs.drawing.style import COLOURS, GREY, Look, drawing
from pfgen_rs.drawing.words import Language
from pfgen_rs.errors import PlotError
from pfgen_rs.judge.agreement.ranking import rank
from pfgen_rs.judge.plots.kinds import LEVEL, POINTS, JudgePlotRequest, judge_plot
from pfgen_rs.report.plot_kinds import Drawn
from pfgen_rs.report.plots.inputs import drawable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST = 100  # models that are shown
_HEADINGS = {
    "strength": "Bradley–Terry strength (log-odds)",
    "win_rate": "Win rate",
    "soft_win_rate": "Win rate from probabilities",
}


def ranks(
    models: pl.DataFrame,
    *,
    value: str = "strength",
    title: str | None = None,
    language: Language = "en",
    font: str | None = None,
) -> Figure:
    """Draw a value of each model with its interval, and the ranks that are left open.

    `models`: columns `model`, and `strength`, `win_rate` or `soft_win_rate` (`value` chooses one) with
    `…_low` and `…_high`, and optionally `best_rank`, `worst_rank` (`agreement.ranking.rank`). The 100 best
    models are shown. Raises `PlotError` for an unknown value, and if no model has it.
    """
    if value not in _HEADINGS:
        raise PlotError(f"unknown value {value!r}: expected one of {', '.join(_HEADINGS)}")
    found = drawable(models, ["model"], [value]).sort(value, descending=True, maintain_order=True)
    shown = found.head(_MOST)
    with drawing(language, font) as look:
        figure = look.figure(title, "Models ranked by the judge", 8.2, 1.6 + 0.28 * len(shown))
        axes = figure.subplots()
        axes.axvline(0 if value == "strength" else 0.5, color=GREY, linewidth=1, linestyle=":")
        _rank_rows(axes, shown, value)
        axes.set_yticks(range(len(shown)), [look.name(name) for name in shown["model"]])
        axes.set_ylim(len(shown) - 0.4, -0.6)
        heading = look.say(_HEADINGS[value])
        axes.set_xlabel(f"{heading}{look.say(' (95 % interval)')}")
        axes.grid(visible=False, axis="y")
        _rank_ranges(axes, shown, look)
        told = ", ".join(
            f"{look.name(name)} {number:.3f}"
            for name, number in shown.select("model", value).rows()
        )
        return finish(figure, f"{heading}: {told}")


def _rank_rows(axes: Axes, shown: pl.DataFrame, value: str) -> None:
    for place, row in enumerate(shown.to_dicts()):
        low, high = row.get(f"{value}_low"), row.get(f"{value}_high")
        if low is not None and high is not None:
            axes.hlines(place, low, high, color=COLOURS[0], linewidth=1.6)
    axes.plot(shown[value].to_numpy(), range(len(shown)), "o", **POINTS)


def _rank_ranges(axes: Axes, shown: pl.DataFrame, look: Look) -> None:
    """Write the rank range of each model in a column on the right."""
    if not {"best_rank", "worst_rank"} <= set(shown.columns):
        return
    heading = look.say("rank range")
    axes.text(1.1, 1.0, heading, transform=axes.transAxes, ha="right", va="bottom", fontsize=8.5)
    at = axes.get_yaxis_transform()
    for place, (best, worst) in enumerate(shown.select("best_rank", "worst_rank").rows()):
        said = f"{best}" if best == worst else f"{best}–{worst}"
        axes.text(1.1, place, said, transform=at, ha="right", va="center_baseline", fontsize=8.5)


@judge_plot("ranks", "models with intervals and the ranks that are left open")
def draw_ranks(request: JudgePlotRequest) -> Drawn:
    """Draw the ranking of a folder."""
    request.only_folder("verdicts")
    value = request.choice.get("value", "strength")
    judges, notes = request.decisions()
    [decisions] = judges.values()
    found = rank(decisions, rule=request.rule, with_strengths=value == "strength", level=LEVEL)
    models = found.models
    if value not in ("strength", "win_rate"):  # the values that the rank ranges are about
        models = models.drop("best_rank", "worst_rank")
    return Drawn(ranks(models, value=value, **request.look), [*notes, *found.notes])
