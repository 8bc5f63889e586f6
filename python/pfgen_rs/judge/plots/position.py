"""Position bias of judges, as bars."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pfgen_rs.drawing.figures import finish
from pfgen_rs.drawing.style import COLOURS, INK, drawing
from pfgen_rs.drawing.words import Language
from pfgen_rs.errors import PlotError
from pfgen_rs.judge.agreement.intervals import Share, position_bias_of_codes
from pfgen_rs.judge.decision_columns import column_codes
from pfgen_rs.judge.plots.kinds import LEVEL, JudgePlotRequest, judge_plot
from pfgen_rs.report.plot_kinds import Drawn

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST = 60  # judges that are shown


def position_bars(
    judges: Mapping[str, Share],
    *,
    title: str | None = None,
    language: Language = "en",
    font: str | None = None,
) -> Figure:
    """Draw for each judge which answer wins in pairs that flip: the one shown first or the one shown second.

    `judges`: by name, the share of flipping pairs that the first answer wins in both orders
    (`pfgen_rs.judge.agreement.intervals`), drawn with its exact interval. Without position bias it is 1/2.
    Raises `PlotError` if no pair flips.
    """
    from matplotlib.patches import Patch

    shown = dict(list(judges.items())[:_MOST])
    if not any(found.n for found in shown.values()):
        raise PlotError("nothing to draw: no pair flips between winners")
    with drawing(language, font) as look:
        figure = look.figure(title, "Position bias", 8.2, 2.0 + 0.5 * len(shown))
        axes = figure.subplots()
        for place, found in enumerate(shown.values()):
            if found.n:
                share, (low, high) = found.value, (found.interval.low, found.interval.high)
                axes.barh(place, share, 0.62, color=COLOURS[5])
                axes.barh(place, 1 - share, 0.62, left=share, color=COLOURS[4])
                error: Any = [[share - low], [high - share]]
                axes.errorbar([share], [place], xerr=error, color=INK, capsize=3, linewidth=1.4)
        axes.axvline(0.5, color=INK, linewidth=1, linestyle=":")
        names = [f"{look.name(name, 36)}\nn = {found.n:,}" for name, found in shown.items()]
        axes.set_yticks(range(len(shown)), names)
        axes.set(xlim=(0, 1), ylim=(len(shown) - 0.5, -0.5))
        axes.set_xlabel(look.say("Share of pairs that flip between winners (95 % interval)"))
        axes.grid(visible=False, axis="y")
        handles = [Patch(color=colour) for colour in (COLOURS[5], COLOURS[4])]
        labels = [look.say(text) for text in ("first answer wins", "second answer wins")]
        figure.legend(handles, labels, loc="outside lower center", ncols=2)
        told = "; ".join(
            f"{look.name(name)}: {found.count} / {found.n}" for name, found in shown.items()
        )
        return finish(figure, told)


@judge_plot("position", "which answer wins in pairs that flip with the order")
def draw_position(request: JudgePlotRequest) -> Drawn:
    """Draw the position bias of each judge."""
    judges, notes = request.decisions()
    shares = {
        name: position_bias_of_codes(column_codes(table["v1"]), column_codes(table["v2"]), LEVEL)
        for name, table in judges.items()
    }
    return Drawn(position_bars(shares, **request.look), notes)
