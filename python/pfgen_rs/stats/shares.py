"""Shares of right answers: intervals of one and of the difference of two, and the test of that difference."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TypeAlias

from pfgen_rs.errors import InputError
from pfgen_rs.lazy import Floats, NDArray, np
from pfgen_rs.stats import checks


def wilson(count: float, n: int, level: float = 0.95) -> tuple[float, float]:
    """Returns the score interval of a binomial share, 0 to 1 if n is 0.

    Unlike mean ± z·se it has a width if all answers are right or all are wrong, and it stays within 0 and 1.
    Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", Journal of
    the American Statistical Association 22 (1927). Raises `InputError` unless n is a whole number and
    0 ≤ count ≤ n, and `SettingsError` for an invalid level.

    >>> [round(bound, 4) for bound in wilson(0, 100)]
    [0.0, 0.037]
    """
    checks.check_level(level)
    n = checks.count_number(n, "number of items")
    if not isinstance(count, Real) or not 0 <= count <= n:
        raise InputError(f"invalid count {checks.shown_value(count)} of {n}: expected 0 to {n}")
    if not n:
        return 0.0, 1.0
    z2, share = checks.normal_quantile(level) ** 2, count / n
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    reach = math.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    low = 0.0 if count == 0 else max(centre - reach, 0.0)
    return low, 1.0 if count == n else min(centre + reach, 1.0)


def bonett_price(first: int, second: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Returns the interval of the difference of two shares of the same n items, within -1 and 1.

    `first`, `second`: the numbers of items that only the first, or only the second, has right; the difference
    is (first - second)/n. Like `wilson`, and unlike mean ± t·se, it holds for few items and has a width if
    all differences are equal. Source: D. G. Bonett & R. M. Price, "Adjusted Wald confidence interval for a
    difference of binomial proportions based on paired data", Journal of Educational and Behavioral
    Statistics 37 (2012). Raises `InputError` unless all are whole numbers with 0 ≤ first + second ≤ n and
    n > 0, and `SettingsError` for an invalid level.

    >>> [round(bound, 4) for bound in bonett_price(1, 0, 4)]
    [-0.3832, 0.7165]
    """
    checks.check_level(level)
    first, second = checks.count_number(first, "count"), checks.count_number(second, "count")
    n = checks.count_number(n, "number of items")
    if not n:
        raise InputError("invalid number of items 0: expected at least 1")
    if first + second > n:
        raise InputError(
            f"invalid counts {first} and {second} of {n}: expected at most {n} together"
        )
    apart = (first - second) / (n + 2)
    variance = (first + second + 2) / (n + 2) - apart * apart
    reach = checks.normal_quantile(level) * math.sqrt(variance / (n + 2))
    found = (first - second) / n  # which a low level would leave out
    return max(min(apart - reach, found), -1.0), min(max(apart + reach, found), 1.0)


def mcnemar(first: int, second: int) -> float:
    """Returns McNemar's exact two-sided p-value.

    `first`, `second`: the numbers of items that only the first, or only the second, has right. Under the
    hypothesis of equal shares each such item is a fair coin: p = 2·P(X ≤ min), at most 1, for X binomial with
    n = first + second and probability 1/2. The same as `sign_flip` over all choices of signs. Relative error
    below 1e-11. Time linear in the smaller number. Raises `InputError` unless both are whole numbers of at
    least 0.

    >>> mcnemar(1, 9)
    0.021484375
    """
    first, second = checks.count_number(first, "count"), checks.count_number(second, "count")
    few, n = min(first, second), first + second
    if 2 * few >= n - 1:  # the tails meet
        return 1.0
    if n < 64:
        tail: int = sum(math.comb(n, k) for k in range(few + 1))
        return min(1.0, 2 * tail / (1 << n))
    k = np.arange(1, few + 1)
    logs = np.concatenate([[0.0], np.cumsum(np.log((n + 1 - k) / k))]) - n * math.log(2)
    top = float(logs.max())
    return min(1.0, 2 * math.exp(top) * float(np.exp(logs - top).sum()))


