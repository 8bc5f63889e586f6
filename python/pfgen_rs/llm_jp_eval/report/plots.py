"""Figures of runs (requires the extra `plots`): a radar chart, and bars with intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pfgen_rs.drawing.figures import finish
from pfgen_rs.drawing.style import COLOURS, DASHES, GREY, INK, MARKERS, Language, Look, drawing
from pfgen_rs.errors import PlotError
from pfgen_rs.llm_jp_eval.report.columns import Column
from pfgen_rs.llm_jp_eval.report.report import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pfgen_rs.llm_jp_eval.report.columns import ColumnEstimate


# Marks of categories that lack some of their tasks.


def starred_name(report: Report, column: Column, look: Look) -> str:
    """Returns the name of a column, with a star if a run's value lacks some of the tasks."""
    return f"{look.name(column.name)}{'*' if _is_partial(report, column) else ''}"


def star_text(report: Report, columns: Sequence[Column], look: Look) -> str:
    """Returns what stars say; nothing if no column has one."""
    if not any(_is_partial(report, column) for column in columns):
        return ""
    return look.say("* some tasks were not run")


def _drawn_columns(report: Report, runs: Sequence[str], *kinds: str) -> list[Column]:
    """Returns the columns of these kinds that some run has a value for, without Spearman's correlation."""
    return [
        column
        for kind in kinds
        for column in report.of_kind(kind)
        if column.metric != "spearman"
        and any(report.estimates[run][column.name].value is not None for run in runs)
    ]


def _is_partial(report: Report, column: Column) -> bool:
    return any(report.estimates[run][column.name].partial for run in report.runs)


# The average and the categories of runs, as bars with intervals.


MOST_BARS = 40
"""Runs that are shown."""
_ACROSS = 3


def bars(
    report: Report, *, title: str | None = None, language: Language = "en", font: str | None = None
) -> Figure:
    """Draw a panel for the average and one for each category, with a bar and an interval for each run.

    The 40 best runs are shown; panels that no run has a value for are left out. STS is Pearson's
    correlation, and its panel begins at -1 if one is negative. Raises `PlotError` without any value.
    """
    runs = report.runs[:MOST_BARS]
    columns = _drawn_columns(report, runs, "average", "category")
    if not columns:
        raise PlotError("nothing to draw: no run has a category")
    with drawing(language, font) as look:
        figure = _bar_panels(report, runs, columns, title, look)
        figure.supxlabel(_bars_label(report, columns, look), fontsize=10)
        return finish(figure, _description(report, runs, columns, look, bounds=True))


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
    label = look.say("Score (95 % interval)")
    told = star_text(report, columns, look)
    return f"{label}    {told}" if told else label


def _bar_panel(axes: Axes, report: Report, runs: Sequence[str], column: Column, look: Look) -> None:
    found = [report.estimates[run][column.name] for run in runs]
    for place, each in enumerate(found):
        if each.value is not None:
            _bar(axes, place, each, _bar_colour(column))
    axes.set_title(starred_name(report, column, look), loc="left", fontweight="bold")
    axes.set_xlim(_bars_start(found), 1)
    axes.grid(visible=False, axis="y")


def _bar_colour(column: Column) -> str:
    return COLOURS[1] if column.kind == "average" else COLOURS[0]


def _bars_start(found: Sequence[ColumnEstimate]) -> float:
    lowest = [min(each.value, each.low or 0.0) for each in found if each.value is not None]
    return -1.0 if min(lowest) < 0 else 0.0


def _bar(axes: Axes, place: int, found: ColumnEstimate, colour: str) -> None:
    value = found.value or 0.0
    axes.barh(place, value, 0.66, color=colour, alpha=0.55)
    if found.low is None or found.high is None:
        return
    reach: Any = [[max(value - found.low, 0.0)], [max(found.high - value, 0.0)]]
    axes.errorbar([value], [place], xerr=reach, color=INK, capsize=2, linewidth=1.2)


def _description(
    report: Report, runs: Sequence[str], columns: Sequence[Column], look: Look, *, bounds: bool
) -> str:
    """Returns the values in words, for those who do not see the figure."""
    told = []
    for run in runs:
        values = []
        for column in columns:
            found = report.estimates[run][column.name]
            if found.value is not None:
                interval = f" [{found.low:.3f}, {found.high:.3f}]" if found.low is not None else ""
                values.append(
                    f"{look.name(column.name)} {found.value:.3f}{interval if bounds else ''}"
                )
        told.append(f"{look.name(run)}: {', '.join(values)}")
    return "; ".join(told)


# Categories of runs on a radar chart.


_MOST = 14  # runs whose lines can be followed
_FEWEST_AXES = 3
_FILLED = 3  # runs up to which areas are filled


def radar(
    report: Report, *, title: str | None = None, language: Language = "en", font: str | None = None
) -> Figure:
    """Draw the categories of runs as axes around a centre, from 0 to 1; STS is Pearson's correlation.

    Categories that no run has are left out; a line is open where its run lacks one. Correlations below 0 are
    drawn at 0. Raises `PlotError` for more than 14 runs and for fewer than three categories.
    """
    columns = _drawn_columns(report, report.runs, "category")
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
        return finish(figure, _description(report, report.runs, columns, look, bounds=False))


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


KINDS: Mapping[str, Callable[..., Figure]] = MappingProxyType({"radar": radar, "bars": bars})
"""Figures by name."""
