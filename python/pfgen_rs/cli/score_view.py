"""How `pfgen-rs score` shows its runs: as a table that fits the window, or as plain lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from pfgen_rs.cli import output
from pfgen_rs.cli.bars import LEGEND, Bars, bounds, richest
from pfgen_rs.cli.plain import aligned, number
from pfgen_rs.io.safe_text import visible

__all__ = ["leaderboard", "lines"]

Row = Mapping[str, Any]
_METRICS = ("fluency", "truthfulness", "helpfulness")
_PUBLISHED, _LENGTH = "published ±", "length"
_BROKEN = ("fluency", "truth-\nfulness", "help-\nfulness")
_FIGURES = (
    (_PUBLISHED, _LENGTH, *_METRICS),
    (_PUBLISHED, _LENGTH, *_BROKEN),
    (_PUBLISHED, _LENGTH),
    (_PUBLISHED,),
    (),
)
"""Columns besides rank, run, score and interval: as many as there is room for."""


def leaderboard(rows: Sequence[Row], room: int) -> list[RenderableType]:
    """The table with most columns that fit a window of `room`, what they mean, and the signatures."""
    signatures = dict.fromkeys(row["signature"] for row in rows)

    def table(figures: Sequence[str], bar: int) -> Table:
        return _table(rows, figures, bar)

    shown = richest(_FIGURES, table, room) or table((), 0)
    legend = [output.cell(LEGEND)]
    if len(signatures) == 1:
        return [shown, *legend, *map(output.cell, signatures)]
    marked = (f"{sign}  (rank {', '.join(_ranks(rows, sign))})" for sign in signatures)
    return [shown, *legend, *map(output.cell, marked)]


def _table(rows: Sequence[Row], figures: Sequence[str], bar: int) -> Table:
    table, bars = output.new_table("rank", "run", numbers=("rank",)), Bars(rows)
    for heading in ("score", "[low, high]"):
        table.add_column(heading, justify="right", no_wrap=True)
    if bar:
        table.add_column(bars.heading(bar), no_wrap=True)
    for heading in figures:
        table.add_column(heading, justify="right", no_wrap=True)
    for rank, (row, name) in enumerate(zip(rows, _names(rows), strict=True), 1):
        table.add_row(
            output.cell(rank),
            output.cell(name),
            output.cell(f"{row['score']:.4f}"),
            output.cell(bounds(row)),
            *([bars.bar(row, bar)] if bar else []),
            *map(output.cell, _figures(row)[: len(figures)]),
        )
    return table


def _figures(row: Row) -> list[str]:
    """The cells of all columns that may be left out."""
    trials = row["num_trials"]
    return [
        f"±{row['score_std']:.4f}/√{trials}" if trials > 1 else "–",
        f"{row['length']:.1f} ±{row['length_std']:.1f}",
        *(f"{row[metric]:.4f}" for metric in _METRICS),
    ]


def _names(rows: Sequence[Row]) -> list[str]:
    times = Counter(row["name"] for row in rows)
    return [row["name"] + f" ({row['file']})" * (times[row["name"]] > 1) for row in rows]


def _ranks(rows: Sequence[Row], signature: str) -> list[str]:
    return [str(rank) for rank, row in enumerate(rows, 1) if row["signature"] == signature]


def lines(rows: Sequence[Row]) -> str:
    """A line a run under a line of names, in columns; of our own nothing but ASCII."""
    head = (
        "rank",
        "score",
        "low",
        "high",
        "trials",
        "length",
        *_METRICS,
        "run",
        "file",
        "signature",
    )
    return aligned([head, *(_plain(rank, row) for rank, row in enumerate(rows, 1))], texts=3)


def _plain(rank: int, row: Row) -> tuple[str, ...]:
    return (
        str(rank),
        *map(number, (row["score"], row["score_low"], row["score_high"])),
        str(row["num_trials"]),
        f"{row['length']:.1f}",
        *(number(row[metric]) for metric in _METRICS),
        *(visible(str(row[key])) for key in ("name", "file", "signature")),
    )
