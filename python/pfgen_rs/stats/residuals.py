"""Residuals of a regression line, in units of their spread."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pfgen_rs.errors import InputError
from pfgen_rs.stats.checks import paired_numbers

__all__ = ["Line", "regression_line"]

Floats = NDArray[np.float64]
_FEWEST = 3  # points: two always lie on a line
_ROUNDING = 1e-24  # of a sum of squares, relative to that of y: the square of a rounding error


@dataclass(frozen=True)
class Line:
    """The line of least squares through points, and how far each point is from it.

    `residuals`: y minus the line, in units of the residual standard deviation sqrt(SSE / (n - 2)), float64,
    shape (n,); all 0 if every point lies on the line.
    """

    slope: float
    intercept: float
    residuals: Floats


def regression_line(x: ArrayLike, y: ArrayLike) -> Line:
    """Returns the line of y on x by least squares.

    Raises `InputError` for lists of different lengths, fewer than three points, values that are not finite
    numbers (of at most 1e70), and constant x. O(n).
    """
    one, other = paired_numbers(x, y, least=_FEWEST)
    if np.ptp(one) == 0:
        raise InputError("x is constant: expected different numbers")
    from_x, from_y = one - one.mean(), other - other.mean()
    slope = float(from_x @ from_y / (from_x @ from_x))
    apart = from_y - slope * from_x
    squares = float(apart @ apart)
    spread = math.sqrt(squares / (len(one) - 2))
    residuals = apart / spread if squares > _ROUNDING * float(other @ other) else np.zeros(len(one))
    return Line(slope, float(other.mean() - slope * one.mean()), residuals)
