"""Decided pairs as games between models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs.errors import InputError
from pfgen_rs.judge.agreement.codes import NONE, Codes, Floats, Indices, column_codes
from pfgen_rs.judge.agreement.judged import needed_columns, question_codes
from pfgen_rs.judge.decisions import Rule

__all__ = ["Games", "games_of", "sums_by_model", "win_matrix"]

_B, _TIE = 1, 2


@dataclass(frozen=True)
class Games:
    """Games of `models[first]` against `models[second]`, with first < second; arrays of shape (games,).

    `outcomes`: 0 the first one won, 1 the second one, 2 a tie. `preferences`: normalised mean probability
    that the first one wins, plus half that of a tie; NaN without probabilities. `questions`: codes of
    questions. `left_out`: pairs without a decision.
    """

    models: tuple[str, ...]
    first: Indices
    second: Indices
    outcomes: Codes
    preferences: Floats
    questions: Indices
    left_out: int


def games_of(decisions: pl.DataFrame, rule: Rule) -> Games:
    """Returns the games of a frame of decisions; models in alphabetical order.

    Raises `InputError` for missing columns, unknown letters, a model against itself, and no decided pair.
    """
    needed_columns(decisions, ("question_id", "model_a", "model_b", rule), "decisions")
    outcomes = column_codes(decisions[rule])
    kept = outcomes != NONE
    played = decisions.filter(pl.Series(kept, dtype=pl.Boolean))
    if played.is_empty():
        raise InputError(f"no pair has a decision by {rule}: nothing to rank")
    a, b = (played[name].cast(pl.String) for name in ("model_a", "model_b"))
    alone = a.filter(a == b).first()
    if alone is not None:
        raise InputError(f"a pair of the model {alone!r} with itself: expected two models")
    if a.null_count() or b.null_count():
        raise InputError("a pair without models: ranking needs model_a and model_b")
    models = pl.concat([a, b]).unique().sort()
    first, second = (
        each.cast(pl.Enum(models)).to_physical().cast(pl.Int64).to_numpy() for each in (a, b)
    )
    turned, preferences = first > second, _preferences(played)
    return Games(
        models=tuple(models.to_list()),
        first=np.minimum(first, second),
        second=np.maximum(first, second),
        outcomes=_turned_outcomes(outcomes[kept], turned),
        preferences=np.where(turned, 1 - preferences, preferences),
        questions=question_codes(played["question_id"]),
        left_out=int(np.count_nonzero(~kept)),
    )


def win_matrix(first: Indices, second: Indices, counts: Floats, models: int) -> Floats:
    """Returns wins of each model against each other, a tie as half a win for both.

    `first`, `second`: models of each pairing. `counts`: wins of the first, of the second, and ties of each
    pairing: shape (…, pairings, 3). Returns shape (…, models, models), winners first.
    """
    wins = np.zeros((*counts.shape[:-2], models, models))
    wins[..., first, second] = counts[..., 0] + counts[..., _TIE] / 2
    wins[..., second, first] = counts[..., 1] + counts[..., _TIE] / 2
    return wins


def sums_by_model(games: Games, of_first: Floats, of_second: Floats) -> Floats:
    """Returns sums of values over each question's games of each model: shape (questions, models).

    `of_first`, `of_second`: those of the first and of the second model of each game.
    """
    questions, models = int(games.questions.max()) + 1, len(games.models)
    size = questions * models
    sums = np.bincount(games.questions * models + games.first, of_first, size)
    sums += np.bincount(games.questions * models + games.second, of_second, size)
    return np.asarray(sums, dtype=np.float64).reshape(questions, models)


def _turned_outcomes(outcomes: Codes, turned: NDArray[np.bool_]) -> Codes:
    swapped = np.where(outcomes == _TIE, _TIE, _B - outcomes)
    return np.where(turned, swapped, outcomes).astype(np.int8)


def _preferences(played: pl.DataFrame) -> Floats:
    if not {"p_a", "p_b", "p_c"} <= {*played.columns}:
        return np.full(len(played), np.nan)
    a, b, c = (
        played[name].cast(pl.Float64).fill_null(float("nan")).to_numpy()
        for name in ("p_a", "p_b", "p_c")
    )
    total: NDArray[Any] = a + b + c
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(total > 0, (a + c / 2) / total, np.nan)
