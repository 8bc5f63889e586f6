"""`pfgen-rs llm-jp-eval report` and `plot`: tables, pages and figures of runs."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import RenderableType
from rich.table import Table

from pfgen_rs import lazy
from pfgen_rs.cli import app, llm_jp_eval, process, terminal
from pfgen_rs.cli.plot import Font, Language, PlotOut, Title
from pfgen_rs.io.text import counted, plural
from pfgen_rs.stats import permutation

if TYPE_CHECKING:
    from pfgen_rs.llm_jp_eval.diagnosis import Diagnosis
    from pfgen_rs.llm_jp_eval.report import pages, report as reports
    from pfgen_rs.llm_jp_eval.report.comparing import Column, ColumnEstimate, ColumnPair
else:
    pages = lazy.module("pfgen_rs.llm_jp_eval.report.pages")
    reports = lazy.module("pfgen_rs.llm_jp_eval.report.report")

_VALUE_WIDTH = 5
_INTERVALS = "intervals: over samples (Student's t; exact_match: Wilson's; STS: jackknife)"
_DIFFERENCES = "intervals of differences: Student's t; exact_match: Bonett and Price's"
_CORRECTED = "p (Holm): corrected for {}; bold: significantly different"
_DETECTABLE = "detectable: the difference that the test of a pair detects with 80 % power"
_LOST = "lost to form"
_HEADINGS = {"all": "several", "form": "any form"}
_DIAGNOSIS = (
    "% of answers, each counted by the first reading that makes it right",
    "scores do not count forms; columns after 'wrong' say what wrong answers are",
)
_NEIGHBOURS = "only runs with adjacent averages are compared: use --format json for all pairs"


ReportRuns = Annotated[
    list[Path],
    typer.Argument(
        metavar="RUN…",
        help="Folders of runs or of `score --out`, or result files, also those of llm-jp-eval itself.",
        show_default=False,
    ),
]


def _page_path(path: Path | None) -> Path | None:
    if path is not None and not app.is_folder_there(path):
        raise typer.BadParameter(f"{path.parent}: not a directory")
    return path


def report(
    runs: ReportRuns,
    tasks: llm_jp_eval.TaskNames = None,
    task_folder: llm_jp_eval.TaskFolders = None,
    by_task: Annotated[
        bool, typer.Option("--by-task", help="Show tasks instead of categories.")
    ] = False,
    average: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="An average of the profile (default: its main one). 1.3.0 has AVR, the mean of the paper's "
            "seven categories, and AVG, of version 1.3.0's nine.",
            show_default=False,
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="PATH",
            callback=_page_path,
            help="Also write a web page with all samples: a single file if PATH ends in .html, otherwise a "
            "folder, which suits many samples.",
            show_default=False,
        ),
    ] = None,
    output_format: Annotated[
        Literal["table", "json", "csv", "markdown"],
        typer.Option("--format", "-f", help="Output format."),
    ] = "table",
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
    from pfgen_rs.llm_jp_eval.registry import chosen_tasks
    from pfgen_rs.llm_jp_eval.report.runs import read_report_runs

    llm_jp_eval.add_folders(task_folder)
    wanted = llm_jp_eval.listed_names(tasks)
    chosen = [task.name for task in chosen_tasks(wanted)] if wanted else None
    with terminal.busy("comparing runs"):
        read = read_report_runs(runs)
        found = reports.report_of(read, average=average, tasks=chosen)
    if html is not None:
        with terminal.busy(f"writing {html}"):
            pages.write_report_page(found, read, html)
    if output_format == "json":
        process.emit_json(found.to_dict())
        return
    for note in found.notes:
        process.warn(note)
    if output_format == "csv":
        process.emit_csv(found.score_rows())
    else:
        parts = _report_parts(found, by_task=by_task, room=terminal.width())
        if output_format == "markdown":
            process.emit(terminal.markdown(*parts))
        else:
            terminal.show(*parts)


def _report_parts(report: reports.Report, *, by_task: bool, room: int) -> list[RenderableType]:
    """Returns tables of runs, columns and pairs for a window of `room` columns, with captions.

    Several runs are numbered by descending average, and tables refer to them by number.
    """
    columns = report.of_kind("task" if by_task else "category") or report.of_kind("task")
    if len(report.runs) == 1:
        parts: list[RenderableType] = [_single_table(report, columns)]
    else:
        choices = [_runs_table(report, count) for count in (3, 2)]
        parts = [terminal.first_that_fits(*choices)]
        tables = [] if by_task else [_category_table(report, columns, n) for n in (True, False)]
        fitting = [table for table in tables if terminal.fits(table, room)]
        parts += fitting[:1] or _task_tables(report, columns, room)
        parts += _pair_parts(report, columns)
    for run, own in report.profiles.items():
        tables = list(profile_tables(own, run if len(report.runs) > 1 else ""))
        parts += tables if len(report.runs) == 1 else tables[-1:]
    main = next((name for own in report.profiles.values() for name in own), "")
    parts += _diagnosis_parts(report.diagnoses, f"{_LOST} in {main}" if main else _LOST)
    parts.append(terminal.cell(_INTERVALS))
    signatures = dict.fromkeys(filter(None, report.signatures.values()))
    return [*parts, *(terminal.cell(each) for each in signatures)]


def _value_headings(report: reports.Report) -> list[str]:
    return [report.average, "95 % interval", "SE"]


def _value_cells(found: "ColumnEstimate") -> list[str]:
    bounds = pages.bounds_text(found.low, found.high)
    return [pages.value_text(found), bounds, "" if found.se is None else f"{found.se:.4f}"]


def _single_table(report: reports.Report, columns: "Sequence[Column]") -> Table:
    [run] = report.runs
    headings = ["value", *_value_headings(report)[1:], "samples"]
    rows = []
    for column in (*report.of_kind("average"), *columns):
        found = report.estimates[run][column.name]
        rows.append(
            [column.name, *_value_cells(found), f"{found.samples:,}" if found.samples else ""]
        )
    return terminal.new_table("", *headings, numbers=headings, title=run, rows=rows)


def _runs_table(report: reports.Report, count: int) -> Table:
    """Returns the table of runs, with the first `count` of average, interval and standard error."""
    samples = [n for column in report.of_kind("task") for n in report.own_samples(column)]
    ranked = any(report.ranks.values())
    before = ["no.", *(["ranks"] if ranked else [])]
    values = _value_headings(report)[:count] if report.average else []
    rows = []
    for number, run in enumerate(report.runs, 1):
        ranks = [pages.rank_text(report.ranks[run])] if ranked else []
        own = report.estimates[run].get(report.average)
        rows.append([number, *ranks, run, *(_value_cells(own)[:count] if own else [])])
    title = ", ".join(filter(None, (report.average, reports.per_task(samples))))
    numbers = [*before, *values]
    return terminal.new_table(
        *before, "run", *values, numbers=numbers, names=["run"], title=title, rows=rows
    )


def _category_table(report: reports.Report, columns: "Sequence[Column]", with_names: bool) -> Table:
    before = ["no.", *(["run"] if with_names else [])]
    table = terminal.new_table(*before, numbers=["no."], names=["run"], title="categories")
    # Correlations have short headings, so that all categories fit 80 columns.
    for column in columns:
        table.add_column(column.name.replace(" ", "\n"), justify="right", no_wrap=True)
    for number, run in enumerate(report.runs, 1):
        found = report.estimates[run]
        values = [pages.value_text(found[column.name], 3) for column in columns]
        table.add_row(*map(terminal.cell, [number, *([run] if with_names else []), *values]))
    return table


def _task_tables(report: reports.Report, columns: "Sequence[Column]", room: int) -> Iterator[Table]:
    """Yield values by task and number of the run, in tables that fit."""
    left = room - terminal.table_width(_task_table(report, columns, []))
    fitting = max(1, left // (_VALUE_WIDTH + terminal.GAP))
    numbers = range(len(report.runs))
    for start in range(0, len(report.runs), fitting):
        yield _task_table(report, columns, numbers[start : start + fitting])


def _task_table(
    report: reports.Report, columns: "Sequence[Column]", places: Sequence[int]
) -> Table:
    headings = ["samples", *(str(place + 1) for place in places)]
    rows = []
    for column in columns:
        found = [report.estimates[report.runs[place]][column.name] for place in places]
        values = [pages.value_text(each, 3) for each in found]
        rows.append([column.name, report.samples_text(column), *values])
    kind = "task" if columns[0].kind == "task" else "category"
    title = f"{'tasks' if kind == 'task' else 'categories'}, by run number"
    table = terminal.new_table(kind, *headings, numbers=headings, title=title, rows=rows)
    table.columns[0].no_wrap = True
    return table


def _pair_parts(report: reports.Report, columns: "Sequence[Column]") -> Iterator[RenderableType]:
    two = len(report.runs) == 2
    found = report.shown_pairs()
    if two:
        names = [report.average, *(column.name for column in columns)]
        found = [pair for name in names for pair in report.pairs_in(name)]
    if not found:
        return
    everything = ["difference", "95 % interval", "p", "p (Holm)", "detectable"]
    choices = [everything, everything[:-1], [*everything[:2], "p (Holm)"]]
    tables = [_pair_table(report, found, headings, two=two) for headings in choices]
    shown = terminal.first_that_fits(*tables)
    yield shown
    yield terminal.cell(_DIFFERENCES)
    *sizes, last = sorted({pair.family for pair in found})
    told = " or ".join([*(f"{size:,}" for size in sizes), counted(last, "test")])
    yield terminal.cell(_CORRECTED.format(told))
    if smallest := max(pair.smallest_p for pair in found):
        yield terminal.cell(permutation.resolution_text(smallest))
    if str(shown.columns[-1].header) == "detectable":
        yield terminal.cell(_DETECTABLE)
    if not two and len(found) < len(report.pairs_in(report.average)):
        yield terminal.cell(_NEIGHBOURS)
    if missing := terminal.dropped(tables[0], shown):
        yield terminal.cell(terminal.not_shown(missing))


def _pair_table(
    report: reports.Report, found: "Sequence[ColumnPair]", headings: Sequence[str], *, two: bool
) -> Table:
    number = {run: place for place, run in enumerate(report.runs, 1)}
    first = "1 minus 2" if two else "runs"
    title = None if two else f"differences in {report.average}"
    table = terminal.new_table(first, *headings, numbers=[*headings, "runs"], title=title)
    table.columns[0].no_wrap = True
    for pair in found:
        least = pair.minimum_detectable
        cells = {
            first: pair.column if two else f"{number[pair.a]} – {number[pair.b]}",
            "difference": f"{pair.difference:+.4f}",
            headings[1]: pages.bounds_text(pair.low, pair.high, "+.4f"),
            "p": permutation.shown_p(pair.p, pair.smallest_p),
            "p (Holm)": permutation.shown_p(pair.p_holm, pair.smallest_p * pair.family),
            "detectable": "" if least is None else f"{least:.4f}",
        }
        shown = {heading: terminal.cell(cells[heading]) for heading in (first, *headings)}
        if pair.is_sure:
            shown["difference"].style = "bold"
        table.add_row(*shown.values())
    return table


def profile_tables(profiles: Mapping[str, Any], run: str = "") -> Iterator[Table]:
    """Yield scores and averages of all profiles, a column each; `profiles` as `scores.json` has them."""
    from pfgen_rs.llm_jp_eval.averaging import side_by_side

    for name, rows in zip(("score", "average"), side_by_side(profiles), strict=True):
        columns = list(dict.fromkeys(column for own in rows.values() for column in own))
        cells = [
            [each, *(average_text(own[c], c, name) if c in own else "" for c in columns)]
            for each, own in rows.items()
        ]
        if cells:
            yield terminal.new_table(name, *columns, numbers=columns, rows=cells, title=run or None)


def average_text(value: float, profile: str, kind: str = "average") -> str:
    """Returns an average, or a `score`, as tables have it: swallow's -1.0 for what lacks a score is none."""
    is_lacking = (kind, profile, value) == ("average", "swallow", -1)
    return "–" if is_lacking else f"{value:.4f}"


