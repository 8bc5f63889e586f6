"""How `pfgen-rs leaderboard` shows its rows: as a table that fits the window, or as plain lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rich.table import Table

from pfgen_rs.cli import output
from pfgen_rs.cli.bars import Bars, with_bars
from pfgen_rs.cli.plain import aligned, number
from pfgen_rs.cli.text import visible

__all__ = ["lines", "table"]

Row = Mapping[str, Any]
_METRICS = ("fluency", "truthfulness", "helpfulness")
_BROKEN = ("fluency", "truth-\nfulness", "help-\nfulness")


class _Detail(NamedTuple):
    """What a table shows besides rank, model and score."""

    interval: bool = False
    figures: Sequence[str] = ()


_DETAILS = (
    _Detail(interval=True, figures=("length", *_METRICS)),
    _Detail(interval=True, figures=("length", *_BROKEN)),
    _Detail(figures=("length", *_BROKEN)),
    _Detail(),
)


def table(rows: Sequence[Row], room: int) -> Table:
    """The table with most detail that leaves a bar enough of a window of `room` columns."""

    def shown(detail: _Detail, bar: int) -> Table:
        return _table(rows, detail, bar)

    return with_bars(_DETAILS, shown, room) or shown(_DETAILS[-1], 0)


def _table(rows: Sequence[Row], detail: _Detail, bar: int) -> Table:
    shown, bars = output.new_table("", "ranks", "model", numbers=("", "ranks")), Bars(rows)
    shown.add_column("score", justify="right", no_wrap=True)
    if bar:
        shown.add_column(bars.heading(bar), no_wrap=True)
    for heading in detail.figures:
        shown.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        score = f"{row['score']:.4f}" + (_interval(row) if detail.interval else "")
        shown.add_row(
            output.cell(_rank(row)),
            output.cell(_range(row)),
            output.cell(f"{row['icon']} {row['model']}"),
            output.cell(score),
            *([bars.bar(row, bar)] if bar else []),
            *map(output.cell, _figures(row)[: len(detail.figures)]),
        )
    return shown


def _figures(row: Row) -> list[str]:
    return [f"{row['length']:.1f}", *(f"{row[metric]:.3f}" for metric in _METRICS)]


def _rank(row: Row) -> str:
    return "–" if row["rank"] is None else str(row["rank"])


def _range(row: Row) -> str:
    low, high = row["rank_low"], row["rank_high"]
    if low is None or high is None:
        return ""
    return str(low) if low == high else f"{low}–{high}"


def _interval(row: Row) -> str:
    low, high = row["score_low"], row["score_high"]
    return "" if low is None or high is None else f" [{low:.3f}, {high:.3f}]"


def lines(rows: Sequence[Row]) -> str:
    """A line a run under a line of names, in columns; of our own nothing but ASCII."""
    head = ("rank", "ranks", "score", "low", "high", "trials", "length", *_METRICS, "model", "run")
    return aligned([head, *map(_plain, rows)], texts=2)


def _plain(row: Row) -> tuple[str, ...]:
    return (
        _rank(row).replace("–", "-"),
        _range(row).replace("–", "-") or "-",
        f"{row['score']:.4f}",
        *map(number, (row["score_low"], row["score_high"])),
        str(row["num_trials"]),
        *_figures(row),
        visible(row["model"]),
        visible(row["run"]),
    )
