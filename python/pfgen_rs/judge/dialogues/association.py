"""Scores of judges against people's (table 5), lengths of answers, and other judges; means of ratings."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs.errors import InputError, SettingsError, unreadable
from pfgen_rs.judge.agreement.kappa import cohen_kappa
from pfgen_rs.judge.dialogues.mt_bench import INVALID, Ratings, Row, ratings_of
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

Turn = Literal[1, 2]
ALL = "all"
"""Label of the row over all authors."""
RESAMPLES = 1000
Scored = tuple[float, float, str]

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
    values: dict[str, list[Scored]] = {}
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


# Ratings in FastChat's format


MEAN = "mean"
"""Label of the mean over all ratings."""

Floats = NDArray[np.float64]
_KEYS = ("question_id", "model", "turn")
_MEANS = {
    "judge": pl.String,
    "model": pl.String,
    "category": pl.String,
    "ratings": pl.Int64,
    "invalid": pl.Int64,
    "mean": pl.Float64,
}
_MEASURES = ("pearson", "spearman", "kappa")
_AGREEMENT = {
    "judge_a": pl.String,
    "judge_b": pl.String,
    "over": pl.String,
    "items": pl.Int64,
    "questions": pl.Int64,
    **{f"{measure}{bound}": pl.Float64 for measure in _MEASURES for bound in ("", "_low", "_high")},
    **{
        f"{measure}_fisher{bound}": pl.Float64
        for measure in _MEASURES[:2]
        for bound in ("_low", "_high")
    },
}


def read_judge_table(path: str | os.PathLike[str]) -> Ratings:
    """Read a CSV file with `question_id`, `model`, `turn`, and one column of ratings per judge.

    An empty cell is no rating, and -1 an invalid one. Raises `InputError` with file and row.
    """
    rows: list[Row] = []
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:  # noqa: PTH123 - any path
            reader = csv.DictReader(file, strict=True)
            judges = [name for name in reader.fieldnames or () if name not in _KEYS]
            missing = [key for key in _KEYS if key not in (reader.fieldnames or ())]
            if missing or not judges:
                expected = f"expected {', '.join(_KEYS)} and a column per judge"
                raise InputError(f"missing columns: {expected}")
            for number, row in enumerate(reader, start=1):
                rows += _judge_table_row(row, judges, number)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(unreadable(error), path=os.fspath(path)) from error
    except InputError as error:
        raise InputError(error.problem, path=os.fspath(path), line=error.line, item="row") from None
    return ratings_of(rows)


def model_means(ratings: Ratings, categories: Mapping[str, str] | None = None) -> pl.DataFrame:
    """Returns mean ratings of each model by each judge: over everything, by turn and by category.

    `categories`: by question id; questions without one are in the mean over everything and by turn only.
    One row per judge, model and category, where `category` is "mean", "turn 1", … or a category: `ratings`
    (valid ones), `invalid`, `mean`. Models by descending mean.
    """
    known = categories or {}
    parts: dict[tuple[str, str], dict[str, list[float | None]]] = {}
    for row in ratings.frame.iter_rows(named=True):
        found = parts.setdefault((row["judge"], row["model"]), {})
        names = [MEAN, f"turn {row['turn']}"]
        category = known.get(row["question_id"])
        for name in [*names, category] if category else names:
            found.setdefault(name, []).append(row["score"])
    turns = sorted({int(turn) for turn in ratings.frame["turn"].unique()})
    columns = [MEAN, *(f"turn {turn}" for turn in turns), *dict.fromkeys(known.values())]
    rows: list[tuple[Any, ...]] = []
    judges = list(dict.fromkeys(judge for judge, _ in parts))
    for judge in judges:
        mine = {model: found for (by, model), found in parts.items() if by == judge}
        order = sorted(mine, key=lambda model: (-(_valid_mean(mine[model][MEAN]) or 0.0), model))
        for model in order:
            for column in columns:
                scores = mine[model].get(column, [])
                valid = [score for score in scores if score is not None]
                counts = len(valid), len(scores) - len(valid)
                rows.append((judge, model, column, *counts, _valid_mean(scores)))
    return pl.DataFrame(rows, schema=_MEANS, orient="row")


def judge_agreement(
    ratings: Ratings, *, level: float = 0.95, resamples: int = 1000, seed: int = 0
) -> pl.DataFrame:
    """Returns the agreement of every two judges, over models and over items.

    An item is a model's answer to one turn of a question. Items that one of the two judges did not rate, or
    rated invalidly, are left out; several ratings of an item by a judge count as their mean. Over "models",
    the correlations are those of the models' means, and `kappa` is null. Over "items", `kappa` is Cohen's
    with quadratic weights. `_low` and `_high`: bootstrap over questions, with all models' answers to a
    question together; `_fisher_low` and `_fisher_high`: Fisher's interval, which takes models (or items) as
    independent.
    """
    items = (
        ratings.frame.drop_nulls("score")
        .group_by("question_id", "model", "turn", "judge", maintain_order=True)
        .agg(pl.col("score").mean())
    )
    rows = []
    for a, b in combinations(ratings.frame["judge"].unique(maintain_order=True).to_list(), 2):
        both = items.filter(pl.col("judge") == a).join(
            items.filter(pl.col("judge") == b),
            on=["question_id", "model", "turn"],
            suffix="_b",
            maintain_order="left",
        )
        rows += _agreement_rows(a, b, both, level, resamples, seed)
    return pl.DataFrame(rows, schema=_AGREEMENT, orient="row")


def _agreement_rows(
    a: str, b: str, both: pl.DataFrame, level: float, resamples: int, seed: int
) -> list[dict[str, Any]]:
    if both.is_empty():
        return []
    questions, groups = np.unique(both["question_id"].to_numpy(), return_inverse=True)
    counts = group_resamples(len(questions), resamples, seed)
    x, y = both["score"].to_numpy(), both["score_b"].to_numpy()
    names = {"judge_a": a, "judge_b": b, "questions": len(questions)}
    models, means, drawn = _resampled_model_means(both, groups, counts)
    over_models = [
        (_row_correlation(pearson, one, other), _row_correlation(spearman, one, other))
        for one, other in zip(*drawn, strict=True)
    ]
    resampled = np.array(over_models, dtype=np.float64).T
    items = resampled_moments(x, y, groups, counts)
    kappa = cohen_kappa(x, y, weights="quadratic")
    return [
        {
            **names,
            "over": "models",
            "items": len(models),
            **_correlations(means[0], means[1], resampled[0], resampled[1], level),
        },
        {
            **names,
            "over": "items",
            "items": len(both),
            **_correlations(x, y, items.pearson, resampled_spearman(x, y, groups, counts), level),
            **_bounded("kappa", None if math.isnan(kappa) else kappa, items.quadratic_kappa, level),
        },
    ]


def _resampled_model_means(
    both: pl.DataFrame, groups: NDArray[np.int64], counts: NDArray[np.int32]
) -> tuple[list[str], Floats, Floats]:
    """Returns the models, their means by both judges, shape (2, models), and (2, resamples, models)."""
    names, models = np.unique(both["model"].to_numpy(), return_inverse=True)
    shape = len(names), counts.shape[1]
    places = models * shape[1] + groups
    size = np.bincount(places, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)
    means, drawn = [], []
    weights = counts.astype(np.float64)
    with np.errstate(invalid="ignore"):
        for name in ("score", "score_b"):
            sums = np.bincount(places, both[name].to_numpy(), minlength=shape[0] * shape[1])
            sums = sums.reshape(shape)
            means.append(sums.sum(axis=1) / size.sum(axis=1))
            # Not a matrix product: its last digits depend on the number of threads.
            above, below = (np.einsum("rg,mg->rm", weights, each) for each in (sums, size))
            drawn.append(above / below)
    return list(names), np.array(means), np.array(drawn)


def _row_correlation(measure: Any, one: Floats, other: Floats) -> float:
    """Returns the correlation over the models that a resample has."""
    known = np.isfinite(one) & np.isfinite(other)
    found = measure(one[known], other[known])
    return math.nan if found is None else found


def _correlations(
    x: Floats, y: Floats, drawn: Floats, ranked: Floats, level: float
) -> dict[str, float | None]:
    r, rho = pearson(x, y), spearman(x, y)
    fisher = fisher_interval(r, len(x), level), fisher_interval(rho, len(x), level, ranks=True)
    return {
        **_bounded("pearson", r, drawn, level),
        **_bounded("spearman", rho, ranked, level),
        **dict(zip(("pearson_fisher_low", "pearson_fisher_high"), fisher[0], strict=True)),
        **dict(zip(("spearman_fisher_low", "spearman_fisher_high"), fisher[1], strict=True)),
    }


def _bounded(
    name: str, value: float | None, drawn: Floats, level: float
) -> dict[str, float | None]:
    low, high = (None, None) if value is None else percentile_interval(drawn, level)
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def _valid_mean(scores: list[float | None]) -> float | None:
    valid = [score for score in scores if score is not None]
    return math.fsum(valid) / len(valid) if valid else None


def _judge_table_row(row: Mapping[str, str | None], judges: list[str], number: int) -> list[Row]:
    turn = row["turn"] or ""
    if None in row or not all(row[key] for key in _KEYS) or not turn.isdecimal():
        raise InputError(
            "expected a question_id, a model, a whole number as turn, and a rating per judge",
            line=number,
        )
    found: list[Row] = []
    for judge in judges:
        text = (row[judge] or "").strip()
        if text:
            score = _table_rating(text, number, judge)
            found.append(
                (str(row["question_id"]), str(row["model"]), judge, None, int(turn), score)
            )
    return found


def _table_rating(text: str, number: int, judge: str) -> float | None:
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if score == INVALID:
        return None
    if not math.isfinite(score) or score < 0:
        raise InputError(
            f"column {judge!r} must be a number of at least 0, or -1, not {text!r:.60}",
            line=number,
        )
    return score
