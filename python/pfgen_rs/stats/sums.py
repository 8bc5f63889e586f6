"""Plain left-to-right sums: the published figures' order, on every version of Python.

The built-in `sum` is compensated since CPython 3.12, and numpy's is pairwise.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["left_mean", "left_sum"]


def left_sum(values: Iterable[Any]) -> Any:
    """Sum of numbers (or, element by element, of arrays) from the left, beginning with 0.0."""
    total: Any = 0.0
    for value in values:
        total = total + value
    return total


def left_mean(values: NDArray[np.float64]) -> float:
    """Left-to-right sum divided by the number of values (at least one)."""
    import numpy as np  # here, since whoever needs sums of a few numbers need not wait for it

    return float(np.add.accumulate(values)[-1]) / len(values)