def show_diagnosis(found: "Mapping[str, Diagnosis]") -> None:
    """Print what answers lost to form, by task, if they lost anything."""
    terminal.show(*_diagnosis_parts({"": found}))
    if lost := sum(own.counts["all"] for own in found.values()):
        told = plural(lost, "answer is wrong only for its", "answers are wrong only for their")
        them = plural(lost, "it", "them")
        process.warn(f"{lost:,} {told} form; scores do not count {them}")


def _diagnosis_parts(
    diagnoses: "Mapping[str, Mapping[str, Diagnosis]]", title: str = _LOST
) -> Iterator[RenderableType]:
    """Yield a table of shares by task, or of their means by run if there are several."""
    from pfgen_rs.llm_jp_eval.diagnosis import FORMS, NAMES, mean_shares

    first, every = "task", list(diagnoses.values())
    captions = list(_DIAGNOSIS)
    if len(every) > 1:
        first, captions = "no.", ["means over tasks", *captions]
        rows = {str(place): mean_shares(own.values()) for place, own in enumerate(every, 1)}
    else:
        rows = {
            t: own.shown() for each in every for t, own in each.items() if any(own.counts.values())
        }
    there = [name for name in NAMES if any(own.get(name) for own in rows.values())]
    tables = []
    for names in (there, [name for name in there if name not in FORMS]):
        cells = [[each, *(_percent(own.get(n)) for n in names)] for each, own in rows.items()]
        headings = [_HEADINGS.get(name, name.replace("_", " ")) for name in names]
        numbers = [*headings, "no."]
        tables.append(
            terminal.new_table(first, *headings, numbers=numbers, title=title, rows=cells)
        )
    if rows:
        yield terminal.first_that_fits(*tables)
        yield from map(terminal.cell, captions)


