"""The average and the categories of runs, as bars with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pfgen_rs.drawing.figures import finish
from pfgen_rs.drawing.style import COLOURS, INK, Look, drawing
from pfgen_rs.drawing.words import Language
from pfgen_rs.errors import PlotError
from pfgen_rs.llm_jp_eval.report.plots.stars import star_text, starred_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pfgen_rs.llm_jp_eval.report.columns import Column
    from pfgen_rs.llm_jp_eval.report.estimates import ColumnEstimate
    from pfgen_rs.llm_jp_eval.report.report import Report

__all__ = ["MOST_BARS", "bars"]

MOST_BARS = 40
"""Runs that are shown."""
_ACROSS = 3


def bars(
    report: Report,
    *,
    title: str | None = None,
    language: Language = "en",
    font: str | None = None,
) -> Figure:
    """Draw a panel for the average and one for each category, with a bar and an interval for each run.

    The 40 best runs are shown; panels that no run has a value for are left out. STS is Pearson's
    correlation, and its panel begins at -1 if one is negative. Raises `PlotError` without any value.
    """
    runs = report.runs[:MOST_BARS]
    columns = [
        column
        for column in (*report.of_kind("average"), *report.of_kind("category"))
        if column.metric != "spearman"
        and any(report.estimates[run][column.name].value is not None for run in runs)
    ]
    if not columns:
        raise PlotError("nothing to draw: no run has a category")
    with drawing(language, font) as look:
        draw = _single_run_bars if len(runs) == 1 else _bar_panels
        figure = draw(report, runs, columns, title, look)
        figure.supxlabel(_bars_label(report, columns, look), fontsize=10)
        return finish(figure, _bars_description(report, runs, columns, look))


def _single_run_bars(
    report: Report, runs: Sequence[str], columns: Sequence[Column], title: str | None, look: Look
) -> Figure:
    figure = look.figure(title, "Scores by category", 6.8, 1.6 + 0.3 * len(columns))
    axes = figure.subplots()
    found = [report.estimates[runs[0]][column.name] for column in columns]
    for place, (column, each) in enumerate(zip(columns, found, strict=True)):
        _bar_with_interval(axes, place, each, _bar_colour(column))
    labels = [starred_name(report, column, look) for column in columns]
    axes.set_yticks(range(len(columns)), labels)
    axes.set_ylim(len(columns) - 0.4, -0.6)
    axes.set_xlim(_bars_start(found), 1)
    axes.set_title(look.name(runs[0], 60), loc="left")
    axes.grid(visible=False, axis="y")
    return figure


def _bar_panels(
    report: Report, runs: Sequence[str], columns: Sequence[Column], title: str | None, look: Look
) -> Figure:
    across = min(_ACROSS, len(columns))
    down = math.ceil(len(columns) / across)
    height = 1.3 + down * (0.75 + 0.27 * len(runs))
    figure = look.figure(title, "Scores by category", 3.2 + 2.35 * across, height)
    panels = figure.subplots(down, across, squeeze=False, sharey=True)
    for place, axes in enumerate(panels.flat):
        if place < len(columns):
            _bar_panel(axes, report, runs, columns[place], look)
        else:
            axes.set_visible(False)
    panels[0, 0].set_yticks(range(len(runs)), [look.name(run, 34) for run in runs])
    panels[0, 0].set_ylim(len(runs) - 0.4, -0.6)
    return figure


def _bars_label(report: Report, columns: Sequence[Column], look: Look) -> str:
    label = look.say("Score (95 % interval)" if report.level == 0.95 else "Score")
    told = star_text(report, columns, look)
    return f"{label}    {told}" if told else label


def _bar_panel(axes: Axes, report: Report, runs: Sequence[str], column: Column, look: Look) -> None:
    found = [report.estimates[run][column.name] for run in runs]
    for place, each in enumerate(found):
        if each.value is not None:
            _bar_with_interval(axes, place, each, _bar_colour(column))
    axes.set_title(starred_name(report, column, look), loc="left", fontweight="bold")
    axes.set_xlim(_bars_start(found), 1)
    axes.grid(visible=False, axis="y")


def _bar_colour(column: Column) -> str:
    return COLOURS[1] if column.kind == "average" else COLOURS[0]


def _bars_start(found: Sequence[ColumnEstimate]) -> float:
    lowest = [min(each.value, each.low or 0.0) for each in found if each.value is not None]
    return -1.0 if min(lowest) < 0 else 0.0


def _bar_with_interval(axes: Axes, place: int, found: ColumnEstimate, colour: str) -> None:
    value = found.value or 0.0
    axes.barh(place, value, 0.66, color=colour, alpha=0.55)
    if found.low is None or found.high is None:
        return
    reach: Any = [[max(value - found.low, 0.0)], [max(found.high - value, 0.0)]]
    axes.errorbar([value], [place], xerr=reach, color=INK, capsize=2, linewidth=1.2)


def _bars_description(
    report: Report, runs: Sequence[str], columns: Sequence[Column], look: Look
) -> str:
    told = []
    for run in runs:
        values = []
        for column in columns:
            found = report.estimates[run][column.name]
            if found.value is None:
                continue
            bounds = "" if found.low is None else f" [{found.low:.3f}, {found.high:.3f}]"
            values.append(f"{look.name(column.name)} {found.value:.3f}{bounds}")
        told.append(f"{look.name(run)}: {', '.join(values)}")
    return "; ".join(told)
