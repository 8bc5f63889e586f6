"""The lengths of the reference answers."""

from __future__ import annotations

import math
from collections import Counter

import polars as pl

from pfgen_rs.benchmark import Benchmark
from pfgen_rs.references.check.steps import coded_answers

__all__ = ["length_histogram", "lengths"]


def lengths(benchmark: Benchmark) -> pl.DataFrame:
    """Returns statistics of the lengths in units (code points or words); one row per question and source.

    Columns: `question_id`, `source`, `answers`, `mean`, `std` (of the population), `min`, `median` (the lower
    one), `max`.
    """
    rows = []
    for question in benchmark:
        for source, answers in coded_answers(benchmark, question).items():
            found = sorted(map(len, answers))
            mean = sum(found) / len(found)
            variance = math.fsum((length - mean) ** 2 for length in found) / len(found)
            middle = found[(len(found) - 1) // 2]
            numbers = (len(found), mean, math.sqrt(variance), found[0], middle, found[-1])
            rows.append((question.id, source, *numbers))
    schema = {
        "question_id": pl.String,
        "source": pl.String,
        "answers": pl.Int64,
        "mean": pl.Float64,
        "std": pl.Float64,
        "min": pl.Int64,
        "median": pl.Int64,
        "max": pl.Int64,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def length_histogram(benchmark: Benchmark) -> pl.DataFrame:
    """Count the answers of each length: `question_id`, `source`, `length`, `answers`."""
    rows = [
        (question.id, source, length, count)
        for question in benchmark
        for source, answers in coded_answers(benchmark, question).items()
        for length, count in sorted(Counter(map(len, answers)).items())
    ]
    schema = {
        "question_id": pl.String,
        "source": pl.String,
        "length": pl.Int64,
        "answers": pl.Int64,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")
