"""How `pfgen-rs leaderboard` shows its rows: as a table that fits the window, or as plain lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from pfgen_rs.cli import output
from pfgen_rs.cli.bars import LEGEND, Bars, bounds, richest
from pfgen_rs.cli.plain import aligned, number
from pfgen_rs.io.safe_text import visible

__all__ = ["lines", "report"]

Row = Mapping[str, Any]
_METRICS = ("fluency", "truthfulness", "helpfulness")
_BROKEN = ("fluency", "truth-\nfulness", "help-\nfulness")
_FIGURES = (("length", *_METRICS), ("length", *_BROKEN), ())
"""Columns besides rank, range, model, score and interval: as many as there is room for."""

_LEGEND = "range: ranks that paired tests leave open"


def report(rows: Sequence[Row], room: int) -> list[RenderableType]:
    """The table with most columns that fit a window of `room`, what they mean, and the signatures."""

    def table(figures: Sequence[str], bar: int) -> Table:
        return _table(rows, figures, bar)

    shown = richest(_FIGURES, table, room) or output.first_that_fits(
        table((), 0), _table(rows, (), 0, interval=False)
    )
    signatures = dict.fromkeys(row["signature"] for row in rows if row.get("signature"))
    captions = (LEGEND, f"{_LEGEND}; {_icons(rows)}", *signatures)
    return [shown, *map(output.cell, captions)]


def _icons(rows: Sequence[Row]) -> str:
    """What the icons of these rows stand for."""
    modes: dict[str, dict[str, None]] = {}
    for row in rows:
        modes.setdefault(row["icon"], {})[row["mode"] or "no mode"] = None
    return ", ".join(f"{icon} {' or '.join(sorted(found))}" for icon, found in modes.items())


def _table(rows: Sequence[Row], figures: Sequence[str], bar: int, interval: bool = True) -> Table:
    numbers = ("rank", "range", "")
    shown, bars = output.new_table(*numbers, "model", numbers=numbers), Bars(rows)
    for heading in ("score", *(["[low, high]"] if interval else [])):
        shown.add_column(heading, justify="right", no_wrap=True)
    if bar:
        shown.add_column(bars.heading(bar), no_wrap=True)
    for heading in figures:
        shown.add_column(heading, justify="right", no_wrap=True)
    for row, name in zip(rows, _names(rows), strict=True):
        shown.add_row(
            output.cell(_rank(row)),
            output.cell(_range(row)),
            output.cell(row["icon"]),
            output.cell(name),
            output.cell(f"{row['score']:.4f}"),
            *([output.cell(bounds(row))] if interval else []),
            *([bars.bar(row, bar)] if bar else []),
            *map(output.cell, _figures(row)[: len(figures)]),
        )
    return shown


def _names(rows: Sequence[Row]) -> list[str]:
    """Models, with the mode where one has several runs, and with the folder where that tells no more."""
    models = [row["model"] for row in rows]
    with_mode = [_with(row, row["mode"], models) for row in rows]
    return [
        _with(row, row["run"], with_mode) if with_mode.count(name) > 1 else name
        for row, name in zip(rows, with_mode, strict=True)
    ]


def _with(row: Row, addition: str | None, names: Sequence[str]) -> str:
    model: str = row["model"]
    return f"{model} ({addition})" if addition and names.count(model) != 1 else model


def _figures(row: Row) -> list[str]:
    return [f"{row['length']:.1f}", *(f"{row[metric]:.3f}" for metric in _METRICS)]


def _rank(row: Row) -> str:
    return "–" if row["rank"] is None else str(row["rank"])


def _range(row: Row) -> str:
    low, high = row["rank_low"], row["rank_high"]
    if low is None or high is None:
        return ""
    return str(low) if low == high else f"{low}–{high}"


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
