"""Paired comparisons of runs, column by column."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pfgen_rs.llm_jp_eval.report.columns import LEVEL, Column, Part
from pfgen_rs.llm_jp_eval.report.runs import ReportRun
from pfgen_rs.stats.permutation import holm, resolution, sign_flip_by_size
from pfgen_rs.stats.shares import (
    WeightedMean,
    bonett_price,
    mcnemar,
    p_values,
    weighted_mean,
)

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

    @property
    def is_sure(self) -> bool:
        """Whether the difference is significant."""
        return self.p_holm <= 1 - LEVEL


def pair_order(runs: int) -> list[tuple[int, int]]:
    """Returns the places of every two runs."""
    return list(combinations(range(runs), 2))


def compared_columns(runs: Sequence[ReportRun], columns: Sequence[Column]) -> list[ColumnPair]:
    """Compare every two runs in columns of one kind, which form a family for Holm's correction.

    `runs`: over the same samples (`runs.aligned`), which all columns follow from. A column is left out where
    it has no value, and a correlation where it has no standard error. Ordered by column, then by pair.
    """
    known = frozenset.intersection(*(run.sampled for run in runs))
    order = pair_order(len(runs))
    family = len(order) * len(columns)
    found: list[ColumnPair] = []
    for column in columns:
        if column.has_value(known):
            parts = column.present(known)
            found += _compared_column(runs, column, parts, order, family)
    corrected = holm(np.array([pair.p for pair in found])).tolist() if found else []
    return [
        replace(pair, p_holm=p, family=len(found)) for pair, p in zip(found, corrected, strict=True)
    ]


def _compared_column(
    runs: Sequence[ReportRun],
    column: Column,
    parts: Sequence[Part],
    order: Sequence[tuple[int, int]],
    family: int,
) -> Iterator[ColumnPair]:
    samples = [[run.values(part.task, part.metric) for part in parts] for run in runs]
    test = _test(column, parts, family)
    permutations = max(_PERMUTATIONS, math.ceil(_FOR_EACH * family / (1 - LEVEL)))
    differences = [[x - y for x, y in zip(samples[i], samples[j], strict=True)] for i, j in order]
    means = [weighted_mean(apart, [part.weight for part in parts]) for apart in differences]
    exact = () if test == "t" else differences
    p = [_paired_p(test, apart[0], permutations) for apart in exact] or p_values(means)
    number = sum(map(len, samples[0]))
    farthest = 2.0 if column.is_correlation else 1.0
    for (i, j), apart, mean, tested in zip(order, differences, means, p, strict=True):
        if tested is None or not math.isfinite(tested):
            continue
        bounds: Bounds = (
            bonett_price(*_only_one_right(apart[0]), number, LEVEL)
            if test == "mcnemar"
            else _interval_within(mean, farthest)
        )
        signs = int(np.count_nonzero(_rounded(apart[0]))) if test == "sign_flip" else 0
        smallest = resolution(signs, permutations) if signs > _FEW else 0.0
        least = mean.detectable(LEVEL) if mean.se else None
        names = runs[i].name, runs[j].name, column.name
        yield ColumnPair(
            *names, mean.value, mean.se, *bounds, test, tested, 1.0, smallest, 0, least, number
        )


def _test(column: Column, parts: Sequence[Part], family: int) -> Test:
    if len(parts) > 1 or column.is_correlation:
        return "t"
    if parts[0].metric == "exact_match":
        return "mcnemar"
    return "sign_flip" if family <= MOST_FLIPPED else "t"


def _paired_p(test: Test, apart: Floats, permutations: int) -> float:
    """Returns the exact or permutation p-value of a single task."""
    if test == "mcnemar":
        return mcnemar(*_only_one_right(apart))
    return sign_flip_by_size(_rounded(apart), permutations=permutations, seed=0, few=_FEW)


def _rounded(apart: Floats) -> Floats:
    """Returns differences of which those of the same size are equal numbers."""
    return apart.round(_DIGITS)


def _only_one_right(apart: Floats) -> tuple[int, int]:
    """Returns how many samples only the first, and only the second, has right."""
    return int((apart > 0).sum()), int((apart < 0).sum())


def _interval_within(found: WeightedMean, farthest: float) -> Bounds:
    """Returns Student's interval of a difference, cut at the largest that there can be."""
    low, high = found.interval(LEVEL) if found.se else (None, None)
    if low is None or high is None:
        return None, None
    return max(low, -farthest), min(high, farthest)
