"""Paired comparisons of runs, column by column, and remarks on what they show."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pfgen_rs.io.text import counted
from pfgen_rs.llm_jp_eval.catalog import AVERAGED, AVERAGES, CATEGORIES
from pfgen_rs.llm_jp_eval.report.columns import Column, ColumnEstimate, Part, RunValues
from pfgen_rs.llm_jp_eval.report.runs import ReportRun
from pfgen_rs.stats.bootstrap import normal_quantile
from pfgen_rs.stats.permutation import holm, resolution, sign_flip_by_size
from pfgen_rs.stats.shares import (
    POWER,
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
    test = _test(column, parts, family)
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
        found.append(
            ColumnPair(
                a=values[i].run.name,
                b=values[j].run.name,
                column=column.name,
                difference=mean.value,
                se=mean.se,
                low=bounds[0],
                high=bounds[1],
                test=test,
                p=tested,
                p_holm=1.0,
                smallest_p=resolution(signs, permutations) if signs > _FEW else 0.0,
                family=0,
                minimum_detectable=mean.detectable(level) if mean.se else None,
                samples=number,
            )
        )
    return found


def _test(column: Column, parts: Sequence[Part], family: int) -> Test:
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


# Remarks on a report: what is missing, and what this number of samples cannot tell apart.


Estimates = Sequence[Mapping[str, ColumnEstimate]]


def report_notes(
    estimates: Estimates,
    pairs: Sequence[ColumnPair],
    columns: Sequence[Column],
    counts: Mapping[str, int],
    level: float,
) -> list[str]:
    """Returns the remarks; `counts`: number of samples by task that all runs have."""
    average = columns[0]
    notes = [*_missing_notes(estimates, columns)]
    own = [pair for pair in pairs if pair.column == average.name]
    if own:
        notes += _not_told_apart(own, average, counts, level)
    elif len(estimates) == 2:
        notes += _columns_not_told_apart(pairs, columns, counts, level)
    elif len(estimates) == 1:
        notes += _resolution_note(estimates[0], average, counts, level)
    return notes


def per_task(counts: Collection[int]) -> str:
    """Describes how many samples the tasks have."""
    least, most = min(counts), max(counts)
    if least == most:
        return f"{counted(least, 'sample')} per task"
    return f"{least:,} to {most:,} samples per task"


def stated_notes(
    runs: Sequence[ReportRun], estimates: Estimates, columns: Sequence[Column]
) -> list[str]:
    """Returns remarks on what is shown as the files of runs state it."""
    average, notes = columns[0].name, []
    for run, found in zip(runs, estimates, strict=True):
        bare = [column for column in columns if not found[column.name].sampled]
        names = [c.name for c in bare if c.kind != "task" or c.parts[0].category in CATEGORIES]
        if len(bare) > len(names):
            names.append(counted(len(bare) - len(names), "other score"))
        if names:
            notes.append(
                f"{run.name}: as its file states, since they do not follow from its predictions here, and so "
                f"without intervals and tests: {', '.join(names)}"
            )
    means = [_averaged_categories(run, average) for run in runs]
    if len(set(means)) > 1:
        told = (f"{run.name}: {', '.join(own)}" for run, own in zip(runs, means, strict=True))
        notes.append(
            f"{average} is the mean of other categories from run to run, so its values cannot be compared: "
            f"{'; '.join(told)}"
        )
    return notes


def _averaged_categories(run: ReportRun, average: str) -> tuple[str, ...]:
    """Returns the categories of which a run's average is the mean."""
    if average not in run.stated:
        return tuple(AVERAGES[average])
    own = set(run.stated) - set(AVERAGES)
    known = [name for name in AVERAGED if name in own]
    return (*known, *sorted(own - set(known)))


