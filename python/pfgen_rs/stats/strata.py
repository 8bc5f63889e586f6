"""Weighted sums of the means of independent samples, such as a mean over tasks of their means over samples.

Such a sum is linear in the samples, so its variance is known without resampling: Σ w²·s²/n, with the
degrees of freedom of F. E. Satterthwaite, "An approximate distribution of estimates of variance components",
Biometrics Bulletin 2 (1946), and B. L. Welch (1947). Two runs over the same samples are compared by the sum
over their differences.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pfgen_rs.errors import InputError
from pfgen_rs.stats.bootstrap import normal_quantile
from pfgen_rs.stats.student import MOST_FREEDOM, two_sided_p, two_sided_quantile

__all__ = ["POWER", "WeightedMean", "p_values", "weighted_mean"]

Floats = NDArray[np.float64]
POWER = 0.8
_STEPS = ((50, 1), (200, 10))  # below, in steps of; t changes by less than 0.5 %


@dataclass(frozen=True, slots=True)
class WeightedMean:
    """A weighted sum of means: its value, standard error, and degrees of freedom.

    `se` and `freedom` are `None` if a sample has a single value, which says nothing about the others.
    """

    value: float
    se: float | None
    freedom: int | None

    def interval(self, level: float = 0.95) -> tuple[float | None, float | None]:
        """Returns value ± t·se."""
        if self.se is None or self.freedom is None:
            return None, None
        reach = two_sided_quantile(level, self.freedom) * self.se
        return self.value - reach, self.value + reach

    def p(self) -> float | None:
        """Returns the two-sided p-value of Student's test that the true value is 0."""
        return p_values([self])[0]

    def detectable(self, level: float = 0.95, power: float = POWER) -> float | None:
        """Returns the true value that the test finds with this power: (t + z)·se, as `Pair` has it."""
        if self.se is None or self.freedom is None:
            return None
        t = two_sided_quantile(level, self.freedom)
        return (t + normal_quantile(2 * power - 1)) * self.se


def weighted_mean(samples: Sequence[Floats], weights: Sequence[float]) -> WeightedMean:
    """Returns Σ w·mean over independent samples (one-dimensional arrays, at least one value each).

    Values that are not finite, such as differences of infinite errors, leave value and `se` undefined: NaN or
    infinite. Raises `InputError` for no samples, an empty one, or another number of weights.
    """
    if not samples or len(samples) != len(weights) or not all(map(len, samples)):
        raise InputError("expected at least one sample, none of them empty, and a weight for each")
    value = math.fsum(w * float(x.mean()) for w, x in zip(weights, samples, strict=True))
    if min(map(len, samples)) < 2:
        return WeightedMean(value, None, None)
    variances = [
        w * w * float(x.var(ddof=1)) / len(x) for w, x in zip(weights, samples, strict=True)
    ]
    total = math.fsum(variances)
    # Samples without variance say nothing about how well the others' is known.
    known = [(v, len(x) - 1) for v, x in zip(variances, samples, strict=True) if v > 0.0]
    below = math.fsum(v * v / freedom for v, freedom in known)
    if len(samples) == 1 or below == 0.0:
        freedom = min(len(x) - 1 for x in samples)
    else:
        freedom = _few_freedoms(total * total / below * (1 + 1e-12))
    return WeightedMean(value, math.sqrt(total), max(1, min(freedom, MOST_FREEDOM)))


def p_values(means: Sequence[WeightedMean]) -> list[float | None]:
    """Returns the p-value of each, as `WeightedMean.p`: together they take less time."""
    found: list[float | None] = [None] * len(means)
    by_freedom: dict[int, list[int]] = {}
    for i, each in enumerate(means):
        if each.se == 0.0:
            found[i] = 0.0 if each.value else 1.0
        elif each.se is not None and each.freedom is not None:
            by_freedom.setdefault(each.freedom, []).append(i)
    for freedom, places in by_freedom.items():
        t = np.array([means[i].value / (means[i].se or 1.0) for i in places])
        for i, p in zip(places, two_sided_p(t, freedom).tolist(), strict=True):
            found[i] = p
    return found


def _few_freedoms(freedom: float) -> int:
    """Round down, larger numbers to fewer digits: quantiles of t are computed once for each number."""
    step = next((step for most, step in _STEPS if freedom < most), 100)
    return int(freedom) // step * step
