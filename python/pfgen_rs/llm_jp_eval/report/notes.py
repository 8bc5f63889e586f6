"""Remarks on a report: what is missing, and what this number of samples cannot tell apart."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence

from pfgen_rs.io.counted import counted
from pfgen_rs.llm_jp_eval.averages import AVERAGED, AVERAGES
from pfgen_rs.llm_jp_eval.catalog import CATEGORIES
from pfgen_rs.llm_jp_eval.report.columns import Column
from pfgen_rs.llm_jp_eval.report.estimates import ColumnEstimate
from pfgen_rs.llm_jp_eval.report.pairs import ColumnPair
from pfgen_rs.llm_jp_eval.report.runs import ReportRun
from pfgen_rs.stats.bootstrap import normal_quantile
from pfgen_rs.stats.shares import POWER

__all__ = ["per_task", "report_notes", "stated_notes"]

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
