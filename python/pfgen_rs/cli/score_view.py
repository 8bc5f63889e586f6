"""Shows the runs of `pfgen-rs score` as a table that fits the window, or as plain lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import RenderableType

from pfgen_rs.cli import output
from pfgen_rs.cli.score_table import ScoreTable, aligned_score_lines, score_number
from pfgen_rs.io.safe_text import visible
from pfgen_rs.metrics.names import PARTS

__all__ = ["score_leaderboard", "score_view_lines"]

Row = Mapping[str, Any]
_PUBLISHED, _LENGTH = "published ±", "length"


def score_leaderboard(rows: Sequence[Row], room: int) -> list[RenderableType]:
    """Returns a table with as many columns as fit a window of `room`, its legend, and the signatures."""
    signatures = dict.fromkeys(row["signature"] for row in rows)
    ranks = [str(rank) for rank, _ in enumerate(rows, 1)]
    table = ScoreTable(
        rows,
        about={"rank": ranks, "run": _score_view_names(rows)},
        columns=_score_view_columns(rows),
        optional=(_PUBLISHED, _LENGTH),
    )
    if len(signatures) == 1:
        return [*table.parts(room), *map(output.cell, signatures)]
    marked = (f"{sign}  (rank {', '.join(_score_view_ranks(rows, sign))})" for sign in signatures)
    return [*table.parts(room), *map(output.cell, marked)]


def _score_view_columns(rows: Sequence[Row]) -> dict[str, list[str]]:
    """Returns the cells of all columns after the interval."""
    return {
        _PUBLISHED: [_score_view_spread(row) for row in rows],
        _LENGTH: [f"{row['length']:.1f} ±{row['length_std']:.1f}" for row in rows],
        **{metric: [f"{row[metric]:.4f}" for row in rows] for metric in PARTS},
    }


def _score_view_spread(row: Row) -> str:
    trials = row["num_trials"]
    is_known = trials > 1 and row["score_std"] is not None
    return f"±{row['score_std']:.4f}/√{trials}" if is_known else "–"


def _score_view_names(rows: Sequence[Row]) -> list[str]:
    times = Counter(row["name"] for row in rows)
    return [row["name"] + f" ({row['file']})" * (times[row["name"]] > 1) for row in rows]


def _score_view_ranks(rows: Sequence[Row], signature: str) -> list[str]:
    return [str(rank) for rank, row in enumerate(rows, 1) if row["signature"] == signature]


def score_view_lines(rows: Sequence[Row]) -> str:
    """Returns one line per run below a header, in aligned columns, with no non-ASCII symbols of our own."""
    head = (
        "rank",
        "score",
        "low",
        "high",
        "trials",
        "length",
        *PARTS,
        "run",
        "file",
        "signature",
    )
    return aligned_score_lines(
        [head, *(_plain_score_line(rank, row) for rank, row in enumerate(rows, 1))], texts=3
    )


def _plain_score_line(rank: int, row: Row) -> tuple[str, ...]:
    return (
        str(rank),
        *map(score_number, (row["score"], row["score_low"], row["score_high"])),
        str(row["num_trials"]),
        f"{row['length']:.1f}",
        *(score_number(row[metric]) for metric in PARTS),
        *(visible(str(row[key])) for key in ("name", "file", "signature")),
    )
