"""Marks of categories that lack some of their tasks."""

from __future__ import annotations

from collections.abc import Sequence

from pfgen_rs.drawing.style import Look
from pfgen_rs.llm_jp_eval.report.columns import Column
from pfgen_rs.llm_jp_eval.report.report import Report

__all__ = ["star_text", "starred_name"]


def starred_name(report: Report, column: Column, look: Look) -> str:
    """Returns the name of a column, with a star if a run's value lacks some of the tasks."""
    return f"{look.name(column.name)}{'*' if _is_partial(report, column) else ''}"


def star_text(report: Report, columns: Sequence[Column], look: Look) -> str:
    """Returns what stars say; nothing if no column has one. What an average lacks is named."""
    if not any(_is_partial(report, column) for column in columns):
        return ""
    lacking = {
        name: None
        for column in columns
        for run in report.runs
        for name in report.estimates[run][column.name].lacking
        if report.estimates[run][column.name].value is not None
    }
    if not lacking:
        return look.say("* some tasks were not run")
    return look.say("* some tasks were not run; 0 in {average}: {categories}").format(
        average=report.average, categories=", ".join(lacking)
    )


def _is_partial(report: Report, column: Column) -> bool:
    return any(report.estimates[run][column.name].partial for run in report.runs)
