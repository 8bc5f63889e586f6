"""Runs scored with the set under check, held in memory."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

from pfgen_rs.benchmark import Benchmark, score_file
from pfgen_rs.errors import UnknownQuestionError
from pfgen_rs.io import patterns
from pfgen_rs.metrics.names import COLUMNS
from pfgen_rs.references.check.steps import CheckProgress, means, tracked
from pfgen_rs.runs.result import Result

__all__ = ["SCORES", "run_means", "score_known", "scored_runs"]

SCORES = (*COLUMNS, "both")


def scored_runs(
    benchmark: Benchmark,
    files: Iterable[str | os.PathLike[str]],
    *,
    threads: int | None = None,
    progress: CheckProgress | None = None,
) -> pl.DataFrame:
    """Score runs; returns one row per response: `run`, and the columns of `Result.frame`.

    `files`: files, run folders or globs, as for `pfgen-rs score`. A run is named after its model (or its
    folder), followed by its path if the name is not unique. Responses to questions that the benchmark does
    not have are left out. Raises the same errors as `score_file`, also for a run that answers none of the
    questions.
    """
    return score_known(benchmark, files, threads=threads, progress=progress)[0]


def score_known(
    benchmark: Benchmark,
    files: Iterable[str | os.PathLike[str]],
    *,
    threads: int | None = None,
    progress: CheckProgress | None = None,
    **reading: Any,
) -> tuple[pl.DataFrame, dict[str, Counter[str]]]:
    """Returns the result of `scored_runs`, and by run the number of responses left out, by question.

    `reading`: options of `score_file`.
    """
    paths = patterns.expand([os.fspath(path) for path in files])
    results = [
        score_file(path, benchmark, threads=threads, **{**reading, "skip_bad_lines": True})
        for path in tracked(paths, "scoring runs", progress)
    ]
    names = _unique_run_names(results)
    responses = pl.concat(
        result.frame.select(pl.lit(name, dtype=pl.String).alias("run"), pl.all())
        for name, result in zip(names, results, strict=True)
    )
    left_out = {
        name: _unknown_run_questions(result) for name, result in zip(names, results, strict=True)
    }
    return responses, left_out


def _unknown_run_questions(result: Result) -> Counter[str]:
    """Count the responses that were left out, by question; raises the first error of any other kind."""
    for problem in result.problems:
        if not isinstance(problem, UnknownQuestionError):
            raise problem
    return Counter(str(problem.question) for problem in result.problems)


def _unique_run_names(results: Sequence[Result]) -> list[str]:
    names = [result.name for result in results]
    return [
        f"{name} ({result.path})" if names.count(name) > 1 else name
        for name, result in zip(names, results, strict=True)
    ]


def run_means(responses: pl.DataFrame) -> pl.DataFrame:
    """Returns the means of each run over its questions, whose values are means over their responses.

    Columns: `run`, `questions`, `fluency`, `truthfulness`, `helpfulness`, `average`, and `both`, the mean of
    `fluency` and `truthfulness`.
    """
    by_question = means(responses, ["run", "question_id"], COLUMNS)
    both = ((pl.col("fluency") + pl.col("truthfulness")) / 2).alias("both")
    counts = by_question.group_by("run", maintain_order=True).len("questions")
    by_run = means(by_question.with_columns(both), ["run"], SCORES)
    return counts.with_columns(pl.col("questions").cast(pl.Int64)).join(
        by_run, on="run", maintain_order="left"
    )
