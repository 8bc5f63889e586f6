"""`pfgen-rs llm-jp-eval plot`: figures about runs as SVG or PNG."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pfgen_rs.cli import llm_jp_eval_options as shared
from pfgen_rs.cli import output
from pfgen_rs.cli.llm_jp_eval_report import ReportRuns
from pfgen_rs.cli.plot import Font, Language, LanguageName, Title, plot_file_path

__all__ = ["TaskFigure", "plot"]


class TaskFigure(StrEnum):
    """The type of figure."""

    RADAR = "radar"
    BARS = "bars"
    TASKS = "tasks"


def plot(
    kind: Annotated[TaskFigure, typer.Argument(metavar="KIND", help="One of the figures below.")],
    runs: ReportRuns,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            callback=plot_file_path,
            help="File to write: .svg or .png.",
            show_default=False,
        ),
    ],
    tasks: shared.TaskNames = None,
    average: shared.Average = shared.AverageName.AVR,
    title: Title = None,
    language: Language = LanguageName.ENGLISH,
    font: Font = None,
) -> None:
    """Plot runs. Requires matplotlib (`pip install 'pfgen_rs[plots]'`).

    The figures, by KIND:

    - `radar`: categories as axes around a centre, for up to 14 runs

    - `bars`: the average and each category, with intervals, for the 40 best runs

    - `tasks`: a heat map of runs and tasks, for the 60 best runs

    For example:

    - `pfgen-rs llm-jp-eval plot radar runs/a runs/b --out radar.svg`

    - `pfgen-rs llm-jp-eval plot bars runs/* --out bars.png --language ja`
    """
    from pfgen_rs.drawing.style import NEEDED, available
    from pfgen_rs.errors import OutputError
    from pfgen_rs.llm_jp_eval.report.read import read_report_runs
    from pfgen_rs.llm_jp_eval.report.report import report_of

    if not available():  # before anything is read
        raise OutputError(NEEDED)
    from pfgen_rs.llm_jp_eval.report import plots

    chosen = shared.task_names(tasks)
    found = report_of(read_report_runs(runs), average=average.value, tasks=chosen)
    figure = plots.draw(kind.value, found, title=title, language=language.value, font=font)
    plots.save(figure, out)
    most = plots.MOST_RUNS.get(kind.value, len(found.runs))
    if len(found.runs) > most:
        output.warn(f"only the {most} best of {len(found.runs)} runs are shown")
