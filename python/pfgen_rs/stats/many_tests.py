"""Correction for multiple tests."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pfgen_rs.stats.checks import probabilities

__all__ = ["holm", "holm_by_row"]

Floats = NDArray[np.float64]


def holm(p: ArrayLike) -> Floats:
    """Returns Holm-adjusted p-values, in the order of `p`: one axis, empty if there are no tests.

    Rejecting all that are at most 0.05 has at most a 5 % chance of any false rejection. The i-th smallest of
    m becomes the largest of (m - k + 1)·p_k for k = 1 … i, at most 1.
    Source: S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
    Statistics 6 (1979). Time O(m log m). Raises `InputError` unless all p are
    numbers from 0 to 1.

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    return holm_by_row(probabilities(p, "p")[None]).ravel()


def holm_by_row(p: Floats) -> Floats:
    """Returns Holm-adjusted p-values, each row of `p` (shape (families, tests)) a family."""
    order = np.argsort(p, axis=1, kind="stable")
    stepped = np.take_along_axis(p, order, axis=1) * np.arange(p.shape[1], 0, -1)
    adjusted = np.empty(p.shape)
    np.put_along_axis(
        adjusted, order, np.minimum(np.maximum.accumulate(stepped, axis=1), 1.0), axis=1
    )
    return adjusted
