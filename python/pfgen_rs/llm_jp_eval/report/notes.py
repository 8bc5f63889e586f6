"""Remarks on a report: what is missing, and what this number of samples cannot tell apart."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence

from pfgen_rs.io.counted import counted
from pfgen_rs.llm_jp_eval.report.columns import Column
from pfgen_rs.llm_jp_eval.report.estimates import ColumnEstimate
from pfgen_rs.llm_jp_eval.report.pairs import ColumnPair
from pfgen_rs.stats.bootstrap import normal_quantile
from pfgen_rs.stats.strata import POWER

__all__ = ["per_task", "report_notes"]

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


def _missing_notes(estimates: Estimates, columns: Sequence[Column]) -> Iterator[str]:
    average = columns[0]
    lost = {name: None for found in estimates for name in found[average.name].missing}
    if not lost:
        return
    lacking = _lacking_categories(estimates, average)
    if lacking and average.name == "AVR":
        yield f"AVR needs tasks of all seven categories; not run: {', '.join(lacking)}"
    elif lacking:
        yield f"AVG counts categories that were not run as 0: {', '.join(lacking)}"
    partial = [
        column.name
        for column in columns
        if column.kind != "task"
        and any(e[column.name].missing and e[column.name].value is not None for e in estimates)
    ]
    if partial:
        tasks = ", ".join(lost)
        yield f"marked with *, since some of their tasks were not run: {', '.join(partial)} ({tasks})"


def _lacking_categories(estimates: Estimates, average: Column) -> list[str]:
    """Returns the categories that some run lacks, in order."""
    every = [part.task for part in average.parts]
    found: dict[str, None] = {}
    for each in estimates:
        known = set(every) - set(each[average.name].missing)
        found |= dict.fromkeys(average.lacking(known))
    return [home for home in average.lacking(()) if home in found]


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
