"""Correlation of two lists of numbers, in plain Python, since there are only as many as runs."""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["FEWEST", "pearson", "spearman"]

FEWEST = 3  # two points always lie on a line


def pearson(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Returns Pearson's correlation; `None` for fewer than three pairs or if either list is constant."""
    if len(one) < FEWEST:
        return None
    first, second = _centred_for_correlation(one), _centred_for_correlation(other)
    spread = math.sqrt(_correlation_scalar_product(first, first)) * math.sqrt(
        _correlation_scalar_product(second, second)
    )
    if not spread:
        return None
    return max(-1.0, min(1.0, _correlation_scalar_product(first, second) / spread))


def spearman(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Returns Spearman's correlation: Pearson's of the ranks, with ties given their mean rank."""
    return pearson(_correlation_mid_ranks(one), _correlation_mid_ranks(other))


def _centred_for_correlation(values: Sequence[float]) -> list[float]:
    mean = math.fsum(values) / len(values)
    # The mean of equal numbers may be off by a rounding error, so that they would seem to vary.
    if min(values) == max(values):
        return [0.0] * len(values)
    return [value - mean for value in values]


def _correlation_scalar_product(one: Sequence[float], other: Sequence[float]) -> float:
    return math.fsum(x * y for x, y in zip(one, other, strict=True))


def _correlation_mid_ranks(values: Sequence[float]) -> list[float]:
    ordered = sorted(values)
    first: dict[float, int] = {}
    count: dict[float, int] = {}
    for place, value in enumerate(ordered):
        first.setdefault(value, place)
        count[value] = count.get(value, 0) + 1
    return [first[value] + (count[value] - 1) / 2 for value in values]
