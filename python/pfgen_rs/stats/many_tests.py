"""Correction for multiple tests."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["holm"]

Floats = NDArray[np.float64]


def holm(p: Floats) -> Floats:
    """Returns Holm-adjusted p-values, in the order of `p`.

    Rejecting all that are at most 0.05 has at most a 5 % chance of any false rejection. The i-th smallest of
    m becomes the largest of (m - k + 1)·p_k for k = 1 … i, at most 1.
    Source: S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
    Statistics 6 (1979). Time O(m log m).

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p, kind="stable")
    stepped = p[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return adjusted
