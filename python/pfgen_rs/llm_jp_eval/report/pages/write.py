"""Writes the page of a report: a single file, or a folder with the page and its data."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pfgen_rs.io import write_atomic
from pfgen_rs.llm_jp_eval.report.pages.payloads import (
    INDEX,
    report_chunk_name,
    report_chunk_starts,
    report_chunks,
    report_index,
    sample_table,
)
from pfgen_rs.llm_jp_eval.report.pairs import ColumnPair
from pfgen_rs.llm_jp_eval.report.report import Report
from pfgen_rs.llm_jp_eval.report.runs import ReportRun
from pfgen_rs.llm_jp_eval.report.shown import rank_text, value_text
from pfgen_rs.report.site import payload
from pfgen_rs.report.site.folder import SiteFolder
from pfgen_rs.report.site.pages import render
from pfgen_rs.stats.permutation import shown_p

__all__ = ["write_report_page"]

_ALL_PAIRS = 6  # maximum number of runs for which all pairs are shown


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
        for name, value in _named_payloads(index, report_chunks(table, len(ordered), starts)):
            folder.write(f"{name}.js", payload.payload_file(name, value))
        folder.write("index.html", page)
        folder.finish()
    return len(table)


def _with_tasks(run: ReportRun, known: set[str]) -> ReportRun:
    return replace(run, frame=run.frame.filter(run.frame["task"].is_in(list(known))))


def _named_payloads(
    index: Any, chunks: Iterator[tuple[str, dict[str, Any]]]
) -> Iterator[tuple[str, Any]]:
    yield INDEX, index
    yield from chunks


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
        level=f"{report.level * 100:g}",
        pairs=_pairs_of_page(report),
        is_sure=lambda pair: pair.p_holm <= 1 - report.level,
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


def _pairs_of_page(report: Report) -> list[ColumnPair]:
    """Returns comparisons in all columns for two runs; in the average for more, adjacent ones if many."""
    if len(report.runs) == 2:
        return list(report.pairs)
    pairs = report.pairs_in(report.average)
    if len(report.runs) <= _ALL_PAIRS:
        return pairs
    number = {run: place for place, run in enumerate(report.runs)}
    return [pair for pair in pairs if number[pair.b] - number[pair.a] == 1]
