"""Marks of categories that lack some of their tasks."""

from __future__ import annotations

from pfgen_rs.llm_jp_eval.report.columns import Column
from pfgen_rs.llm_jp_eval.report.report import Report

__all__ = ["STAR", "starred_name"]

STAR = "* some tasks were not run"


def starred_name(report: Report, column: Column) -> str:
    """Returns the name of a column, with a star if a run's value lacks some of the tasks."""
    found = (report.estimates[run][column.name] for run in report.runs)
    partial = any(each.missing and each.value is not None for each in found)
    return f"{column.name}{'*' if partial else ''}"
