"""Shared by all parts of the check: progress, coded answers, and reproducible means."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import polars as pl

from pfgen_rs.benchmark import Benchmark
from pfgen_rs.questions.question import Question

__all__ = ["CheckProgress", "coded_answers", "means", "tracked"]

T = TypeVar("T")

# Called with the current activity, the number of parts done, and their total.
CheckProgress = Callable[[str, int, int], None]


def tracked(items: Sequence[T], doing: str, progress: CheckProgress | None) -> Iterator[T]:
    """Iterate over the items, calling `progress` before the first and after each."""
    if progress is None:
        yield from items
        return
    progress(doing, 0, len(items))
    for done, item in enumerate(items, 1):
        yield item
        progress(doing, done, len(items))


def means(frame: pl.DataFrame, keys: Sequence[str], columns: Sequence[str]) -> pl.DataFrame:
    """Returns the mean of each column for each combination of keys, in order of first occurrence.

    Nulls are ignored; the mean of nothing is null. Sums are exact before the division, so the result does
    not depend on the number of threads.
    """
    groups = frame.group_by(keys, maintain_order=True).agg(columns)
    return groups.with_columns(
        pl.Series(
            name, [_check_step_mean(values) for values in groups.get_column(name)], dtype=pl.Float64
        )
        for name in columns
    )


def _check_step_mean(values: pl.Series) -> float | None:
    known = values.drop_nulls()
    return math.fsum(known) / len(known) if len(known) else None


def coded_answers(benchmark: Benchmark, question: Question) -> dict[str, list[str]]:
    """Returns the coded answers of each source; if the unit is the character, the answers themselves."""
    coder = benchmark.coder
    return {
        source: coder.encode(list(answers)).to_list()
        for source, answers in question.answers.items()
    }
