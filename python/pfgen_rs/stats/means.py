"""Means by the sums that published figures were made with, to the last bit."""

import statistics
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import reduce
from operator import add, mul

from pfgen_rs.errors import InputError
from pfgen_rs.lazy import NDArray, np

_FEW = 64  # values, for which `statistics.mean` is as fast
_NONE = "no values: a mean needs at least one sample"


def mean(values: Sequence[float] | NDArray[np.float64]) -> float:
    """Returns the mean of float64 values exactly as `statistics.mean`: computed exactly, then rounded once.

    Raises `InputError` without values.
    """
    if not len(values):
        raise InputError(_NONE)
    if len(values) > _FEW:
        column = np.asarray(values, dtype=np.float64)
        if np.isfinite(column).all():
            numbers, counts = np.unique(column, return_counts=True)
            total = sum(map(mul, map(Fraction, numbers.tolist()), counts.tolist()))
            return float(total / len(column))
    return float(statistics.mean(map(float, values)))


def running_sum(values: Sequence[float]) -> float:
    """Returns the plain sum from 0, first to last, as Python's `sum` up to 3.11."""
    return reduce(add, values, 0.0)


def running_mean(values: Sequence[float]) -> float:
    """Returns the plain running sum of values divided by their number."""
    return running_sum(values) / len(values)


def kahan_mean(values: Sequence[float]) -> float:
    """Returns the mean by Kahan's sum, which pandas takes for the means of groups.

    Raises `InputError` without values.
    """
    if not len(values):
        raise InputError(_NONE)
    total = rest = 0.0
    for value in values:
        part = value - rest
        following = total + part
        rest = following - total - part
        total = following
    return total / len(values)


def numpy_mean(values: Iterable[float]) -> float | None:
    """Returns numpy's sum of values divided by their number, `None` without any."""
    column = np.array(list(values), np.float64)
    return float(column.sum()) / len(column) if len(column) else None
