"""Shows the studies of `pfgen-rs study` as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, get_args

from rich.console import RenderableType
from rich.table import Table

from pfgen_rs.cli import output
from pfgen_rs.io.counted import counted
from pfgen_rs.studies.markdown import correlation_text, interval_text
from pfgen_rs.studies.sources import Questions

if TYPE_CHECKING:
    from pfgen_rs.studies.against_result import AgainstStudy
    from pfgen_rs.studies.correlations import Correlation, CorrelationMatrix
    from pfgen_rs.studies.metrics import MetricStudy
    from pfgen_rs.studies.sources import SourceStudy

__all__ = ["against_csv", "against_parts", "against_unmatched", "metric_parts", "source_parts"]


def against_parts(found: AgainstStudy, outliers: int) -> list[RenderableType]:
    """Returns the table of columns, and a line about the outliers of each."""
    title = f"{found.ours} and {counted(len(found.columns), 'column')}"
    rows = [((one.column,), one.correlation) for one in found.columns]
    table = _fitting_table(("column",), rows, title)
    parts: list[RenderableType] = [table]
    if outliers:
        parts.append(output.cell("furthest from the line, in residual standard deviations:"))
        parts += [
            output.cell(f"  {one.column}: {one.told_outliers(outliers)}") for one in found.columns
        ]
    return parts


def against_csv(found: AgainstStudy, outliers: int) -> list[dict[str, Any]]:
    """Returns the rows of the table with outliers in one cell."""
    rows = found.frame(outliers).to_dicts()
    return [{**row, "outliers": " ".join(row["outliers"])} for row in rows]


def against_unmatched(found: AgainstStudy, *, listed: bool) -> list[RenderableType]:
    """Returns how many models only one of the two has, or all of them, and names that are similar."""
    ours, theirs = found.unmatched_ours, found.unmatched_theirs
    advice = "" if listed or not (ours or theirs) else " (--unmatched lists them)"
    parts: list[RenderableType] = [
        output.cell(
            f"unmatched: {counted(len(ours), 'model')} of the leaderboard, "
            f"{len(theirs):,} of the table{advice}"
        )
    ]
    if not listed:
        return parts
    for title, named in (("leaderboard", ours), ("table", theirs)):
        if named:
            parts.append(output.cell(f"only in the {title}:"))
            parts += [output.cell(f"  {name}") for name in named.values()]
    if found.near:
        parts.append(output.cell("similar names; --aliases says which are the same model:"))
        parts += [
            output.cell(f"  {theirs[key]} ~ {ours[other]}") for key, other in found.near.items()
        ]
    return parts


def metric_parts(found: MetricStudy) -> list[RenderableType]:
    """Returns the table of pairs, and how far the values of each metric reach."""
    columns = ("least", "median", "largest")
    spread = output.new_table("metric", *columns, numbers=columns, title="values")
    for name, *values in found.spread().iter_rows():
        spread.add_row(output.cell(name), *(output.cell(f"{value:.4f}") for value in values))
    title = f"metrics over {counted(len(found.runs), 'run')}"
    return [_correlation_table(found.matrix, title), spread]


def source_parts(found: SourceStudy, metric: str) -> list[RenderableType]:
    """Returns a table of pairs for the questions with all sources, one for all questions, and a remark."""
    tables: list[RenderableType] = [
        _correlation_table(
            found.matrix(metric, questions), f"{metric} over {found.told(questions)}"
        )
        for questions in get_args(Questions)
    ]
    return [*tables, output.cell("questions without a source keep their own reference answers")]


def _correlation_table(matrix: CorrelationMatrix, title: str) -> RenderableType:
    rows = [((pair.one, pair.other), pair) for pair in matrix.pairs]
    return _fitting_table(("", "and"), rows, title)


def _fitting_table(
    names: Sequence[str], rows: Sequence[tuple[Sequence[str], Correlation]], title: str
) -> Table:
    """Returns a table with the interval of Spearman's ρ, or without it where the window is narrow."""
    level = f"{100 * rows[0][1].level:g} %" if rows else "interval"
    headings = ("n", "r", f"r, {level}", "ρ", f"ρ, {level}")
    tables = []
    for count in (len(headings), len(headings) - 1):
        table = output.new_table(*names, *headings[:count], numbers=headings, title=title)
        for named, found in rows:
            table.add_row(*map(output.cell, (*named, *_figures(found)[:count])))
        for column in table.columns[: len(names)]:
            column.no_wrap = True  # or every table would fit
        tables.append(table)
    return output.first_that_fits(*tables)


def _figures(found: Correlation) -> tuple[str, ...]:
    return (
        str(found.n),
        correlation_text(found.pearson),
        interval_text(*found.interval("pearson")),
        correlation_text(found.spearman),
        interval_text(*found.interval("spearman")),
    )
