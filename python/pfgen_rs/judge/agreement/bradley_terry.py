"""Strengths of models by Bradley–Terry, a tie as half a win each way."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pfgen_rs.errors import InputError, PfgenError
from pfgen_rs.extras import missing
from pfgen_rs.judge.agreement.codes import Floats

__all__ = ["bradley_terry", "resampled_strengths"]

_TOLERANCE = 1e-9
_LIMIT = 10_000  # iterations; a few dozen are the rule
_NEWTON_STEPS = 50
_LONGEST_STEP = (
    2.0  # of a log-strength: beyond, Newton's method may leave the region where it converges
)
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
    found = _evalica_strengths(wins)
    if found is None:
        raise InputError(
            f"Bradley–Terry did not converge in {_LIMIT} iterations: win rates do not need it"
        )
    return found


def resampled_strengths(wins: Floats, start: Floats) -> Floats:
    """Returns log-strengths of each resample: shape (resamples, models), NaN where there is no solution.

    `wins`: shape (resamples, models, models). `start`: strengths of the data. They solve the same equations
    as `bradley_terry`, by Newton's method for all resamples at once.
    """
    found = np.full(wins.shape[:2], np.nan)
    expected = wins.sum(axis=0) > 0
    sound = np.array([(each > 0)[expected].all() or _is_linked(each) for each in wins], dtype=bool)
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


def _evalica_strengths(wins: Floats) -> Floats | None:
    """Returns log-strengths, `None` if evalica does not converge; a solution must exist."""
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
    if result.iterations >= _LIMIT:
        return None
    scores = result.scores
    logs = np.empty(len(wins))
    logs[np.asarray(scores.index, dtype=np.int64)] = np.log(scores.to_numpy())
    return np.asarray(logs - logs.mean()) if np.isfinite(logs).all() else None


def _check_linked(wins: Floats, models: Sequence[str]) -> None:
    groups = _linked_groups(wins, "weak")
    if len(groups) > 1:
        apart = " | ".join(_names_of_group(group, models) for group in groups)
        raise InputError(
            f"models are not connected by games, so they cannot be ranked together: {apart}"
        )
    groups = _linked_groups(wins, "strong")
    if len(groups) == 1:
        return
    for group in groups:
        outside = np.setdiff1d(np.arange(len(wins)), group)
        always, never = wins[outside][:, group].sum(), wins[group][:, outside].sum()
        if not always or not never:
            did = "never lost or tied" if not always else "never won or tied"
            raise InputError(
                f"Bradley–Terry has no solution: {_names_of_group(group, models)} {did} against "
                f"{_names_of_group(outside.tolist(), models)}: leave models out, or use win rates"
            )


def _is_linked(wins: Floats) -> bool:
    return len(_linked_groups(wins, "strong")) == 1


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
