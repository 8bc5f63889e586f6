"""Subsets of questions that rank models like the whole: found with some models, tested with others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pfgen_rs.errors import SettingsError
from pfgen_rs.lazy import Floats, NDArray, np
from pfgen_rs.stats import checks

FEWEST = 4
"""The least number of models to find a subset with, and to test it with."""
_EXACT = 9  # decimals of scores that are compared: sums in another order are equal


def subset_curve(
    scores: Floats,
    families: Sequence[str],
    *,
    splits: int = 200,
    agreement: float = 0.9,
    level: float = 0.95,
    seed: int = 0,
) -> dict[str, Any]:
    """Tell how well subsets of each size rank models that had no part in choosing them.

    `scores`: shape (models, questions). In each of `splits`, about half of the models, whole families, choose
    questions (`chosen_order`); Kendall's τ-b between subset and whole is that of the other models. The whole
    contains the subset, so even a random one agrees with it: `random` is of one random subset of the same
    size each time, with the same models.

    `curve`: for each number of `questions`, the means `tau` and `random`, and the bounds `_low` and `_high`
    between which that share (`level`) of the splits lies; empty where families leave no two sides of four
    models. `enough`,
    `enough_random`: the least number from which on the lower bound is at least `agreement`; `None` if only
    the whole is. `order`: all questions in the order in which all models choose them. `splits`: how many were
    made.

    Raises `SettingsError` for invalid settings. Time O(splits · (models² · 20 + questions²)).
    """
    checks.check_seed(seed)
    checks.whole_number(splits, "number of splits", 10)
    checks.check_level(level)
    if not 0 < agreement <= 1:
        raise SettingsError(f"invalid agreement {agreement}: expected a τ above 0, up to 1")
    random = np.random.default_rng(seed)
    questions = scores.shape[1]
    sizes = [k for k in range(1, questions + 1) if k <= 10 or k % 5 == 0 or k == questions]
    taus: dict[str, list[Floats]] = {"tau": [], "random": []}
    for side in (_side(families, random) for _ in range(splits)):
        if FEWEST <= side.sum() <= len(side) - FEWEST:
            chosen, drawn = chosen_order(scores[side]), random.permutation(questions).tolist()
            for key, order in (("tau", chosen), ("random", drawn)):
                sums = scores[~side][:, order].cumsum(axis=1)
                found = kendall(sums[:, np.array(sizes) - 1], sums[:, -1])
                taus[key].append(np.nan_to_num(found))
    curve: list[dict[str, Any]] = []
    for place, size in enumerate(sizes if taus["tau"] else ()):
        at = {key: [each[place] for each in own] for key, own in taus.items()}
        bounded = [mean_and_bounds(key, own, level) for key, own in at.items()]
        curve.append({"questions": size, **bounded[0], **bounded[1]})
    return {
        "splits": len(taus["tau"]),
        "agreement": agreement,
        "curve": curve,
        "enough": _enough(curve, "tau", agreement),
        "enough_random": _enough(curve, "random", agreement),
        "order": chosen_order(scores),
    }


def _side(families: Sequence[str], random: np.random.Generator) -> NDArray[np.bool_]:
    """Returns which models choose: families in random order, as long as they are at most half of all."""
    names, codes, counts = np.unique(families, return_inverse=True, return_counts=True)
    chosen = np.zeros(len(names), dtype=bool)
    for place in random.permutation(len(names)):
        chosen[place] = counts[chosen].sum() + counts[place] <= len(codes) // 2
    return np.asarray(chosen[codes])


def chosen_order(scores: Floats) -> list[int]:
    """Returns all questions, each the one that, with those before, correlates best with the whole.

    Pearson's correlation of the sums over models, which is least squares of the whole's scores after scaling;
    the first of equal ones. On published runs this ranks other models no worse than choosing by τ does, and
    needs no pairs of models.
    """
    covariance = np.cov(scores, rowvar=False)
    totals, own = covariance.sum(axis=0), covariance.diagonal()
    order: list[int] = []
    shared, with_whole, variance = np.zeros(len(own)), 0.0, 0.0
    for _ in own:
        variances = np.maximum(variance + 2 * shared + own, 1e-30)
        fits = ((with_whole + totals) / np.sqrt(variances)).round(12)
        fits[order] = -math.inf
        best = int(fits.argmax())
        variance, with_whole = float(variances[best]), with_whole + float(totals[best])
        shared = shared + covariance[best]
        order.append(best)
    return order


def kendall(columns: Floats, whole: Floats) -> Floats:
    """Returns Kendall's τ-b of each column, shape (items, columns), with one list: NaN where undefined.

    Values that differ by less than 1e-9 are equal. Time O(items² · columns), memory O(items²).
    """
    first, second = np.triu_indices(len(whole), 1)
    signs = np.sign((whole[first] - whole[second]).round(_EXACT))
    found = np.full(columns.shape[1], np.nan)
    for place, values in enumerate(columns.T):
        own = np.sign((values[first] - values[second]).round(_EXACT))
        if pairs := np.count_nonzero(own) * np.count_nonzero(signs):
            found[place] = float(own @ signs) / math.sqrt(pairs)
    return found


def mean_and_bounds(name: str, values: Sequence[float] | Floats, level: float) -> dict[str, float]:
    """Returns the mean of the finite values, and bounds of the middle ones (`_low`, `_high`); else NaN."""
    found = np.asarray(values)[np.isfinite(values)]
    if not len(found):
        found = np.array([np.nan])
    low, high = np.quantile(found, [(1 - level) / 2, (1 + level) / 2]).tolist()
    return {name: float(found.mean()), f"{name}_low": low, f"{name}_high": high}


def _enough(curve: Sequence[dict[str, Any]], key: str, agreement: float) -> int | None:
    """Returns the least number of questions from which on all lower bounds are high enough."""
    low = [row[f"{key}_low"] >= agreement for row in curve[:-1]]  # the whole agrees with itself
    enough = [place for place in range(len(low)) if all(low[place:])]
    return curve[enough[0]]["questions"] if enough else None