def _percent(share: float | None) -> str:
    return f"{100 * share:.1f}" if share else ""


def plot(
    kind: Annotated[
        Literal["radar", "bars", "diagnosis"],
        typer.Argument(metavar="KIND", help="One of the figures above."),
    ],
    runs: ReportRuns,
    out: PlotOut,
    title: Title = None,
    language: Language = "en",
    font: Font = None,
    task_folder: llm_jp_eval.TaskFolders = None,
) -> None:
    """Plot runs. Requires matplotlib (`pip install 'pfgen_rs[plots]'`).

    The figures, by KIND:

    - `radar`: categories as axes around a centre, for up to 14 runs

    - `bars`: the average and each category, with intervals, for the 40 best runs

    - `diagnosis`: right answers by task, those wrong only for their form, and other wrong ones, for up to 6
      runs

    For example:

    - `pfgen-rs llm-jp-eval plot radar runs/a runs/b --out radar.svg`

    - `pfgen-rs llm-jp-eval plot bars runs/* --out bars.png --language ja`
    """
    from pfgen_rs.drawing.figures import save
    from pfgen_rs.llm_jp_eval.report.runs import read_report_runs

    llm_jp_eval.add_folders(task_folder)
    found = reports.report_of(read_report_runs(runs))
    figure = pages.PLOTS[kind](found, title=title, language=language, font=font)
    save(figure, out)
    if kind == "bars" and len(found.runs) > pages.MOST_BARS:
        process.warn(f"only the {pages.MOST_BARS} best of {len(found.runs)} runs are shown")