# Weighted sums of the means of independent samples, such as a mean over tasks of their means over samples.
#
# Such a sum is linear in the samples, so its variance is known without resampling: Σ w²·s²/n, with the
# degrees of freedom of F. E. Satterthwaite, "An approximate distribution of estimates of variance
# components", Biometrics Bulletin 2 (1946), and B. L. Welch (1947). Two runs over the same samples are
# compared by the sum over their differences.
#
# Where samples share something, such as questions about the same text, s²/n is that of clusters: with e the
# sum of the deviations in a cluster, G/(G-1)·Σ e²/n², with G-1 degrees of freedom (K.-Y. Liang & S. L. Zeger,
# "Longitudinal data analysis using generalized linear models", Biometrika 73 (1986)).


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
        reach = checks.two_sided_quantile(level, self.freedom) * self.se
        return self.value - reach, self.value + reach

    def p(self) -> float | None:
        """Returns the two-sided p-value of Student's test that the true value is 0."""
        return p_values([self])[0]

    def detectable(self, level: float = 0.95, power: float = POWER) -> float | None:
        """Returns the true value that the test finds with this power: (t + z)·se, as `Pair` has it."""
        if self.se is None or self.freedom is None:
            return None
        t = checks.two_sided_quantile(level, self.freedom)
        return (t + checks.normal_quantile(2 * power - 1)) * self.se


Clusters: TypeAlias = "NDArray[np.int64] | None"
"""The number of the cluster of each value, from 0; `None` where values are independent."""


def weighted_mean(
    samples: Sequence[Floats], weights: Sequence[float], clusters: Sequence[Clusters] | None = None
) -> WeightedMean:
    """Returns Σ w·mean over independent samples (one-dimensional arrays, at least one value each).

    `clusters`: of each sample, those of its values (default: values are independent). A single cluster says
    nothing about others, as a single value does. Values that are not finite, such as differences of infinite
    errors, leave value and `se` undefined: NaN or infinite. Raises `InputError` for no samples, an empty one,
    or another number of weights.
    """
    if not samples or len(samples) != len(weights) or not all(map(len, samples)):
        raise InputError("expected at least one sample, none of them empty, and a weight for each")
    value = math.fsum(w * float(x.mean()) for w, x in zip(weights, samples, strict=True))
    groups = clusters or [None] * len(samples)
    freedoms = [_units(x, own) - 1 for x, own in zip(samples, groups, strict=True)]
    if min(freedoms) < 1:
        return WeightedMean(value, None, None)
    variances = [
        w * w * _variance(x, own) / len(x)
        for w, x, own in zip(weights, samples, groups, strict=True)
    ]
    total = math.fsum(variances)
    # Samples without variance say nothing about how well the others' is known.
    below = math.fsum(v * v / f for v, f in zip(variances, freedoms, strict=True) if v > 0.0)
    if len(samples) == 1 or below == 0.0:
        freedom = min(freedoms)
    else:
        freedom = _few_freedoms(total * total / below * (1 + 1e-12))
    return WeightedMean(value, math.sqrt(total), max(1, min(freedom, checks.MOST_FREEDOM)))


def _units(values: Floats, clusters: Clusters) -> int:
    return len(values) if clusters is None else int(clusters.max()) + 1


def _variance(values: Floats, clusters: Clusters) -> float:
    """Returns n times the variance of the mean."""
    if clusters is None:
        return float(values.var(ddof=1))
    sums = cluster_sums(values - values.mean(), clusters)
    return len(sums) / (len(sums) - 1) * float(sums @ sums) / len(values)


def cluster_sums(values: Floats, clusters: Clusters) -> Floats:
    """Returns the sum of the values in each cluster: of independent values, the values."""
    return values if clusters is None else np.asarray(np.bincount(clusters, values), np.float64)


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
        for i, p in zip(places, checks.two_sided_p(t, freedom).tolist(), strict=True):
            found[i] = p
    return found


def _few_freedoms(freedom: float) -> int:
    """Round down, larger numbers to fewer digits: quantiles of t are computed once for each number."""
    step = next((step for most, step in _STEPS if freedom < most), 100)
    return int(freedom) // step * step
