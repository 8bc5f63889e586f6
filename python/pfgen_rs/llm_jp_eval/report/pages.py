"""A report as Markdown and as a web page: a single file, or a folder with the page and its data."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pfgen_rs.io.atomic import write_atomic
from pfgen_rs.lazy import np, pl
from pfgen_rs.llm_jp_eval.catalog import tasks
from pfgen_rs.llm_jp_eval.metrics.samples import CORRELATIONS, parse_float
from pfgen_rs.llm_jp_eval.report.columns import LEVEL, ColumnEstimate
from pfgen_rs.llm_jp_eval.report.report import Report
from pfgen_rs.llm_jp_eval.report.runs import ReportRun
from pfgen_rs.report.site import payload
from pfgen_rs.report.site.folder import SiteFolder
from pfgen_rs.report.site.pages import render
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
    table = sample_table([_with_tasks(run, known) for run in ordered])
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


def _with_tasks(run: ReportRun, known: set[str]) -> ReportRun:
    return replace(run, frame=run.frame.filter(run.frame["task"].is_in(list(known))))


def _report_page(report: Report, chunks: int, samples: int, payloads: Mapping[str, Any]) -> bytes:
    signatures = dict.fromkeys(filter(None, report.signatures.values()))
    return render(
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

    Columns: `task`, `index`, `gold`, `input` (null if no run has it), and for each run i `pred{i}` and
    `value{i}`: for jsts, 1 minus the deviation from gold in parts of the scale, at least 0. Null where a run
    lacks the sample.
    """
    order = {task: i for i, task in enumerate(dict.fromkeys(t for run in runs for t in run.tasks))}
    texts = pl.concat(_texts(run) for run in runs)
    table = texts.group_by("task", "index", maintain_order=True).agg(
        pl.col("gold").first(), pl.col("input").drop_nulls().first()
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
        "metrics": [_metric(runs, name) for name in order],
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


def _texts(run: ReportRun) -> pl.DataFrame:
    has = "input" in run.frame.columns
    text = pl.col("input").cast(pl.String) if has else pl.lit(None, pl.String).alias("input")
    return run.frame.select("task", pl.col("index").cast(pl.Int64), "gold", text)


def _metric(runs: Sequence[ReportRun], task: str) -> str:
    return next(filter(None, (run.main_metric(task) for run in runs)), "")


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
