"""Reference answers scored against the other answers of their question.

An answer scored against a set it belongs to matches itself, so all of its n-grams are known. This module
removes that contribution exactly. If an n-gram of the answer has the document frequency `df` among the `N`
answers of its source, it has `df - 1` among the other `N - 1`; nothing else changes, so no index needs to be
rebuilt. The baseline (Fluency's divisor) remains that of the whole set, since it only scales the scores.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs import _native
from pfgen_rs.benchmark import Benchmark
from pfgen_rs.errors import SettingsError
from pfgen_rs.metrics.names import BY_SOURCE, share_name
from pfgen_rs.metrics.sums import left_sum
from pfgen_rs.questions.question import Question
from pfgen_rs.references.check.steps import CheckProgress, coded_answers, tracked
from pfgen_rs.references.leave_one_out import leave_one_out

__all__ = ["self_scores"]

Floats = NDArray[np.float64]


def self_scores(
    benchmark: Benchmark, *, threads: int | None = None, progress: CheckProgress | None = None
) -> pl.DataFrame:
    """Score every reference answer against all others of its question; one row per answer.

    Columns: `question_id`, `source`, `answer` (from 0 within its source), `length`, `fluency`,
    `truthfulness`, `helpfulness`, `average`, `with_itself` (the average against the whole set), and the
    sources' shares `fluency_S` and `truthfulness_S`, rounded as published. Other sources are used in full. If
    a source has only one answer, all values that depend on its other answers are null.

    Takes about 0.1 s per source of 1,000 answers. Raises `SettingsError` for any variant but the published
    one.
    """
    if benchmark.settings.variant != "pfgen-bench":
        raise SettingsError(
            "answers can be scored against the rest of their set only with the variant 'pfgen-bench'"
        )
    rows = [
        _self_scores_of_question(benchmark, question, threads)
        for question in tracked(list(benchmark), "self-scores", progress)
    ]
    return pl.concat(rows)


def _self_scores_of_question(
    benchmark: Benchmark, question: Question, threads: int | None
) -> pl.DataFrame:
    """Score a question's answers against the whole set, and replace the shares of their own sources."""
    places = [
        (source, number)
        for source, answers in question.answers.items()
        for number in range(len(answers))
    ]
    texts = [question.answers[source][number] for source, number in places]
    scores = benchmark.score_batch([question.id] * len(texts), texts, threads=threads)
    shares = {name: scores.get_column(name).to_numpy().copy() for name in scores.columns[6:]}
    first = 0
    for source, answers in coded_answers(benchmark, question).items():
        rows = slice(first, first + len(answers))
        baseline = benchmark.baselines(question)[source]
        values = leave_one_out(answers, baseline, benchmark.settings)
        for metric, value in zip(BY_SOURCE, values, strict=True):
            shares[share_name(metric, source)][rows] = _rounded_self_scores(
                value / len(question.sources), 6
            )
        first += len(answers)
    sources = pl.Series("source", [source for source, _ in places], dtype=pl.String)
    place = [sources, pl.Series("answer", [number for _, number in places], dtype=pl.Int64)]
    return _self_score_table(benchmark, question, scores, shares).select(
        "question_id", *place, pl.exclude("question_id")
    )


def _self_score_table(
    benchmark: Benchmark, question: Question, scores: pl.DataFrame, shares: dict[str, Floats]
) -> pl.DataFrame:
    """Returns `scores` with these shares and the values derived from them."""
    fluency, truthfulness = (
        left_sum(shares[share_name(metric, source)] for source in question.sources)
        for metric in BY_SOURCE
    )
    helpfulness = scores.get_column("helpfulness").to_numpy()
    average = benchmark.settings.average(fluency, truthfulness, helpfulness)
    columns = {
        "fluency": fluency,
        "truthfulness": truthfulness,
        "average": _rounded_self_scores(average, 5),
        **shares,
    }
    changed = [pl.Series(name, values, nan_to_null=True) for name, values in columns.items()]
    whole = scores.get_column("average").alias("with_itself")
    table = scores.with_columns(changed)
    return table.insert_column(table.columns.index("average") + 1, whole)


def _rounded_self_scores(values: Floats, digits: int) -> Floats:
    return _native.round_half_even(values, digits)
