"""Categories of runs on a radar chart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pfgen_rs.drawing.figures import finish
from pfgen_rs.drawing.style import COLOURS, DASHES, GREY, MARKERS, Look, drawing
from pfgen_rs.drawing.words import Language
from pfgen_rs.errors import PlotError
from pfgen_rs.llm_jp_eval.report.plots.stars import star_text, starred_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pfgen_rs.llm_jp_eval.report.columns import Column
    from pfgen_rs.llm_jp_eval.report.report import Report

__all__ = ["radar"]

_MOST = 14  # runs whose lines can be followed
_FEWEST_AXES = 3
_FILLED = 3  # runs up to which areas are filled


def radar(
    report: Report,
    *,
    title: str | None = None,
    language: Language = "en",
    font: str | None = None,
) -> Figure:
    """Draw the categories of runs as axes around a centre, from 0 to 1; STS is Pearson's correlation.

    Categories that no run has are left out; a line is open where its run lacks one. Correlations below 0 are
    drawn at 0. Raises `PlotError` for more than 14 runs and for fewer than three categories.
    """
    columns = _radar_columns(report)
    if len(report.runs) > _MOST:
        raise PlotError(
            f"too many runs for one radar chart: {len(report.runs)}, at most {_MOST} (bars and tasks show "
            "more)"
        )
    if len(columns) < _FEWEST_AXES:
        raise PlotError(
            f"a radar chart needs at least {_FEWEST_AXES} categories, found {len(columns)}: draw bars instead"
        )
    with drawing(language, font) as look:
        figure = look.figure(title, "Scores by category", 7.4, 6.4 + 0.24 * len(report.runs))
        axes: Any = figure.add_subplot(projection="polar")
        _radar_grid(axes, columns, report, look)
        for place, run in enumerate(report.runs):
            _radar_line(
                axes,
                place,
                _radar_values(report, run, columns),
                look.name(run, 60),
                len(report.runs),
            )
        across = 1 if max(map(len, report.runs)) > 28 else 2
        legend = figure.legend(loc="outside lower center", ncols=min(across, len(report.runs)))
        if told := star_text(report, columns, look):
            legend.set_title(told)
            legend.get_title().set_fontsize(9)
        return finish(figure, _radar_description(report, columns, look))


def _radar_columns(report: Report) -> list[Column]:
    return [
        column
        for column in report.of_kind("category")
        if column.metric != "spearman"
        and any(report.estimates[run][column.name].value is not None for run in report.runs)
    ]


def _radar_values(report: Report, run: str, columns: Sequence[Column]) -> list[float]:
    found = [report.estimates[run][column.name].value for column in columns]
    return [math.nan if value is None else max(value, 0.0) for value in found]


def _radar_grid(axes: Any, columns: Sequence[Column], report: Report, look: Look) -> None:
    axes.set_theta_offset(math.pi / 2)
    axes.set_theta_direction(-1)
    labels = [starred_name(report, column, look) for column in columns]
    axes.set_xticks(_radar_angles(len(columns)), labels, fontsize=11)
    axes.tick_params(axis="x", pad=8)
    axes.set_ylim(0, 1)
    axes.set_yticks([0.2, 0.4, 0.6, 0.8, 1.0], ["0.2", "0.4", "0.6", "0.8", "1.0"], color=GREY)
    axes.set_rlabel_position(180 / len(columns))


def _radar_angles(number: int) -> list[float]:
    return [2 * math.pi * place / number for place in range(number)]


def _radar_line(axes: Any, place: int, values: Sequence[float], label: str, runs: int) -> None:
    angles = _radar_angles(len(values))
    colour = COLOURS[place % len(COLOURS)]
    around = [*angles, angles[0]], [*values, values[0]]
    axes.plot(
        *around,
        color=colour,
        linestyle=DASHES[place // len(COLOURS) % len(DASHES)],
        marker=MARKERS[place % len(MARKERS)],
        markersize=4.5,
        linewidth=1.8,
        label=label,
        clip_on=False,
        zorder=3,
    )
    if runs <= _FILLED and not any(map(math.isnan, values)):
        axes.fill(*around, color=colour, alpha=0.08, linewidth=0)


def _radar_description(report: Report, columns: Sequence[Column], look: Look) -> str:
    told = []
    for run in report.runs:
        found = [
            (look.name(column.name), report.estimates[run][column.name].value) for column in columns
        ]
        values = ", ".join(f"{name} {value:.3f}" for name, value in found if value is not None)
        told.append(f"{look.name(run)}: {values}")
    return "; ".join(told)
