"""Intervals of shares, exact and from resamples; position bias, preference of longer answers, calibration."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import Any

from pfgen_rs.errors import InputError, PfgenError
from pfgen_rs.extras import missing
from pfgen_rs.judge.agreement.kappa import Letters, majority, paired_codes, same
from pfgen_rs.judge.decision_columns import NONE, Codes
from pfgen_rs.lazy import Floats, NDArray, np, pl
from pfgen_rs.stats.checks import MOST_FREEDOM, check_level, two_sided_quantile
from pfgen_rs.stats.shares import wilson

_NO_SPREAD = 1e-18


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval: `low` to `high`, which hold the true value with probability `level`."""

    low: float
    high: float
    level: float


@dataclass(frozen=True, slots=True)
class Share:
    """`count` of `n`, with the exact interval of the share.

    `value` is NaN, and the interval 0 to 1, if n is 0.
    """

    count: int
    n: int
    interval: Interval

    @property
    def value(self) -> float:
        """The share: count/n."""
        return self.count / self.n if self.n else math.nan

    def to_dict(self) -> dict[str, Any]:
        """Returns JSON types: `count`, `n`, `share` (null if n is 0), `low`, `high`, `level`."""
        return {
            "count": self.count,
            "n": self.n,
            "share": self.value if self.n else None,
            "low": self.interval.low,
            "high": self.interval.high,
            "level": self.interval.level,
        }


def share_of(count: int, n: int, level: float = 0.95) -> Share:
    """Returns the share `count` of `n` with its exact interval."""
    return Share(int(count), int(n), clopper_pearson(count, n, level))


def clopper_pearson(count: int, n: int, level: float = 0.95) -> Interval:
    """Returns the exact interval of a binomial share, 0 to 1 if n is 0.

    Source: C. J. Clopper & E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case
    of the binomial", Biometrika 26 (1934). Needs scipy (extra `judge`). Raises `InputError` unless
    0 ≤ count ≤ n, and `SettingsError` for an invalid level.

    >>> clopper_pearson(0, 3).low
    0.0
    """
    check_level(level)
    if not 0 <= count <= n:
        raise InputError(f"invalid count {count} of {n}: expected 0 to {n}")
    try:
        from scipy.special import betaincinv  # type: ignore[import-untyped]
    except ImportError as error:
        raise missing("scipy", "judge", error, PfgenError) from error
    tail = (1 - level) / 2
    low = float(betaincinv(count, n - count + 1, tail)) if count else 0.0
    high = float(betaincinv(count + 1, n - count, 1 - tail)) if count < n else 1.0
    return Interval(low, high, level)


def fewest_questions(level: float) -> int:
    """Returns how many questions it takes to tell two models apart at a level.

    With fewer, one of two equal models wins on all of them but one, or on all, with a probability above
    1 - level: 2·(n + 1)/2ⁿ. Bootstraps take that for a difference.

    >>> fewest_questions(0.95)
    9
    """
    return next(n for n in itertools.count(1) if 2 * (n + 1) / 2**n <= 1 - level)


def bootstrap_bounds(
    values: Floats, resampled: Floats, level: float, questions: int | NDArray[np.integer[Any]]
) -> tuple[Floats, Floats]:
    """Returns bounds of each of `values`, of which `resampled` are resamples (shape (resamples, …)).

    `questions`: how many each value depends on. Percentiles, which are further out the fewer questions there
    are (the "expanded percentile interval": T. C. Hesterberg, "What teachers should know about the
    bootstrap", The American Statistician 69 (2015)), or Student's interval with the spread of the resamples,
    whichever bound is further out. Resamples without a value (NaN) are left out; without any value bounds are
    NaN.
    """
    numbers = np.broadcast_to(questions, resampled.shape[1:])
    filled = ~np.isnan(resampled).all(axis=0)
    bounds = np.full((2, *resampled.shape[1:]), np.nan)
    for number in np.unique(numbers[filled]).tolist():
        chosen, reach = filled & (numbers == number), _student_reach(level, number)
        drawn, tail = resampled[:, chosen], expanded_tail(level, number)
        low, high = np.nanquantile(drawn, [tail, 1 - tail], axis=0)
        apart, middle = reach * np.nanstd(drawn, axis=0), np.asarray(values)[chosen]
        bounds[:, chosen] = np.fmin(low, middle - apart), np.fmax(high, middle + apart)
    return bounds[0, ...], bounds[1, ...]


def expanded_tail(level: float, questions: int) -> float:
    """Returns the share of resamples beyond each bound: 0 for a single question."""
    return math.erfc(_student_reach(level, questions) / math.sqrt(2)) / 2 if questions > 1 else 0.0


def _student_reach(level: float, questions: int) -> float:
    """Returns how many standard errors of resamples, which are too small, an interval reaches."""
    if questions < 2:
        return 0.0
    freedom = min(questions - 1, MOST_FREEDOM)
    return two_sided_quantile(level, freedom) * math.sqrt(questions / (questions - 1))


