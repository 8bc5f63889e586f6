"""`pfgen-rs llm-jp-eval report` and `plot`: tables, pages and figures of runs."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pfgen_rs.cli import llm_jp_eval as shared
from pfgen_rs.cli import options, output, streams
from pfgen_rs.cli.app import is_folder_there
from pfgen_rs.cli.plot import Font, Language, LanguageName, Title, plot_file_path


class ReportFormat(StrEnum):
    """Output for people, for programs, for spreadsheets, or for READMEs."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"


ReportRuns = Annotated[
    list[Path],
    typer.Argument(
        metavar="RUN…",
        help="Folders of runs or of `score --out`, or result files, also those of llm-jp-eval itself.",
        show_default=False,
    ),
]


def _report_page_path(path: Path | None) -> Path | None:
    if path is not None and not is_folder_there(path):
        raise typer.BadParameter(f"{path.parent}: not a directory")
    return path


def report(
    runs: ReportRuns,
    tasks: shared.TaskNames = None,
    by_task: Annotated[
        bool, typer.Option("--by-task", help="Show tasks instead of categories.")
    ] = False,
    average: shared.Average = shared.AverageName.AVR,
    level: options.Level = 0.95,
    seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="Seed of the permutation tests.")
    ] = 0,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="PATH",
            callback=_report_page_path,
            help="Also write a web page with all samples: a single file if PATH ends in .html, otherwise a "
            "folder, which suits many samples.",
            show_default=False,
        ),
    ] = None,
    output_format: Annotated[
        ReportFormat, typer.Option("--format", "-f", help="Output format.")
    ] = ReportFormat.TABLE,
) -> None:
    """Report on runs: averages, categories and tasks with intervals, and every two runs compared.

    Runs are compared sample by sample, over the samples that all of them have. Differences of tasks with
    exact_match are tested by McNemar's exact test, those with char_f1 or set_f1 by random signs, categories
    of several tasks and averages by Student's t, all with Holm's correction. Ranks are those that the tests
    of the average cannot rule out. Categories are means of the tasks that were run; AVR needs all of its
    seven categories, and AVG counts those that were not run as 0.

    For example:

    - `pfgen-rs llm-jp-eval report runs/a runs/b`

    - `pfgen-rs llm-jp-eval report runs/* --by-task --format csv`

    - `pfgen-rs llm-jp-eval report runs/a other/result.json --html report.html`
    """
    from pfgen_rs.cli.llm_jp_eval_report_view import jpeval_report
    from pfgen_rs.llm_jp_eval.report.pages import report_markdown
    from pfgen_rs.llm_jp_eval.report.report import report_of
    from pfgen_rs.llm_jp_eval.report.runs import read_report_runs

    chosen = shared.task_names(tasks)
    with output.busy("comparing runs"):
        read = read_report_runs(runs)
        found = report_of(read, average=average.value, tasks=chosen, level=level, seed=seed)
    if html is not None:
        from pfgen_rs.llm_jp_eval.report.pages import write_report_page

        with output.busy(f"writing {html}"):
            write_report_page(found, read, html)
    if output_format is ReportFormat.MARKDOWN:
        streams.emit(report_markdown(found, by_task=by_task))
        return
    if output_format is ReportFormat.JSON:
        streams.emit_json(found.to_dict())
        return
    for note in found.notes:
        streams.warn(note)
    if output_format is ReportFormat.CSV:
        streams.emit_csv(found.tables()["scores"].to_dicts())
    else:
        output.show(*jpeval_report(found, by_task=by_task, room=output.width()))


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
    from pfgen_rs.drawing.figures import save
    from pfgen_rs.drawing.style import NEEDED, available
    from pfgen_rs.errors import OutputError
    from pfgen_rs.llm_jp_eval.report.report import report_of
    from pfgen_rs.llm_jp_eval.report.runs import read_report_runs

    if not available():  # before anything is read
        raise OutputError(NEEDED)
    from pfgen_rs.llm_jp_eval.report import plots

    chosen = shared.task_names(tasks)
    found = report_of(read_report_runs(runs), average=average.value, tasks=chosen)
    figure = plots.draw(kind.value, found, title=title, language=language.value, font=font)
    save(figure, out)
    most = plots.MOST_RUNS.get(kind.value, len(found.runs))
    if len(found.runs) > most:
        streams.warn(f"only the {most} best of {len(found.runs)} runs are shown")
