"""Writing a check to files: tables as CSV, a Markdown page, and plots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

import polars as pl

from pfgen_rs.drawing.style import available
from pfgen_rs.io import write_atomic
from pfgen_rs.io.table_writer import csv_text
from pfgen_rs.references.check.plots import TITLES, draw_check_plots
from pfgen_rs.report.markup import inert

__all__ = ["check_report_markdown", "write_report"]

PAGE = "check.md"
# Tables short enough for the page, and their headings.
_SHOWN = {
    "sources_overall": "Sources compared: mean scores of one source against another",
    "runs": "Runs",
    "source_runs": "Runs scored with a single source: correlations",
    "shrinking": "Runs scored with smaller sets",
    "near_duplicate_pairs": "Near-duplicates",
    "contamination_examples": "Answers of runs found in the set",
}


class Check(Protocol):
    """What a report shows; see `pfgen_rs.references.check.Check`."""

    @property
    def signature(self) -> str: ...

    @property
    def tables(self) -> dict[str, pl.DataFrame]: ...

    @property
    def summary(self) -> pl.DataFrame: ...

    @property
    def findings(self) -> list[str]: ...


def write_report(check: Check, folder: Path, *, plots: bool | None) -> list[Path]:
    """Write a check to a folder, the page last because it links to the rest; returns the paths."""
    drawings = {}
    if plots or (plots is None and available()):
        drawings = draw_check_plots(check.tables)
    contents = {
        **{f"{name}.csv": csv_text(table).encode() for name, table in check.tables.items()},
        "summary.csv": csv_text(check.summary).encode(),
        **{f"{name}.svg": content for name, content in drawings.items()},
        PAGE: check_report_markdown(check, list(drawings)).encode(),
    }
    for name, content in contents.items():
        write_atomic(folder / name, content)
    return [folder / name for name in contents]


def check_report_markdown(check: Check, drawings: Sequence[str] = ()) -> str:
    """Format the page: findings, summary, short tables and plots, with text of the set and runs escaped."""
    return "\n".join(_report_lines(check, drawings)) + "\n"


def _report_lines(check: Check, drawings: Sequence[str]) -> Iterator[str]:
    yield from ("# Check of a reference set", "", inert(check.signature), "")
    yield from (f"- {inert(finding)}" for finding in check.findings)
    yield from ("", "## Questions", "", *_check_report_table(check.summary), "")
    for name in drawings:
        yield from (
            f"## {TITLES[name]}",
            "",
            f"![{TITLES[name]}]({name}.svg)",
            "",
        )
    for name, title in _SHOWN.items():
        if name in check.tables and not check.tables[name].is_empty():
            yield from (f"## {title}", "", *_check_report_table(check.tables[name]), "")
    names = ", ".join(f"[{name}]({name}.csv)" for name in ["summary", *check.tables])
    yield f"All tables: {names}"


def _check_report_table(table: pl.DataFrame) -> Iterator[str]:
    numbers = [kind.is_numeric() for kind in table.dtypes]
    yield f"| {' | '.join(map(inert, table.columns))} |"
    yield f"| {' | '.join('---:' if number else '---' for number in numbers)} |"
    for row in table.iter_rows():
        yield f"| {' | '.join(map(_check_report_cell, row))} |"


def _check_report_cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4f}"
    return inert(str(value))
