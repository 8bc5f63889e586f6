"""What all parts of the check share: progress, coded answers, and means that are the same everywhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import polars as pl

from pfgen_rs.benchmark import Benchmark
from pfgen_rs.questions.question import Question

__all__ = ["CheckProgress", "coded_answers", "means", "tracked"]

T = TypeVar("T")

# Told what is being done, how many parts of it are done, and how many there are.
CheckProgress = Callable[[str, int, int], None]


def tracked(items: Sequence[T], doing: str, progress: CheckProgress | None) -> Iterator[T]:
    """The items, with `progress` told before the first and after each."""
    if progress is None:
        yield from items
        return
    progress(doing, 0, len(items))
    for done, item in enumerate(items, 1):
        yield item
        progress(doing, done, len(items))


def means(frame: pl.DataFrame, keys: Sequence[str], columns: Sequence[str]) -> pl.DataFrame:
    """Mean of each column for each combination of keys, in the order in which these first occur.

    Nulls are left out; where there is nothing else, so is the mean. Sums are exact before the division, so
    that no number of threads can show.
    """
    groups = frame.group_by(keys, maintain_order=True).agg(columns)
    return groups.with_columns(
        pl.Series(name, [_mean(values) for values in groups.get_column(name)], dtype=pl.Float64)
        for name in columns
    )


def _mean(values: pl.Series) -> float | None:
    known = values.drop_nulls()
    return math.fsum(known) / len(known) if len(known) else None


def coded_answers(benchmark: Benchmark, question: Question) -> dict[str, list[str]]:
    """The answers of each source, coded; where the units are characters, the answers themselves."""
    coder = benchmark.coder
    return {
        source: coder.encode(list(answers)).to_list()
        for source, answers in question.answers.items()
    }
