"""A report as a web page, and as figures (which require the extra `plots`)."""

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pfgen_rs.drawing import radar as radar_lines
from pfgen_rs.drawing.figures import finish
from pfgen_rs.drawing.style import COLOURS, GREY, INK, Language, Look, drawing
from pfgen_rs.errors import PlotError
from pfgen_rs.io.atomic import write_atomic
from pfgen_rs.lazy import Axes, Figure, np, pl
from pfgen_rs.llm_jp_eval.diagnosis import FORMS, PARTS, mean_shares
from pfgen_rs.llm_jp_eval.measures import CORRELATIONS, parse_float
from pfgen_rs.llm_jp_eval.registry import tasks
from pfgen_rs.llm_jp_eval.report.comparing import LEVEL, Column, ColumnEstimate
from pfgen_rs.llm_jp_eval.report.diagnosis_plot import diagnosis
from pfgen_rs.llm_jp_eval.report.report import Report
from pfgen_rs.llm_jp_eval.report.runs import ReportRun
from pfgen_rs.report.site import pages, payload
from pfgen_rs.report.site.folder import SiteFolder
from pfgen_rs.stats.permutation import shown_p


def write_report_page(
    report: Report, runs: Sequence[ReportRun], path: str | os.PathLike[str]
) -> int:
    """Write the page of a report: to one file if `path` ends in `.html`, else to a folder.

    `runs`: those of the report, in any order. A folder gets `index.html` and files with texts, which the page
    loads on demand; a single file contains everything. Returns the number of samples. Raises `OutputError`.
    """
    by_name = {run.name: run for run in runs}
    ordered = [by_name[name] for name in report.runs]
    known = set(report.samples) | {column.parts[0].task for column in report.of_kind("task")}
    shown = [replace(r, frame=r.frame.filter(r.frame["task"].is_in(list(known)))) for r in ordered]
    table = sample_table(shown)
    starts = report_chunk_starts(table)
    index = report_index(table, ordered, report.runs, starts)
    if Path(path).suffix == ".html":
        payloads = {INDEX: index, **dict(report_chunks(table, len(ordered), starts))}
        write_atomic(path, _report_page(report, len(starts), len(table), payloads))
        return len(table)
    page = _report_page(report, len(starts), len(table), {})  # fails before anything is written
    folder = SiteFolder(path)
    with folder.writing():
        folder.write(f"{INDEX}.js", payload.payload_file(INDEX, index))
        for name, value in report_chunks(table, len(ordered), starts):
            folder.write(f"{name}.js", payload.payload_file(name, value))
        folder.write("index.html", page)
        folder.finish()
    return len(table)


def _report_page(report: Report, chunks: int, samples: int, payloads: Mapping[str, Any]) -> bytes:
    signatures = dict.fromkeys(filter(None, report.signatures.values()))
    every = [own for found in report.diagnoses.values() for own in found.values()]
    return pages.render(
        "llm_jp_eval",
        parts=("blocks", "llm_jp_eval"),
        nav=(),
        here="",
        report=report,
        categories=report.of_kind("category"),
        tasks=report.of_kind("task"),
        level=f"{LEVEL * 100:g}",
        pairs=report.pairs if len(report.runs) == 2 else report.shown_pairs(),
        value_text=value_text,
        bounds=_bracketed_bounds,
        rank_text=rank_text,
        p_text=shown_p,
        samples_text=lambda column: report.samples_text(column).replace(" to ", "–"),
        stack=PARTS,
        told=[name for name in mean_shares(every) if name not in FORMS],
        samples=samples,
        signatures=list(signatures),
        data={"index": INDEX, "chunks": [report_chunk_name(number) for number in range(chunks)]},
        payloads=payloads,
    )


def _bracketed_bounds(low: float | None, high: float | None, form: str = ".3f") -> str:
    return "" if low is None or high is None else f"[{low:{form}}, {high:{form}}]"


# The data of a report's page: an index of all samples, and their texts in chunks, loaded on demand.


INDEX = "samples/index"
"""Name of the payload with what filters and orders need."""
_SAMPLES, _CHARACTERS = 64, 200_000  # of a chunk
_UNIT = 10**4  # values go to the page as whole numbers of it
_SCALE = 5.0  # of jsts


def report_chunk_name(number: int) -> str:
    """Returns the name of the payload with the texts of a chunk."""
    return f"samples/{number:05d}"


