"""Scores of runs by task, as a heat map."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from pfgen_rs.drawing.figures import finish, fixed
from pfgen_rs.drawing.style import INK, Look, drawing
from pfgen_rs.drawing.words import Language
from pfgen_rs.errors import PlotError
from pfgen_rs.llm_jp_eval.report.plots.stars import star_text, starred_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pfgen_rs.llm_jp_eval.report.columns import Column
    from pfgen_rs.llm_jp_eval.report.report import Report

__all__ = ["MOST_ROWS", "task_map"]

MOST_ROWS = 60
"""Runs on a map."""


def task_map(
    report: Report,
    *,
    title: str | None = None,
    language: Language = "en",
    font: str | None = None,
) -> Figure:
    """Draw the score of each run in each task, in the order of the categories, the average first.

    jsts is Pearson's correlation. The 60 best runs are shown. Raises `PlotError` if there is nothing to draw.
    """
    runs = report.runs[:MOST_ROWS]
    columns = [c for c in report.of_kind("task") if c.metric != "spearman"]
    if not columns:
        raise PlotError("nothing to draw: no run has a task")
    [average] = report.of_kind("average")
    if any(report.estimates[run][average.name].value is not None for run in runs):
        columns = [average, *columns]
    with drawing(language, font) as look:
        width, height = 3.9 + 0.5 * len(columns), 2.2 + 0.25 * len(runs)
        figure = look.figure(title, "Scores by task", width, height)
        axes = figure.subplots()
        _task_cells(figure, axes, report, runs, columns, look)
        labels = [_task_label(report, column, look) for column in columns]
        axes.set_xticks(range(len(columns)), labels, rotation=40, ha="left", rotation_mode="anchor")
        axes.set_yticks(range(len(runs)), [look.name(run, 36) for run in runs])
        for place, (one, other) in enumerate(pairwise(columns)):
            if _home_of_column(one) != _home_of_column(other):
                axes.axvline(place + 0.5, color="white", linewidth=3)
        if told := star_text(report, columns, look):
            figure.supxlabel(told, fontsize=9)
        return finish(figure, f"{look.say('Runs')}: {len(runs)} / {len(report.runs)}")


def _task_label(report: Report, column: Column, look: Look) -> str:
    return column.parts[0].task if column.is_correlation else starred_name(report, column, look)


def _home_of_column(column: Column) -> str:
    return column.name if column.kind == "average" else column.parts[0].category


def _task_cells(
    figure: Figure,
    axes: Axes,
    report: Report,
    runs: Sequence[str],
    columns: Sequence[Column],
    look: Look,
) -> None:
    found = [[report.estimates[run][column.name].value for column in columns] for run in runs]
    values = np.array([[math.nan if v is None else v for v in row] for row in found])
    image: Any = axes.imshow(values, cmap="cividis", vmin=0, vmax=1, aspect="auto")
    for row, column in zip(*np.nonzero(np.isfinite(values)), strict=True):
        value = values[row, column]
        axes.text(
            column,
            row,
            fixed(value, 2),
            ha="center",
            va="center_baseline",
            fontsize=7.5,
            color="white" if value < 0.5 else INK,
        )
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    bar = figure.colorbar(image, ax=axes, shrink=0.7, aspect=25, pad=0.01)
    bar.set_label(look.say("Score"))
    bar.outline.set_visible(False)