def _missing_notes(estimates: Estimates, columns: Sequence[Column]) -> Iterator[str]:
    average = columns[0]
    lacking = _lacking_text([found[average.name] for found in estimates])
    if lacking and average.name == "AVR":
        yield f"AVR needs tasks of all seven categories; not run: {lacking}"
    elif lacking:
        yield f"{average.name} counts categories that were not run as 0: {lacking}"
    lost = {column.name: _lost_tasks(estimates, column) for column in columns}
    partial = [column.name for column in columns if column.kind != "task" and lost[column.name]]
    if partial:
        tasks = ", ".join(dict.fromkeys(task for name in partial for task in lost[name]))
        yield f"marked with *, since some of their tasks were not run: {', '.join(partial)} ({tasks})"


def _lacking_text(estimates: Sequence[ColumnEstimate]) -> str:
    """Describes which categories are lacking, by run if that differs."""
    runs: dict[tuple[str, ...], list[str]] = {}
    for each in estimates:
        runs.setdefault(each.lacking, []).append(each.run)
    if len(runs) == 1:
        return ", ".join(estimates[0].lacking)
    told = (f"{', '.join(names)} ({', '.join(own)})" for names, own in runs.items() if names)
    return "; ".join(told)


def _lost_tasks(estimates: Estimates, column: Column) -> list[str]:
    """Returns the tasks that some run's value lacks, but for those of categories that lack all of theirs."""
    homes = {part.task: part.category for part in column.parts}
    found = [each[column.name] for each in estimates]
    return list(
        dict.fromkeys(
            task
            for each in found
            if each.value is not None
            for task in each.missing
            if homes[task] not in each.lacking
        )
    )


def _not_told_apart(
    pairs: Sequence[ColumnPair], average: Column, counts: Mapping[str, int], level: float
) -> Iterator[str]:
    same = [pair for pair in pairs if pair.p_holm > 1 - level]
    if not same:
        return
    least = [pair.minimum_detectable for pair in same if pair.minimum_detectable is not None]
    with_samples = f"with {per_task(counts.values())}"
    if len(pairs) == 1:
        [pair] = pairs
        told = f"{pair.a} and {pair.b} cannot be told apart in {average.name} {with_samples}"
        if not least:
            yield told
            return
        needed = _samples_needed(pair)
        more = (
            ""
            if needed is None
            else f"; a true difference of {abs(pair.difference):.4f} needs {needed}"
        )
        yield f"{told}: a difference below {least[0]:.4f} is likely to be missed{more}"
        return
    told = f"{len(same):,} of {len(pairs):,} pairs cannot be told apart in {average.name} {with_samples}"
    if least:
        low, high = f"{min(least):.4f}", f"{max(least):.4f}"
        span = low if low == high else f"{low} to {high}"
        told += f": a test of one pair alone detects differences of {span} with {POWER:.0%} power"
    yield told.replace("80%", "80 %")


def _columns_not_told_apart(
    pairs: Sequence[ColumnPair], columns: Sequence[Column], counts: Mapping[str, int], level: float
) -> Iterator[str]:
    categories = {column.name for column in columns if column.kind == "category"}
    same = [pair for pair in pairs if pair.column in categories and pair.p_holm > 1 - level]
    if same:
        names = ", ".join(pair.column for pair in same)
        [a, b] = same[0].a, same[0].b
        yield f"{a} and {b} cannot be told apart in {names} with {per_task(counts.values())}"


def _samples_needed(pair: ColumnPair) -> str | None:
    """Describes how many times the samples would give the test the power to find this difference."""
    if not pair.minimum_detectable or not pair.difference:
        return None
    times = (pair.minimum_detectable / pair.difference) ** 2
    if times < 1.05:  # significant, but for the correction
        return None
    if times > 1000:
        return "more than 1,000 times as many samples"
    return f"about {math.ceil(times * 10) / 10:.1f} times as many samples"


def _resolution_note(
    found: Mapping[str, ColumnEstimate], average: Column, counts: Mapping[str, int], level: float
) -> Iterator[str]:
    estimate = found[average.name]
    if not estimate.se:
        return
    reach = (normal_quantile(level) + normal_quantile(2 * POWER - 1)) * math.sqrt(2) * estimate.se
    yield (
        f"with {per_task(counts.values())}, two runs like this one whose {average.name} differs by less than "
        f"about {reach:.3f} may not be told apart"
    )