def share_bounds(
    values: Floats,
    resampled: Floats,
    level: float,
    questions: int | NDArray[np.integer[Any]],
    lowest: float = 0.0,
) -> tuple[Floats, Floats]:
    """Returns bounds of statistics between `lowest` and 1, which have a width even if all questions agree.

    Arguments as for `bootstrap_bounds`. The bounds contain Wilson's, for as many questions as make the spread
    of the resamples, or all questions if there is no spread or they are fewer than `fewest_questions`.
    """
    low, high = bootstrap_bounds(values, resampled, level, questions)
    np.maximum(low, lowest, out=low)
    np.minimum(high, 1.0, out=high)
    shares, width = (np.asarray(values) - lowest) / (1 - lowest), 1 - lowest
    numbers, few = np.broadcast_to(questions, shares.shape), fewest_questions(level)
    known, drawn = ~np.isnan(shares) & ~np.isnan(low), np.moveaxis(resampled, 0, -1)
    for place in map(tuple, np.argwhere(known).tolist()):
        share, number = min(max(float(shares[place]), 0.0), 1.0), int(numbers[place])
        spread = float(np.nanvar(drawn[place])) / width**2
        size = share * (1 - share) / spread if spread > _NO_SPREAD else number
        size = max(1, round(min(size, number) if number < few else size))
        below, above = wilson(share * size, size, level)
        low[place] = min(low[place], lowest + width * below)
        high[place] = max(high[place], lowest + width * above)
    return low, high


# Biases


_A, _B = 0, 1


def position_bias(first: Letters, second: Letters, *, level: float = 0.95) -> Share:
    """Returns among pairs that flip between winners the share won by the answer shown first in both orders.

    `first`, `second`: letters of order 1 and of order 2, the latter swapped back; pairs with a tie or an
    invalid verdict (`None`) do not count. Without position bias the share is 1/2. The interval is exact
    (extra `judge`). Raises `InputError` for unequal lengths and unknown letters.

    >>> position_bias(["A", "A", "B", "C"], ["B", "B", "A", "A"]).value
    0.6666666666666666
    """
    return position_bias_of_codes(*paired_codes(first, second), level)


def position_bias_of_codes(first: Codes, second: Codes, level: float) -> Share:
    """Returns the same from codes."""
    towards_first = int(np.count_nonzero((first == _A) & (second == _B)))
    towards_second = int(np.count_nonzero((first == _B) & (second == _A)))
    return share_of(towards_first, towards_first + towards_second, level)


# Calibration


_BINS = 10


@dataclass(frozen=True, eq=False)
class Calibration:
    """How often the decisions of `probability` are the raters' majority, by the winner's probability.

    The winner's probability is the largest of the mean probabilities, as they are (not renormalised).
    `table`: ten bins of equal width, one row each: `from`, `to` (a bin holds from ≤ p < to; the last one
    also p = 1), `pairs`, `probability` (mean of the bin), `right`, `share` (right/pairs) with its exact
    interval `low`, `high`; null where no pair is. `error`: expected calibration error, the mean over
    pairs of |share - probability| of their bins; NaN without pairs. `pairs`: how many; `without_probability`
    and `without_majority` were left out. Pairs for which several letters share the lead among the raters
    have no majority.
    """

    table: pl.DataFrame = field(repr=False)
    error: float
    pairs: int
    without_probability: int
    without_majority: int

    def to_dict(self) -> dict[str, Any]:
        """Returns JSON types."""
        return {
            "expected_calibration_error": None if math.isnan(self.error) else self.error,
            "pairs": self.pairs,
            "without_probability": self.without_probability,
            "without_majority": self.without_majority,
            "bins": self.table.to_dicts(),
        }


def calibration(
    decisions: Codes, probabilities: Floats, raters: Codes, level: float = 0.95
) -> Calibration:
    """Returns the calibration of decisions by `probability`.

    `decisions`: shape (pairs,). `probabilities`: that of the winner, NaN for none. `raters`: shape (raters,
    pairs). Source of the error: M. P. Naeini, G. F. Cooper, M. Hauskrecht, "Obtaining well calibrated
    probabilities using Bayesian binning", AAAI 2015.
    """
    known = (decisions != NONE) & ~np.isnan(probabilities)
    chosen = majority(raters)
    kept = known & (chosen != NONE)
    p, right = probabilities[kept], same(decisions, chosen)[kept]
    bins = np.minimum((p * _BINS).astype(np.int64), _BINS - 1)
    number = np.bincount(bins, minlength=_BINS)
    sums = np.bincount(bins, weights=p, minlength=_BINS)
    hits = np.bincount(bins[right], minlength=_BINS)
    bounds = [
        clopper_pearson(hit, n, level) if n else Interval(math.nan, math.nan, level)
        for hit, n in zip(hits.tolist(), number.tolist(), strict=True)
    ]
    edges, total = np.arange(_BINS + 1) / _BINS, int(number.sum())
    with np.errstate(invalid="ignore"):
        means, shares = sums / number, hits / number
    columns = {
        "from": edges[:-1],
        "to": edges[1:],
        "pairs": number,
        "probability": means,
        "right": hits,
        "share": shares,
        "low": [each.low for each in bounds],
        "high": [each.high for each in bounds],
    }
    return Calibration(
        table=pl.DataFrame(columns).fill_nan(None),
        error=float(np.abs(hits - sums).sum() / total) if total else math.nan,
        pairs=total,
        without_probability=int(np.count_nonzero(~known)),
        without_majority=int(np.count_nonzero(known & ~kept)),
    )
