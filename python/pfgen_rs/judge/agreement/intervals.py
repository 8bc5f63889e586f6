"""Shares with exact intervals, and intervals from resamples."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pfgen_rs.errors import InputError, PfgenError
from pfgen_rs.extras import missing
from pfgen_rs.stats.student import check_level

__all__ = ["Interval", "Share", "clopper_pearson", "percentile_bounds", "share_of"]

Floats = NDArray[np.float64]


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


def percentile_bounds(resampled: Floats, level: float) -> tuple[Floats, Floats]:
    """Returns percentile bounds of each column of `resampled` (shape (resamples, …)).

    Resamples without a value (NaN) are left out; a column without any value has NaN bounds.
    """
    tail = (1 - level) / 2
    filled = ~np.isnan(resampled).all(axis=0)
    bounds = np.full((2, *resampled.shape[1:]), np.nan)
    if filled.any():
        bounds[:, filled] = np.nanquantile(resampled[:, filled], [tail, 1 - tail], axis=0)
    return bounds[0], bounds[1]
