"""Sums as the published scorer computes them, in both readings and on every version of Python.

Plain: float64 addition from the left, as by the built-in `sum` up to CPython 3.11. Compensated: the same,
with the rounding errors summed apart and added at the end (Neumaier 1974), as by `sum` since CPython 3.12.
numpy's sum, which is pairwise, is neither; statistics of scores use it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pfgen_rs.lazy import np


def left_sum(values: Iterable[Any], *, compensated: bool = False) -> Any:
    """Sum of numbers (or, element by element, of arrays) from the left, starting with 0.0."""
    total: Any = 0.0
    error: Any = 0.0
    for value in values:
        before, total = total, total + value
        if compensated:
            error = error + _rounding_error(before, value, total)
    return _corrected(total, error) if compensated else total


def _rounding_error(a: Any, b: Any, total: Any) -> Any:
    """`a + b - total` for the rounded `total`: exact, so equal to Neumaier's term (Knuth's TwoSum)."""
    b_part = total - a
    return (a - (total - b_part)) + (b - b_part)


def _corrected(total: Any, error: Any) -> Any:
    """The sum with its error; as in CPython, an error that is not finite is left out."""
    return np.where(np.isfinite(error), total + error, total)[()]
