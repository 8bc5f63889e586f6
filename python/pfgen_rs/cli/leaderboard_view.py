"""Shows the rows of `pfgen-rs leaderboard` as a table that fits the window, or as plain lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import RenderableType

from pfgen_rs.cli import output
from pfgen_rs.cli.score_table import ScoreTable, aligned_score_lines, score_number
from pfgen_rs.io.safe_text import visible
from pfgen_rs.metrics.names import PARTS

__all__ = ["leaderboard_lines", "leaderboard_report"]

Row = Mapping[str, Any]
_LENGTH = "length"
_RANGES = ("rank", "own_rank")
_OWN = "own range"
_LEGENDS = {
    "range": "range: ranks that paired tests cannot rule out, for all runs at once",
    _OWN: "own range: the same for one run alone, if you chose it before seeing any scores",
}


def leaderboard_report(rows: Sequence[Row], room: int) -> list[RenderableType]:
    """Returns a table with as many columns as fit a window of `room`, its legend, and the signatures."""
    own = [_leaderboard_rank_range(row, _RANGES[1]) for row in rows]
    ranges = {_OWN: own} if any(own) else {}  # tables of earlier versions have none
    table = ScoreTable(
        rows,
        about={
            "rank": [_leaderboard_rank(row) for row in rows],
            "range": [_leaderboard_rank_range(row, _RANGES[0]) for row in rows],
            "": [row["icon"] for row in rows],
            "model": _leaderboard_names(rows),
        },
        columns={**ranges, **_leaderboard_columns(rows)},
        optional=(*ranges, _LENGTH),
    )
    signatures = dict.fromkeys(row["signature"] for row in rows if row.get("signature"))
    legends = [_LEGENDS[name] for name in ("range", *ranges)]
    captions = (*legends, _leaderboard_icons(rows), *signatures)
    return [*table.parts(room), *map(output.cell, captions)]


def _leaderboard_icons(rows: Sequence[Row]) -> str:
    """Returns a legend of the icons in these rows."""
    modes: dict[str, dict[str, None]] = {}
    for row in rows:
        modes.setdefault(row["icon"], {})[row["mode"] or "no mode"] = None
    return ", ".join(f"{icon} {' or '.join(sorted(found))}" for icon, found in modes.items())


def _leaderboard_names(rows: Sequence[Row]) -> list[str]:
    """Returns unique names: models, with the mode or the folder if a model has several runs."""
    models = [row["model"] for row in rows]
    with_mode = [_leaderboard_names_with(row, row["mode"], models) for row in rows]
    return [
        _leaderboard_names_with(row, row["run"], with_mode) if with_mode.count(name) > 1 else name
        for row, name in zip(rows, with_mode, strict=True)
    ]


def _leaderboard_names_with(row: Row, addition: str | None, names: Sequence[str]) -> str:
    model: str = row["model"]
    return f"{model} ({addition})" if addition and names.count(model) != 1 else model


def _leaderboard_columns(rows: Sequence[Row]) -> dict[str, list[str]]:
    """Returns the cells of the length and the metrics."""
    return {
        _LENGTH: [f"{row['length']:.1f}" for row in rows],
        **{metric: [f"{row[metric]:.3f}" for row in rows] for metric in PARTS},
    }


def _leaderboard_rank(row: Row) -> str:
    return "–" if row["rank"] is None else str(row["rank"])


def _leaderboard_rank_range(row: Row, which: str) -> str:
    low, high = row.get(f"{which}_low"), row.get(f"{which}_high")
    if low is None or high is None:
        return ""
    return str(low) if low == high else f"{low}–{high}"


def leaderboard_lines(rows: Sequence[Row]) -> str:
    """Returns one line per run below a header, in aligned columns, with no non-ASCII symbols of our own."""
    head = (
        "rank",
        "ranks",
        "score",
        "low",
        "high",
        "trials",
        "length",
        *PARTS,
        "model",
        "run",
        "own",
    )
    return aligned_score_lines([head, *map(_plain_leaderboard_line, rows)], texts=3)


def _plain_leaderboard_line(row: Row) -> tuple[str, ...]:
    return (
        _leaderboard_rank(row).replace("–", "-"),
        _plain_rank_range(row, _RANGES[0]),
        f"{row['score']:.4f}",
        *map(score_number, (row["score_low"], row["score_high"])),
        str(row["num_trials"]),
        *(cells[0] for cells in _leaderboard_columns([row]).values()),
        visible(row["model"]),
        visible(row["run"]),
        _plain_rank_range(row, _RANGES[1]),
    )


def _plain_rank_range(row: Row, which: str) -> str:
    return _leaderboard_rank_range(row, which).replace("–", "-") or "-"
