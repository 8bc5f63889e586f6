"""Calibration: are decisions as often right as their probabilities say."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from pfgen_rs.equality import EqualByFields
from pfgen_rs.judge.agreement.codes import NONE, Codes, Floats
from pfgen_rs.judge.agreement.concordance import majority, same
from pfgen_rs.judge.agreement.intervals import clopper_pearson

__all__ = ["Calibration", "calibration"]

_BINS = 10


@dataclass(frozen=True, eq=False)
class Calibration(EqualByFields):
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
    rows = [
        _calibration_row(i, int(n), float(total), int(hit), level)
        for i, (n, total, hit) in enumerate(zip(number, sums, hits, strict=True))
    ]
    total = int(number.sum())
    return Calibration(
        table=pl.DataFrame(rows, schema=_CALIBRATION_COLUMNS, orient="row"),
        error=float(np.abs(hits - sums).sum() / total) if total else math.nan,
        pairs=total,
        without_probability=int(np.count_nonzero(~known)),
        without_majority=int(np.count_nonzero(known & ~kept)),
    )


_CALIBRATION_COLUMNS = {
    "from": pl.Float64,
    "to": pl.Float64,
    "pairs": pl.Int64,
    "probability": pl.Float64,
    "right": pl.Int64,
    "share": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
}


def _calibration_row(
    i: int, number: int, total: float, right: int, level: float
) -> tuple[float | None, ...]:
    place = i / _BINS, (i + 1) / _BINS, number
    if not number:
        return *place, None, right, None, None, None
    interval = clopper_pearson(right, number, level)
    return *place, total / number, right, right / number, interval.low, interval.high
