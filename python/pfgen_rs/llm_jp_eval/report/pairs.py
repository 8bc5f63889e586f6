"""Paired comparison of runs over the same samples, column by column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pfgen_rs.llm_jp_eval.report.columns import Column, Part
from pfgen_rs.llm_jp_eval.report.estimates import RunValues
from pfgen_rs.stats.permutation import holm, resolution, sign_flip_by_size
from pfgen_rs.stats.shares import WeightedMean, bonett_price, mcnemar, p_values, weighted_mean

__all__ = ["MOST_FLIPPED", "ColumnPair", "compared_columns", "pair_order"]

Floats = NDArray[np.float64]
Test = Literal["mcnemar", "sign_flip", "t"]
Bounds = tuple[float | None, float | None]
_PERMUTATIONS = 10_000
_FOR_EACH = (
    4  # permutations: the smallest p is 1/permutations, and Holm multiplies it by the family
)
_DIGITS = 12
_FEW = 12  # samples up to which all choices of signs are enumerated
MOST_FLIPPED = 250
"""Tests in a family up to which signs are flipped; beyond, Student's t has smaller p-values for Holm."""


@dataclass(frozen=True, slots=True)
class ColumnPair:
    """Two runs in a column.

    `difference`: a's value minus b's, over the samples that both have. `se`: its standard error, from paired
    differences. `low`, `high`: its interval, Bonett and Price's for shares of right answers, and otherwise
    difference ± t·se within what is possible. `test`: `mcnemar` (exact), `sign_flip` or `t`. `p_holm`: p
    corrected for the `family` of tests of the same kind of column. `smallest_p`: what random signs resolve,
    0 where p is exact. `minimum_detectable`: the difference that the test of this pair alone finds with 80 %
    power. `samples`: how many the difference rests on.
    """

    a: str
    b: str
    column: str
    difference: float
    se: float | None
    low: float | None
    high: float | None
    test: Test
    p: float
    p_holm: float
    smallest_p: float
    family: int
    minimum_detectable: float | None
    samples: int

    def turned(self) -> ColumnPair:
        """Returns the same comparison with b first."""
        low, high = (None if x is None else -x for x in (self.high, self.low))
        return replace(self, a=self.b, b=self.a, difference=-self.difference, low=low, high=high)

    def to_dict(self) -> dict[str, Any]:
        """Returns all fields by name."""
        return asdict(self)


def pair_order(runs: int) -> list[tuple[int, int]]:
    """Returns the places of every two runs."""
    return list(combinations(range(runs), 2))


def compared_columns(
    values: Sequence[RunValues], columns: Sequence[Column], level: float, seed: int
) -> list[ColumnPair]:
    """Compare every two runs in columns of one kind, which form a family for Holm's correction.

    `values`: of runs over the same samples (`runs.aligned`), which all columns follow from. A column is left
    out where it has no value, and a correlation where it has no standard error. Ordered by column, then by
    pair.
    """
    known = frozenset.intersection(*(each.sampled for each in values))
    order = pair_order(len(values))
    family = len(order) * len(columns)
    found: list[ColumnPair] = []
    for column in columns:
        parts = column.present(known)
        if not column.has_value(known):
            continue
        found += _compared_column(values, column, parts, order, level, seed, family)
    if not found:
        return []
    corrected = holm(np.array([pair.p for pair in found])).tolist()
    return [
        replace(pair, p_holm=p, family=len(found)) for pair, p in zip(found, corrected, strict=True)
    ]


def _compared_column(
    values: Sequence[RunValues],
    column: Column,
    parts: Sequence[Part],
    order: Sequence[tuple[int, int]],
    level: float,
    seed: int,
    family: int,
) -> list[ColumnPair]:
    samples = [[each[part] for part in parts] for each in values]
    test = _test_of_column(column, parts, family)
    permutations = max(_PERMUTATIONS, math.ceil(_FOR_EACH * family / (1 - level)))
    weights = [part.weight for part in parts]
    differences = [[x - y for x, y in zip(samples[i], samples[j], strict=True)] for i, j in order]
    means = [weighted_mean(apart, weights) for apart in differences]
    if test == "t":
        p = p_values(means)
    else:
        p = [_paired_p(test, apart[0], permutations, seed) for apart in differences]
    number = sum(map(len, samples[0]))
    farthest = 2.0 if column.is_correlation else 1.0
    found = []
    for (i, j), apart, mean, tested in zip(order, differences, means, p, strict=True):
        if tested is None or not math.isfinite(tested):
            continue
        bounds: Bounds = (
            bonett_price(*_only_one_right(apart[0]), number, level)
            if test == "mcnemar"
            else _interval_within(mean, farthest, level)
        )
        signs = int(np.count_nonzero(_rounded(apart[0]))) if test == "sign_flip" else 0
        smallest = resolution(signs, permutations) if signs > _FEW else 0.0
        names = values[i].run.name, values[j].run.name, column.name
        found.append(_column_pair(names, mean, bounds, test, tested, smallest, level, number))
    return found


def _test_of_column(column: Column, parts: Sequence[Part], family: int) -> Test:
    if len(parts) > 1 or column.is_correlation:
        return "t"
    if parts[0].metric == "exact_match":
        return "mcnemar"
    return "sign_flip" if family <= MOST_FLIPPED else "t"


def _paired_p(test: Test, apart: Floats, permutations: int, seed: int) -> float:
    """Returns the exact or permutation p-value of a single task."""
    if test == "mcnemar":
        return mcnemar(*_only_one_right(apart))
    return sign_flip_by_size(_rounded(apart), permutations=permutations, seed=seed, few=_FEW)


def _rounded(apart: Floats) -> Floats:
    """Returns differences of which those of the same size are equal numbers."""
    return apart.round(_DIGITS)


def _only_one_right(apart: Floats) -> tuple[int, int]:
    """Returns how many samples only the first, and only the second, has right."""
    return int((apart > 0).sum()), int((apart < 0).sum())


def _interval_within(found: WeightedMean, farthest: float, level: float) -> Bounds:
    """Returns Student's interval of a difference, cut at the largest that there can be."""
    low, high = found.interval(level) if found.se else (None, None)
    if low is None or high is None:
        return None, None
    return max(low, -farthest), min(high, farthest)


def _column_pair(
    names: tuple[str, str, str],
    found: WeightedMean,
    bounds: Bounds,
    test: Test,
    p: float,
    smallest_p: float,
    level: float,
    samples: int,
) -> ColumnPair:
    return ColumnPair(
        *names,
        difference=found.value,
        se=found.se,
        low=bounds[0],
        high=bounds[1],
        test=test,
        p=p,
        p_holm=1.0,
        smallest_p=smallest_p,
        family=0,
        minimum_detectable=found.detectable(level) if found.se else None,
        samples=samples,
    )
