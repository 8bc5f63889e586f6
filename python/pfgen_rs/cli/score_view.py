"""How `pfgen-rs score` shows its runs: as a table that fits the window, or as plain lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from pfgen_rs.cli import narrow, output
from pfgen_rs.cli.bars import interval_bar
from pfgen_rs.cli.plain import aligned, number
from pfgen_rs.cli.text import visible

__all__ = ["leaderboard", "lines"]

Row = Mapping[str, Any]
_WIDEST, _NARROWEST = 40, 8  # characters of a bar
_METRICS = ("fluency", "truthfulness", "helpfulness")
_WHOLE = ("score", "length", *_METRICS)
_BROKEN = ("score", "length", "fluency", "truth-\nfulness", "help-\nfulness")


def leaderboard(rows: Sequence[Row], room: int) -> list[RenderableType]:
    """The table, with bars where a window of `room` columns has room for them, and the signatures."""
    signatures = dict.fromkeys(row["signature"] for row in rows)
    table = _with_bars(rows, room) or output.first_that_fits(
        _table(rows, _WHOLE, 0), _table(rows, _BROKEN, 0)
    )
    if len(signatures) == 1:
        return [table, *map(output.cell, signatures)]
    marked = (f"{sign}  (rank {', '.join(_ranks(rows, sign))})" for sign in signatures)
    return [table, *map(output.cell, marked)]


def _with_bars(rows: Sequence[Row], room: int) -> Table | None:
    for headings in (_WHOLE, _BROKEN):
        left = room - narrow.width(_table(rows, headings, 0)) - narrow.GAP
        if left >= _NARROWEST:
            return _table(rows, headings, min(left, _WIDEST))
    return None


def _table(rows: Sequence[Row], headings: Sequence[str], bar: int) -> Table:
    table, top = output.new_table("", "run", numbers=("",)), _top(rows)
    table.add_column(headings[0], justify="right", no_wrap=True)
    if bar:
        table.add_column(Text("0" + f"{top:.2f}".rjust(bar - 1)), no_wrap=True)
    for heading in headings[1:]:
        table.add_column(heading, justify="right", no_wrap=True)
    for rank, row in enumerate(rows, 1):
        table.add_row(
            output.cell(rank),
            output.cell(_name(row, rows)),
            output.cell(f"{row['score']:.4f} ±{row['score_std']:.4f}/√{row['num_trials']}"),
            *([_bar(row, top, bar)] if bar else []),
            output.cell(f"{row['length']:.1f} ±{row['length_std']:.1f}"),
            *(output.cell(f"{row[metric]:.4f}") for metric in _METRICS),
        )
    return table


def _name(row: Row, rows: Sequence[Row]) -> str:
    twice = sum(row["name"] == other["name"] for other in rows) > 1
    return f"{row['name']} ({row['file']})" if twice else str(row["name"])


def _bar(row: Row, top: float, width: int) -> Text:
    drawn = interval_bar(row["score"], row["score_low"], row["score_high"], top, width)
    return Text(drawn, style="cyan")


def _top(rows: Sequence[Row]) -> float:
    return float(max(max(row["score"], row["score_high"] or 0.0) for row in rows))


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