def sample_table(runs: Sequence[ReportRun]) -> pl.DataFrame:
    """Returns a row a sample that any run has, by task (as first run) and index.

    Columns: `task`, `index`, `gold`, `input`, and for each run i `pred{i}` and
    `value{i}`: for jsts, 1 minus the deviation from gold in parts of the scale, at least 0. Null where a run
    lacks the sample.
    """
    order = {task: i for i, task in enumerate(dict.fromkeys(t for run in runs for t in run.tasks))}
    texts = pl.concat(run.frame.select("task", "index", "gold", "input") for run in runs)
    table = texts.group_by("task", "index", maintain_order=True).agg(
        pl.col("gold", "input").first()
    )
    for i, run in enumerate(runs):
        own = run.frame.select(
            "task", "index", pl.col("pred").alias(f"pred{i}"), _closeness(run, i)
        )
        table = table.join(own, on=["task", "index"], how="left", maintain_order="left")
    place = pl.col("task").replace_strict(order, return_dtype=pl.Int64)
    return table.sort(place, "index", maintain_order=True)


def report_chunk_starts(table: pl.DataFrame) -> list[int]:
    """Returns the row of the first sample of each chunk: at most 64 samples, and about 200,000 characters."""
    texts = ["gold", "input", *(name for name in table.columns if name.startswith("pred"))]
    sizes = table.select(
        pl.sum_horizontal(pl.col(name).str.len_chars().fill_null(0) for name in texts)
    ).to_series()
    starts, samples, size = [0], 0, 0
    for row, own in enumerate(sizes.to_list()):
        if samples and (samples == _SAMPLES or size + own > _CHARACTERS):
            starts.append(row)
            samples, size = 0, 0
        samples, size = samples + 1, size + own
    return starts


def report_index(
    table: pl.DataFrame, runs: Sequence[ReportRun], names: Sequence[str], starts: Sequence[int]
) -> dict[str, Any]:
    """Returns the index: a column for each property of samples, and the values of each run.

    Values are in units of 0.0001, null where a run lacks the sample or its value is not known. `metric`: of
    each task, empty if none is known.
    """
    order = table["task"].unique(maintain_order=True).to_list()
    places = {task: i for i, task in enumerate(order)}
    task = table["task"].replace_strict(places, return_dtype=pl.Int64)
    return {
        "tasks": order,
        "metrics": [
            next(filter(None, (run.main_metric(name) for run in runs)), "") for name in order
        ],
        "task": task.to_list(),
        "number": table["index"].to_list(),
        "runs": list(names),
        "values": [
            (table[f"value{i}"] * _UNIT).round().cast(pl.Int64).to_list() for i in range(len(runs))
        ],
        "starts": list(starts),
    }


