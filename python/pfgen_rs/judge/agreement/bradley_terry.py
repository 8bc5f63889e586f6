"""Decided pairs as games of models, and their strengths by Bradley–Terry, a tie as half a win each way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs.errors import InputError, PfgenError
from pfgen_rs.extras import missing
from pfgen_rs.judge.agreement.judged import needed_columns, question_codes
from pfgen_rs.judge.decision_columns import NONE, Codes, Floats, Indices, column_codes
from pfgen_rs.judge.decisions import Rule

_TIE = 2


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
        outcomes=np.where(
            turned, column_codes(played[rule].replace({"A": "B", "B": "A"})), outcomes[kept]
        ),
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


# Strengths


_TOLERANCE = 1e-9
_LIMIT = 10_000  # iterations; a few dozen are the rule
_NEWTON_STEPS = 50
_LONGEST_STEP = 2.0  # of a log-strength: beyond, Newton's method may not converge
_CONVERGED = 1e-9
_SMALL = 1e-12  # keeps matrices regular where strengths are far apart; the solution is the same
_AT_ONCE = 1 << 22  # numbers in a block of matrices
_SHOWN = 3  # names of a group in an error


def bradley_terry(wins: Floats, models: Sequence[str]) -> Floats:
    """Returns log-strengths of models, with mean 0: model i beats j with probability 1/(1 + e^(s_j - s_i)).

    `wins`: wins of each model (rows) against each other (columns), ties as half a win each way. Computed by
    evalica (extra `judge`). A solution exists if every model can be reached from every other one along wins
    or ties. Raises `InputError`, which names models, if it does not exist, and if it is not found.

    Sources: R. A. Bradley & M. E. Terry, "Rank analysis of incomplete block designs", Biometrika 39 (1952);
    M. E. J. Newman, "Efficient computation of rankings from pairwise comparisons", JMLR 24 (2023).
    """
    _check_linked(wins, models)
    try:
        import evalica
    except ImportError as error:
        raise missing("evalica", "judge", error, PfgenError) from error
    winners, losers = np.nonzero(wins)
    result = evalica.bradley_terry(
        winners.tolist(),
        losers.tolist(),
        [evalica.Winner.X] * len(winners),
        weights=wins[winners, losers].tolist(),
        tolerance=_TOLERANCE,
        limit=_LIMIT,
    )
    logs = np.empty(len(wins))
    logs[np.asarray(result.scores.index, dtype=np.int64)] = np.log(result.scores.to_numpy())
    if result.iterations >= _LIMIT or not np.isfinite(logs).all():
        raise InputError(
            f"Bradley–Terry did not converge in {_LIMIT} iterations: win rates do not need it"
        )
    return np.asarray(logs - logs.mean())


def resampled_strengths(wins: Floats, start: Floats) -> Floats:
    """Returns log-strengths of each resample: shape (resamples, models), NaN where there is no solution.

    `wins`: shape (resamples, models, models). `start`: strengths of the data. They solve the same equations
    as `bradley_terry`, by Newton's method for all resamples at once.
    """
    found = np.full(wins.shape[:2], np.nan)
    expected = wins.sum(axis=0) > 0
    sound = np.array(
        [(each > 0)[expected].all() or len(_linked_groups(each, "strong")) == 1 for each in wins],
        dtype=bool,
    )
    rows = max(1, _AT_ONCE // len(start) ** 2)
    places = np.flatnonzero(sound)
    for first in range(0, len(places), rows):
        part = places[first : first + rows]
        found[part] = _newton_strengths(wins[part], start)
    return found


def _newton_strengths(wins: Floats, start: Floats) -> Floats:
    """Returns log-strengths with mean 0, NaN where Newton's method does not converge."""
    games = wins + wins.swapaxes(-1, -2)
    won, logs = wins.sum(axis=-1), np.tile(start, (len(wins), 1))
    open_, diagonal = np.arange(len(wins)), np.arange(len(start))
    for _ in range(_NEWTON_STEPS):
        now = logs[open_]
        beats = 1 / (1 + np.exp(now[:, None, :] - now[:, :, None]))
        gradient = won[open_] - (games[open_] * beats).sum(axis=-1)
        weights = games[open_] * beats * (1 - beats)
        # Strengths are known up to a constant, whose direction is made regular.
        information = 1.0 - weights
        information[:, diagonal, diagonal] += weights.sum(axis=-1) + _SMALL
        step = np.linalg.solve(information, gradient[..., None])[..., 0]
        largest = np.abs(step).max(axis=-1)
        damping = _LONGEST_STEP / np.maximum(largest, _LONGEST_STEP)
        logs[open_] = now + step * damping[:, None]
        open_ = open_[largest > _CONVERGED]
        if not len(open_):
            break
    logs[open_] = np.nan
    return np.asarray(logs - logs.mean(axis=-1, keepdims=True))


def _check_linked(wins: Floats, models: Sequence[str]) -> None:
    groups = _linked_groups(wins, "weak")
    if len(groups) > 1:
        apart = " | ".join(_names_of_group(group, models) for group in groups)
        raise InputError(
            f"models are not connected by games, so they cannot be ranked together: {apart}"
        )
    groups = _linked_groups(wins, "strong")
    for group in groups if len(groups) > 1 else ():
        outside = np.setdiff1d(np.arange(len(wins)), group)
        always, never = wins[outside][:, group].sum(), wins[group][:, outside].sum()
        if not always or not never:
            did = "never lost or tied" if not always else "never won or tied"
            raise InputError(
                f"Bradley–Terry has no solution: {_names_of_group(group, models)} {did} against "
                f"{_names_of_group(outside.tolist(), models)}: leave models out, or use win rates"
            )


def _linked_groups(wins: Floats, connection: str) -> list[list[int]]:
    try:
        from scipy.sparse.csgraph import connected_components  # type: ignore[import-untyped]
    except ImportError as error:
        raise missing("scipy", "judge", error, PfgenError) from error
    number, labels = connected_components(wins > 0, directed=True, connection=connection)
    return [np.flatnonzero(labels == group).tolist() for group in range(number)]


def _names_of_group(group: Sequence[int], models: Sequence[str]) -> str:
    shown = ", ".join(repr(models[i]) for i in group[:_SHOWN])
    return f"{shown} and {len(group) - _SHOWN} more" if len(group) > _SHOWN else shown
