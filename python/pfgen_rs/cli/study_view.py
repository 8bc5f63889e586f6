"""Shows the studies of `pfgen-rs study` as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import RenderableType

from pfgen_rs.cli import output
from pfgen_rs.io.counted import counted
from pfgen_rs.studies.markdown import correlation_text, interval_text

if TYPE_CHECKING:
    from pfgen_rs.studies.against import AgainstStudy
    from pfgen_rs.studies.correlations import Correlation, CorrelationMatrix

__all__ = ["against_csv", "against_parts", "against_unmatched", "correlation_table"]


def against_parts(found: AgainstStudy, outliers: int) -> list[RenderableType]:
    """Returns the table of columns, and a line about the outliers of each."""
    level = _level_text(found.columns[0].correlation)
    table = output.new_table(
        "column",
        "n",
        "r",
        f"r, {level}",
        "ρ",
        f"ρ, {level}",
        numbers=("n", "r", f"r, {level}", "ρ", f"ρ, {level}"),
        title=f"{found.ours} and {counted(len(found.columns), 'column')}",
    )
    for one in found.columns:
        table.add_row(output.cell(one.column), *map(output.cell, _figures(one.correlation)))
    parts: list[RenderableType] = [table]
    if outliers:
        parts.append(output.cell("furthest from the line, in residual standard deviations:"))
    for one in found.columns if outliers else ():
        named = one.outliers(outliers).select("key", "residual").rows()
        shown = ", ".join(f"{key} {residual:+.2f}" for key, residual in named)
        parts.append(output.cell(f"  {one.column}: {shown}"))
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
        parts += [
            output.cell(f"only in the {title}:"),
            *(output.cell(f"  {n}") for n in named.values()),
        ]
    if found.near:
        parts.append(output.cell("similar names; --aliases says which are the same model:"))
        parts += [
            output.cell(f"  {theirs[key]} ~ {ours[other]}") for key, other in found.near.items()
        ]
    return parts


def correlation_table(matrix: CorrelationMatrix, title: str) -> RenderableType:
    """Returns a table with a row for each pair."""
    level = _level_text(matrix.pairs[0])
    headings = ("n", "r", f"r, {level}", "ρ", f"ρ, {level}")
    table = output.new_table("", "and", *headings, numbers=headings, title=title)
    for pair in matrix.pairs:
        table.add_row(*map(output.cell, (pair.one, pair.other, *_figures(pair))))
    return table


def _figures(found: Correlation) -> tuple[str, ...]:
    return (
        str(found.n),
        correlation_text(found.pearson),
        interval_text(*found.interval("pearson")),
        correlation_text(found.spearman),
        interval_text(*found.interval("spearman")),
    )


def _level_text(found: Correlation) -> str:
    return f"{100 * found.level:g} %"