def report_chunks(
    table: pl.DataFrame, runs: int, starts: Sequence[int]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield names and values of the payloads with texts.

    A value has the distinct `texts`, and `samples`: for each the places of input, gold and the predictions of
    the runs. -1: none.
    """
    columns = ["input", "gold", *(f"pred{i}" for i in range(runs))]
    for number, (start, stop) in enumerate(zip(starts, [*starts[1:], len(table)], strict=True)):
        known: dict[str, int] = {}
        rows = [
            [-1 if text is None else known.setdefault(text, len(known)) for text in row]
            for row in table[start:stop].select(columns).iter_rows()
        ]
        yield report_chunk_name(number), {"samples": rows, "texts": list(known)}


def _closeness(run: ReportRun, number: int) -> pl.Series:
    """Returns the value of each sample, null where the task has correlations and texts are no numbers."""
    values = run.frame["value"].to_list()
    correlated = {name for name, task in tasks().items() if task.metrics[0] in CORRELATIONS}
    columns = run.frame.select("task", "pred", "gold").iter_rows()
    for row, (task, pred, gold) in enumerate(columns):
        if task in correlated:
            apart = abs(parse_float(pred) - float(gold))
            close = float(np.round(1 - min(apart, _SCALE) / _SCALE, 6))
            values[row] = None if math.isnan(apart) else close
    return pl.Series(f"value{number}", values, dtype=pl.Float64)


# Values of a report as text, the same in tables, Markdown and pages.


def value_text(estimate: ColumnEstimate, digits: int = 4) -> str:
    """Returns the value, `–` without one, with `*` where tasks or categories are missing."""
    if estimate.value is None:
        return "–"
    return f"{estimate.value:.{digits}f}{'*' if estimate.partial else ''}"


def bounds_text(low: float | None, high: float | None, form: str = ".3f") -> str:
    """Returns the bounds of an interval, nothing without them."""
    return "" if low is None or high is None else f"{low:{form}} to {high:{form}}"


def rank_text(ranks: tuple[int, int] | None) -> str:
    """Returns a range of ranks."""
    if ranks is None:
        return "–"
    return str(ranks[0]) if ranks[0] == ranks[1] else f"{ranks[0]}–{ranks[1]}"


# Figures of runs (requires the extra `plots`): a radar chart, and bars with intervals.


# Marks of categories that lack some of their tasks.


def _starred_name(report: Report, column: Column, look: Look) -> str:
    """Returns the name of a column, with a star if a run's value lacks some of the tasks."""
    return f"{look.name(column.name)}{'*' if _is_partial(report, column) else ''}"


def _star_text(report: Report, columns: Sequence[Column], look: Look) -> str:
    """Returns what stars say; nothing if no column has one."""
    starred = any(_is_partial(report, column) for column in columns)
    return look.say("* some tasks were not run") if starred else ""


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
    across = min(_ACROSS, len(columns))
    down = math.ceil(len(columns) / across)
    height = 1.3 + down * (0.75 + 0.27 * len(runs))
    with drawing(language, font) as look:
        figure = look.figure(title, "Scores by category", 3.2 + 2.35 * across, height)
        panels = figure.subplots(down, across, squeeze=False, sharey=True)
        for column, axes in zip_longest(columns, panels.flat):
            if column is None:
                axes.set_visible(False)
            else:
                _bar_panel(axes, report, runs, column, look)
        panels[0, 0].set_yticks(range(len(runs)), [look.name(run, 34) for run in runs])
        panels[0, 0].set_ylim(len(runs) - 0.4, -0.6)
        told = look.say("Score (95 % interval)"), _star_text(report, columns, look)
        figure.supxlabel("    ".join(filter(None, told)), fontsize=10)
        return finish(figure, _description(report, runs, columns, look, bounds=True))


def _bar_panel(axes: Axes, report: Report, runs: Sequence[str], column: Column, look: Look) -> None:
    found = [report.estimates[run][column.name] for run in runs]
    colour = COLOURS[1] if column.kind == "average" else COLOURS[0]
    for place, each in enumerate(found):
        if each.value is not None:
            _bar(axes, place, each, each.value, colour)
    lowest = min(min(each.value, each.low or 0.0) for each in found if each.value is not None)
    axes.set_title(_starred_name(report, column, look), loc="left", fontweight="bold")
    axes.set_xlim(-1.0 if lowest < 0 else 0.0, 1)
    axes.grid(visible=False, axis="y")


def _bar(axes: Axes, place: int, found: ColumnEstimate, value: float, colour: str) -> None:
    axes.barh(place, value, 0.66, color=colour, alpha=0.55)
    if found.low is not None and found.high is not None:
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
            interval = _bracketed_bounds(found.low, found.high) if bounds else ""
            if found.value is not None:
                values.append(f"{look.name(column.name)} {found.value:.3f} {interval}".rstrip())
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
            f"too many runs for one radar chart: {len(report.runs)}, at most {_MOST} (bars show more)"
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
            known = [report.estimates[run][column.name].value for column in columns]
            values = [math.nan if value is None else max(value, 0.0) for value in known]
            name, filled = look.name(run, 60), len(report.runs) <= _FILLED
            radar_lines.add_line(axes, place, values, name, filled=filled)
        across = 1 if max(map(len, report.runs)) > 28 else 2
        legend = figure.legend(loc="outside lower center", ncols=min(across, len(report.runs)))
        if told := _star_text(report, columns, look):
            legend.set_title(told)
            legend.get_title().set_fontsize(9)
        return finish(figure, _description(report, report.runs, columns, look, bounds=False))


def _radar_grid(axes: Any, columns: Sequence[Column], report: Report, look: Look) -> None:
    radar_lines.set_axes(axes, [_starred_name(report, each, look) for each in columns], fontsize=11)
    axes.set_ylim(0, 1)
    axes.set_yticks([0.2, 0.4, 0.6, 0.8, 1.0], ["0.2", "0.4", "0.6", "0.8", "1.0"], color=GREY)
    axes.set_rlabel_position(180 / len(columns))


PLOTS: Mapping[str, Callable[..., Figure]] = MappingProxyType(
    {"radar": radar, "bars": bars, "diagnosis": diagnosis}
)
"""Figures by name."""
