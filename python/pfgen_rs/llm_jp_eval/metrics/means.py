"""The exactly rounded mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pfgen_rs.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["mean"]

_FEW = 64  # values, for which `statistics.mean` is as fast
_MANTISSA = 53
_LOWER = 26  # bits of a mantissa that are summed apart, so that int64 has room for 2^36 values


def mean(values: Sequence[float] | NDArray[np.float64]) -> float:
    """Returns the mean of float64 values exactly as `statistics.mean`: computed exactly, then rounded once.

    Raises `InputError` without values.
    """
    if not len(values):
        raise InputError("no values: a mean needs at least one sample")
    import statistics  # here, since importing the package should cost next to nothing

    if len(values) <= _FEW:
        return float(statistics.mean(map(float, values)))
    import numpy as np

    column = np.asarray(values, dtype=np.float64)
    if not np.isfinite(column).all():
        return float(statistics.mean(column.tolist()))
    total, scale = _exact_sum(column)
    return (total << scale) / len(column) if scale >= 0 else total / (len(column) << -scale)


def _exact_sum(column: NDArray[np.float64]) -> tuple[int, int]:
    """Returns the sum of finite values as an integer and the power of two that it is multiplied by."""
    import numpy as np

    fractions, exponents = np.frexp(column)
    mantissas = np.ldexp(fractions, _MANTISSA).astype(np.int64)
    lowest = int(exponents.min())
    total = 0
    for exponent in np.unique(exponents).tolist():
        some = mantissas[exponents == exponent]
        upper, lower = int((some >> _LOWER).sum()), int((some & ((1 << _LOWER) - 1)).sum())
        total += ((upper << _LOWER) + lower) << (exponent - lowest)
    return total, lowest - _MANTISSA
