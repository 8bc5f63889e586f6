"""Shares of right answers: intervals of one and of the difference of two, and the test of that difference."""

from __future__ import annotations

import math
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from pfgen_rs.errors import InputError
from pfgen_rs.stats.bootstrap import normal_quantile
from pfgen_rs.stats.checks import count_number, shown_value
from pfgen_rs.stats.student import check_level

__all__ = ["bonett_price", "mcnemar", "wilson"]

Floats = NDArray[np.float64]


def wilson(count: float, n: int, level: float = 0.95) -> tuple[float, float]:
    """Returns the score interval of a binomial share, 0 to 1 if n is 0.

    Unlike mean ± z·se it has a width if all answers are right or all are wrong, and it stays within 0 and 1.
    Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", Journal of
    the American Statistical Association 22 (1927). Raises `InputError` unless n is a whole number and
    0 ≤ count ≤ n, and `SettingsError` for an invalid level.

    >>> [round(bound, 4) for bound in wilson(0, 100)]
    [0.0, 0.037]
    """
    check_level(level)
    n = count_number(n, "number of items")
    if not isinstance(count, Real) or not 0 <= count <= n:
        raise InputError(f"invalid count {shown_value(count)} of {n}: expected 0 to {n}")
    if not n:
        return 0.0, 1.0
    z2, share = normal_quantile(level) ** 2, count / n
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
    check_level(level)
    first, second = count_number(first, "count"), count_number(second, "count")
    n = count_number(n, "number of items")
    if not n:
        raise InputError("invalid number of items 0: expected at least 1")
    if first + second > n:
        raise InputError(
            f"invalid counts {first} and {second} of {n}: expected at most {n} together"
        )
    apart = (first - second) / (n + 2)
    variance = (first + second + 2) / (n + 2) - apart * apart
    reach = normal_quantile(level) * math.sqrt(variance / (n + 2))
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
    first, second = count_number(first, "count"), count_number(second, "count")
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
