"""Rank ranges: the ranks that paired tests cannot exclude."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pfgen_rs.errors import InputError
from pfgen_rs.stats.many_tests import holm
from pfgen_rs.stats.student import check_level, two_sided_p

__all__ = ["ranges", "rank_ranges"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
_NO_DIFFERENCE = 1e-12


def rank_ranges(means: Floats, *, level: float = 0.95) -> list[tuple[int, int]]:
    """Returns for each run the best and the worst rank that paired tests cannot exclude.

    `means`: the mean of each question in each run, float64, shape (runs, questions). Every two runs are
    compared by Student's paired t-test over questions, with Holm's correction for all pairs; a significantly
    better run ranks above the other. With probability `level`, all ranges together contain the true ranks
    (M. Mogstad, J. P. Romano, A. M. Shaikh, D. Wilhelm, "Inference for ranks", Review of Economic Studies 91
    (2024)). A permutation test would need more than 20 permutations per pair to reach such small p-values.
    With fewer than two questions, no rank is excluded.

    Time O(runs² · questions), 0.5 s for 1,000 runs with 50 questions; memory O(runs²).
    Raises `InputError` if `means` has another shape or missing values.

    >>> rank_ranges(np.array([[0.9, 0.8, 0.9], [0.1, 0.1, 0.2]]))
    [(1, 1), (2, 2)]
    """
    check_level(level)
    if means.ndim != 2 or not np.isfinite(means).all():
        raise InputError("expected finite means with shape (runs, questions)")
    runs, questions = means.shape
    if questions < 2 or runs < 2:
        return [(1, runs)] * runs
    t = _t_statistics_for_ranks(means)
    upper = np.triu_indices(runs, 1)
    apart = np.zeros((runs, runs), dtype=bool)
    apart[upper] = holm(two_sided_p(t[upper], questions - 1)) <= 1 - level
    return ranges((apart | apart.T) & (t > 0))


def ranges(better: Flags) -> list[tuple[int, int]]:
    """Returns best and worst rank of each run; `better[i, j]`: run i is significantly better than run j."""
    best = 1 + better.sum(axis=0)
    worst = len(better) - better.sum(axis=1)
    return list(zip(best.tolist(), worst.tolist(), strict=True))


def _t_statistics_for_ranks(means: Floats) -> Floats:
    """Returns paired t of every two runs: shape (runs, runs), infinite if all differences are equal."""
    runs, questions = means.shape
    t = np.zeros((runs, runs))
    for i in range(runs - 1):
        differences = means[i] - means[i + 1 :]
        mean, spread = differences.mean(axis=1), differences.std(axis=1, ddof=1)
        mean[np.abs(mean) < _NO_DIFFERENCE] = 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            row = mean / (spread / np.sqrt(questions))
        t[i, i + 1 :] = np.nan_to_num(row, nan=0.0, posinf=np.inf, neginf=-np.inf)
    return t - t.T
