"""How the judge's scores of answers go with people's (table 5), and with the answers' lengths."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import numpy as np
import polars as pl

from pfgen_rs.errors import SettingsError
from pfgen_rs.judge.dialogues.records import Answer, Dialogue, sorted_authors
from pfgen_rs.judge.dialogues.tables import First, distinct_firsts
from pfgen_rs.stats.correlation import (
    fisher_interval,
    group_resamples,
    moments,
    pearson,
    percentile_interval,
    resampled_moments,
    resampled_spearman,
    spearman,
)

__all__ = ["ALL", "RESAMPLES", "Turn", "human_judge_correlation", "length_bias"]

Turn = Literal[1, 2]
ALL = "all"
"""Label of the row over all authors."""
RESAMPLES = 1000
Row = tuple[float, float, str]

_CORRELATION = {
    "author": pl.String,
    "answers": pl.Int64,
    "user_turns": pl.Int64,
    **dict.fromkeys(
        (
            "pearson",
            "pearson_low",
            "pearson_high",
            "pearson_fisher_low",
            "pearson_fisher_high",
            "spearman",
            "spearman_low",
            "spearman_high",
            "spearman_fisher_low",
            "spearman_fisher_high",
        ),
        pl.Float64,
    ),
}
_LENGTH_BIAS = {
    "author": pl.String,
    "answers": pl.Int64,
    "user_turns": pl.Int64,
    **dict.fromkeys(
        ("slope", "slope_low", "slope_high", "spearman", "spearman_low", "spearman_high"),
        pl.Float64,
    ),
}


def human_judge_correlation(
    dialogues: Iterable[Dialogue],
    *,
    turn: Turn = 2,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> pl.DataFrame:
    """Returns table 5: Pearson's and Spearman's correlation of mean human score and judge's score by author.

    Over answers to the second turn or, with `turn=1`, to the first (each once) that have both scores. One
    row per author and one for all: `author`, `answers`, `user_turns` (distinct first user turns), and for
    both correlations the value, `_low` and `_high` (bootstrap over first user turns), `_fisher_low` and
    `_fisher_high` (Fisher's interval, as if answers were independent); null where undefined.
    """

    def both(answer: Answer) -> tuple[float, float] | None:
        if answer.mean is None or answer.judge is None:
            return None
        return float(answer.mean), float(answer.judge)

    def row(x: Any, y: Any, groups: Any, counts: Any) -> tuple[float | None, ...]:
        r, rho = pearson(x, y), spearman(x, y)
        drawn = resampled_moments(x, y, groups, counts).pearson
        ranked = resampled_spearman(x, y, groups, counts)
        return (
            r,
            *(percentile_interval(drawn, level) if r is not None else (None, None)),
            *fisher_interval(r, len(x), level),
            rho,
            *(percentile_interval(ranked, level) if rho is not None else (None, None)),
            *fisher_interval(rho, len(x), level, ranks=True),
        )

    rows = _association_rows(_members(dialogues, turn), both, row, resamples, seed)
    return pl.DataFrame(rows, schema=_CORRELATION, orient="row")


def length_bias(
    dialogues: Iterable[Dialogue],
    *,
    turn: Turn = 2,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> pl.DataFrame:
    """Returns how much more than people the judge likes long answers, by author and over all.

    Slope (least squares) and Spearman's correlation of judge's score minus mean human score on the natural
    logarithm of the length in code points, each with its interval (bootstrap over first user turns). Empty
    answers, and those without both scores, are left out. Columns: `author`, `answers`, `user_turns`, `slope`,
    `slope_low`, `slope_high`, `spearman`, `spearman_low`, `spearman_high`.
    """

    def both(answer: Answer) -> tuple[float, float] | None:
        if answer.mean is None or answer.judge is None or not answer.text:
            return None
        return math.log(len(answer.text)), float(answer.judge - answer.mean)

    def row(x: Any, y: Any, groups: Any, counts: Any) -> tuple[float | None, ...]:
        varied = len(x) > 1 and np.ptp(x) > 0
        rho = spearman(x, y)
        drawn = resampled_moments(x, y, groups, counts).slope
        ranked = resampled_spearman(x, y, groups, counts)
        return (
            float(moments(x, y).slope[0]) if varied else None,
            *(percentile_interval(drawn, level) if varied else (None, None)),
            rho,
            *(percentile_interval(ranked, level) if rho is not None else (None, None)),
        )

    rows = _association_rows(_members(dialogues, turn), both, row, resamples, seed)
    return pl.DataFrame(rows, schema=_LENGTH_BIAS, orient="row")


def _members(dialogues: Iterable[Dialogue], turn: Turn) -> list[First]:
    if turn not in (1, 2):
        raise SettingsError(f"invalid turn {turn}: expected 1 or 2")
    if turn == 1:
        return distinct_firsts(dialogues)
    return [(dialogue, answer) for dialogue in dialogues for answer in dialogue.seconds]


def _association_rows(
    members: Sequence[First],
    both: Callable[[Answer], tuple[float, float] | None],
    row: Callable[[Any, Any, Any, Any], tuple[float | None, ...]],
    resamples: int,
    seed: int,
) -> list[tuple[Any, ...]]:
    """Returns a row per author and one for all; resamples are the same for all authors of the same size."""
    values: dict[str, list[Row]] = {}
    for dialogue, answer in members:
        found = both(answer)
        if found is not None:
            values.setdefault(answer.author, []).append((*found, dialogue.user1))
    authors = sorted_authors(values)
    parts = [(author, values[author]) for author in authors]
    if len(authors) > 1:
        parts.append((ALL, [each for author in authors for each in values[author]]))
    rows: list[tuple[Any, ...]] = []
    for author, part in parts:
        x, y = (np.array([each[i] for each in part], dtype=np.float64) for i in (0, 1))
        numbers = {turn: i for i, turn in enumerate(dict.fromkeys(each[2] for each in part))}
        groups = np.array([numbers[each[2]] for each in part], dtype=np.int64)
        counts = group_resamples(len(numbers), resamples, seed)
        rows.append((author, len(part), len(numbers), *row(x, y, groups, counts)))
    return rows
