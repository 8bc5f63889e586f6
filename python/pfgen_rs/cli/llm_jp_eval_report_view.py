"""Shows a report on runs of llm-jp-eval as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table

from pfgen_rs.cli import output
from pfgen_rs.llm_jp_eval.report.columns import Column
from pfgen_rs.llm_jp_eval.report.pages import bounds_text, rank_text, value_text
from pfgen_rs.llm_jp_eval.report.pairs import ColumnPair, per_task
from pfgen_rs.llm_jp_eval.report.report import Report
from pfgen_rs.stats.permutation import resolution_text, shown_p

_SURE = "bold"
_VALUE_WIDTH = 5
_INTERVALS = "intervals: over samples (Student's t; exact_match: Wilson's; STS: jackknife)"
_DIFFERENCES = "intervals of differences: Student's t; exact_match: Bonett and Price's"
_CORRECTED = "p (Holm): corrected for {} tests; bold: significantly different"
_DETECTABLE = "detectable: the difference that the test of a pair detects with 80 % power"
_NEIGHBOURS = "only runs with adjacent averages are compared: use --format json for all pairs"


def jpeval_report(report: Report, *, by_task: bool, room: int) -> list[RenderableType]:
    """Returns tables of runs, columns and pairs for a window of `room` columns, with captions.

    Several runs are numbered by descending average, and tables refer to them by number.
    """
    columns = report.of_kind("task" if by_task else "category")
    if len(report.runs) == 1:
        parts: list[RenderableType] = [_single_table(report, columns)]
    else:
        parts = [_runs_table(report), *_column_tables(report, columns, by_task, room)]
        parts += _pair_parts(report, columns)
    parts.append(output.cell(_INTERVALS))
    signatures = dict.fromkeys(filter(None, report.signatures.values()))
    return [*parts, *(output.cell(each) for each in signatures)]


def _single_table(report: Report, columns: Sequence[Column]) -> Table:
    [run] = report.runs
    headings = [report.average, f"{report.level * 100:g} % interval", "SE", "samples"]
    titles = ["", "value", *headings[1:]]
    full = output.new_table(*titles, numbers=titles[1:], title=run)
    for column in (*report.of_kind("average"), *columns):
        found = report.estimates[run][column.name]
        cells = [
            column.name,
            value_text(found),
            bounds_text(found.low, found.high),
            "" if found.se is None else f"{found.se:.4f}",
            f"{found.samples:,}" if found.samples else "",
        ]
        full.add_row(*map(output.cell, cells))
    return full


def _runs_table(report: Report) -> Table:
    tables = [_run_table(report, count) for count in (3, 2)]
    return output.first_that_fits(*tables)


def _run_table(report: Report, count: int) -> Table:
    title = f"{report.average}, {_samples_per_task(report)}"
    ranked = any(report.ranks.values())
    before = ["no.", *(["ranks"] if ranked else [])]
    table = output.new_table(*before, "run", numbers=before, title=title)
    for heading in (report.average, f"{report.level * 100:g} % interval", "SE")[:count]:
        table.add_column(heading, justify="right", no_wrap=True)
    for number, run in enumerate(report.runs, 1):
        found = report.estimates[run][report.average]
        cells = [str(number), *([rank_text(report.ranks[run])] if ranked else []), run]
        values = [
            value_text(found),
            bounds_text(found.low, found.high),
            "" if found.se is None else f"{found.se:.4f}",
        ]
        table.add_row(*map(output.cell, (*cells, *values[:count])))
    return table


def _samples_per_task(report: Report) -> str:
    counts = [count for column in report.of_kind("task") for count in report.own_samples(column)]
    return per_task(counts)


def _column_tables(
    report: Report, columns: Sequence[Column], by_task: bool, room: int
) -> Iterator[RenderableType]:
    if by_task:
        yield from _task_tables(report, columns, room)
        return
    named = _category_table(report, columns, with_names=True)
    short = _category_table(report, columns, with_names=False)
    yield named if output.table_width(named) <= room else short


def _category_table(report: Report, columns: Sequence[Column], *, with_names: bool) -> Table:
    names = [column.name for column in columns]
    before = ["no.", *(["run"] if with_names else [])]
    # Correlations have short headings, so that all categories fit 80 columns.
    table = output.new_table(*before, numbers=["no."], title="categories")
    for name in names:
        table.add_column(name.replace(" ", "\n"), justify="right", no_wrap=True)
    for number, run in enumerate(report.runs, 1):
        found = report.estimates[run]
        cells = [str(number), *([run] if with_names else [])]
        cells += [value_text(found[name], 3) for name in names]
        table.add_row(*map(output.cell, cells))
    return table


def _task_tables(report: Report, columns: Sequence[Column], room: int) -> Iterator[Table]:
    """Yield values by task and number of the run, in tables that fit."""
    left = room - output.table_width(_task_table(report, columns, []))
    fitting = max(1, left // (_VALUE_WIDTH + output.GAP))
    numbers = range(len(report.runs))
    for start in range(0, len(report.runs), fitting):
        yield _task_table(report, columns, numbers[start : start + fitting])


def _task_table(report: Report, columns: Sequence[Column], places: Sequence[int]) -> Table:
    headings = ["samples", *(str(place + 1) for place in places)]
    table = output.new_table("task", *headings, numbers=headings, title="tasks, by run number")
    table.columns[0].no_wrap = True
    for column in columns:
        found = [report.estimates[report.runs[place]][column.name] for place in places]
        values = [value_text(each, 3) for each in found]
        cells = [column.name, report.samples_text(column), *values]
        table.add_row(*map(output.cell, cells))
    return table


def _pair_parts(report: Report, columns: Sequence[Column]) -> Iterator[RenderableType]:
    if len(report.runs) == 2:
        names = [report.average, *(column.name for column in columns)]
        pairs = [pair for name in names for pair in report.pairs_in(name)]
    else:
        pairs = report.shown_pairs()
    if not pairs:
        return
    two = len(report.runs) == 2
    everything = ["difference", f"{report.level * 100:g} % interval", "p", "p (Holm)", "detectable"]
    choices = [everything, everything[:-1], [*everything[:2], "p (Holm)"]]
    tables = [_pair_table(report, pairs, headings, two=two) for headings in choices]
    shown = output.first_that_fits(*tables)
    yield shown
    yield output.cell(_DIFFERENCES)
    sizes = " or ".join(f"{size:,}" for size in sorted({pair.family for pair in pairs}))
    yield output.cell(_CORRECTED.format(sizes))
    if smallest := max(pair.smallest_p for pair in pairs):
        yield output.cell(resolution_text(smallest))
    if str(shown.columns[-1].header) == "detectable":
        yield output.cell(_DETECTABLE)
    if not two and len(pairs) < len(report.pairs_in(report.average)):
        yield output.cell(_NEIGHBOURS)
    if missing := output.dropped(tables[0], shown):
        yield output.cell(output.not_shown(missing))


def _pair_table(
    report: Report, pairs: Sequence[ColumnPair], headings: Sequence[str], *, two: bool
) -> Table:
    number = {run: place for place, run in enumerate(report.runs, 1)}
    first = "1 minus 2" if two else "runs"
    title = None if two else f"differences in {report.average}"
    table = output.new_table(first, *headings, numbers=[*headings, "runs"], title=title)
    table.columns[0].no_wrap = True
    for pair in pairs:
        cells = {
            first: pair.column if two else f"{number[pair.a]} – {number[pair.b]}",
            "difference": f"{pair.difference:+.4f}",
            headings[1]: bounds_text(pair.low, pair.high, "+.4f"),
            "p": shown_p(pair.p, pair.smallest_p),
            "p (Holm)": shown_p(pair.p_holm, pair.smallest_p * pair.family),
            "detectable": ""
            if pair.minimum_detectable is None
            else f"{pair.minimum_detectable:.4f}",
        }
        sure = _SURE if pair.p_holm <= 1 - report.level else ""
        table.add_row(
            *(
                output.cell(cells[heading], sure if heading == "difference" else "")
                for heading in (first, *headings)
            )
        )
    return table
