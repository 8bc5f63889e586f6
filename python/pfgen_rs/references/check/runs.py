"""Runs scored with the set under check and with smaller sets, and answers of theirs that are in the set."""

from __future__ import annotations

import dataclasses
import math
import os
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import polars as pl

from pfgen_rs.benchmark import Benchmark, score_file
from pfgen_rs.errors import SettingsError, UnknownQuestionError
from pfgen_rs.io import run_files
from pfgen_rs.io.ahead import interruptibly
from pfgen_rs.metrics.settings import COLUMNS
from pfgen_rs.questions.question import Question
from pfgen_rs.references.check.answers import CheckProgress, means, table, tracked
from pfgen_rs.references.check.scores import pearson, spearman
from pfgen_rs.runs.result import Result

SCORES = (*COLUMNS, "both")


def scored_runs(
    benchmark: Benchmark,
    files: Iterable[str | os.PathLike[str]],
    *,
    threads: int | None = None,
    progress: CheckProgress | None = None,
    **reading: Any,
) -> tuple[pl.DataFrame, dict[str, Counter[str]]]:
    """Score runs; returns one row per response: `run`, and the columns of `Result.frame`.

    `files`: files, run folders or globs, as for `pfgen-rs score`. A run is named after its model (or its
    folder), followed by its path if the name is not unique. Responses to questions that the benchmark does
    not have are left out: also returned is their number by run and question. `reading`: options of
    `score_file`. Raises the same errors as `score_file`, also for a run that answers none of the questions.
    """
    paths = run_files.expand([os.fspath(path) for path in files])
    results = [
        score_file(path, benchmark, threads=threads, **{**reading, "skip_bad_lines": True})
        for path in tracked(paths, "scoring runs", progress)
    ]
    names = _unique_names(results)
    responses = pl.concat(
        result.frame.select(pl.lit(name, dtype=pl.String).alias("run"), pl.all())
        for name, result in zip(names, results, strict=True)
    )
    left_out = {
        name: _unknown_questions(result) for name, result in zip(names, results, strict=True)
    }
    return responses, left_out


def _unknown_questions(result: Result) -> Counter[str]:
    """Count the responses that were left out, by question; raises the first error of any other kind."""
    for problem in result.problems:
        if not isinstance(problem, UnknownQuestionError):
            raise problem
    return Counter(str(problem.question) for problem in result.problems)


def _unique_names(results: Sequence[Result]) -> list[str]:
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


# Smaller sets.


SIZES = (50, 100, 200, 500)
_PLACE = ["size", "draw", "run"]


def shrunk(benchmark: Benchmark, size: int, *, seed: int = 0, draw: int = 0) -> Benchmark:
    """Returns the same questions with at most `size` randomly chosen answers per source.

    One order is drawn for each seed, draw, question and source, and its first answers are kept, so the
    smaller sets of a draw are subsets of the larger ones. Empty answers are chosen last. Raises
    `SettingsError` for a `size` below 1.
    """
    if size < 1:
        raise SettingsError(f"size must be at least 1, not {size}")
    questions = [
        dataclasses.replace(
            question,
            answers={
                source: _kept_answers(question, source, size, f"{seed}:{draw}")
                for source in question.sources
            },
        )
        for question in benchmark
    ]
    return Benchmark(questions, "", benchmark.settings)


def _kept_answers(question: Question, source: str, size: int, stream: str) -> tuple[str, ...]:
    answers = question.answers[source]
    # Only the sequence of `random()` is guaranteed to stay the same in all versions of Python.
    rng = random.Random(f"{stream}:{question.id}:{source}")  # noqa: S311 - a sample, no secret
    # Empty ones come last: a source with only empty answers cannot be scored against.
    order = sorted((not answer, rng.random(), number) for number, answer in enumerate(answers))
    kept = sorted(number for _, _, number in order[:size])
    return tuple(answers[number] for number in kept)


def shrinking_runs(
    benchmark: Benchmark,
    responses: pl.DataFrame,
    *,
    sizes: Sequence[int] = SIZES,
    draws: int = 3,
    seed: int = 0,
    threads: int | None = None,
    progress: CheckProgress | None = None,
) -> pl.DataFrame:
    """Returns the runs' means with smaller sets: `size`, `draw` (from 0), and the columns of `run_means`.

    The whole set comes first, with null as its size and draw. Sizes that no source exceeds are skipped.
    `responses` as returned by `scored_runs`.
    """
    largest = max(len(answers) for question in benchmark for answers in question.answers.values())
    steps = [(size, draw) for size in sorted(set(sizes)) if size < largest for draw in range(draws)]
    tables = [_placed(run_means(responses), None, None)]
    for size, draw in tracked(steps, "shrinking", progress):
        smaller = shrunk(benchmark, size, seed=seed, draw=draw)
        interruptibly(partial(smaller.prepare, threads=threads))
        scores = smaller.score_batch(
            responses.get_column("question_id"), responses.get_column("answer"), threads=threads
        )
        scores.insert_column(0, responses.get_column("run"))
        tables.append(_placed(run_means(scores), size, draw))
    return pl.concat(tables)


def _placed(means: pl.DataFrame, size: int | None, draw: int | None) -> pl.DataFrame:
    return means.select(
        pl.lit(size, dtype=pl.Int64).alias("size"),
        pl.lit(draw, dtype=pl.Int64).alias("draw"),
        pl.all(),
    )


def shrinking(by_run: pl.DataFrame) -> pl.DataFrame:
    """Compare runs' scores with smaller sets to those with the whole set, by size, draw and metric.

    Columns: `size`, `draw`, `metric` (as in `run_means`), `runs`, `pearson`, `spearman` (null for fewer than
    three runs), `mean_difference` and `largest_difference` (absolute). `by_run` as returned by
    `shrinking_runs`.
    """
    whole = by_run.filter(pl.col("size").is_null())
    smaller = by_run.filter(pl.col("size").is_not_null())
    rows = [
        (
            size,
            draw,
            metric,
            *_agreement(whole[metric].to_list(), part[metric].to_list()),
        )
        for (size, draw), part in smaller.group_by(["size", "draw"], maintain_order=True)
        for metric in SCORES
    ]
    agreement = ["pearson", "spearman", "mean_difference", "largest_difference"]
    schema = {
        "size": pl.Int64,
        "draw": pl.Int64,
        "metric": pl.String,
        "runs": pl.Int64,
        **dict.fromkeys(agreement, pl.Float64),
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def _agreement(
    whole: list[float], part: list[float]
) -> tuple[int, float | None, float | None, float, float]:
    differences = [abs(x - y) for x, y in zip(whole, part, strict=True)]
    return (
        len(whole),
        pearson(whole, part),
        spearman(whole, part),
        math.fsum(differences) / len(differences),
        max(differences),
    )


# Answers of runs that are in the set: a sign that a model was trained on it, or wrote it.


STRETCH = 50


def contamination(
    benchmark: Benchmark,
    responses: pl.DataFrame,
    *,
    stretch: int = STRETCH,
    shown: int = 3,
    progress: CheckProgress | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Count answers of runs that occur in the set, by run and question, and collect examples.

    Leading and trailing white space is ignored. Columns of the first table: `run`, `question_id`, `answers`,
    `verbatim` (answers equal to a reference answer of the question), `stretch` (answers that share `stretch`
    consecutive characters with one, including verbatim ones of at least that length), and their shares. The
    second table has up to `shown` verbatim answers per run and question: `run`, `question_id`, the `source`
    and the number `answer` (from 0) of the matching reference answer, and `text`. `responses` as returned by
    `scored_runs`. Raises `SettingsError` for a `stretch` below 1.
    """
    if stretch < 1:
        raise SettingsError(f"stretch must be at least 1 character, not {stretch}")
    counts, examples = [], []
    asked = {q: part for (q,), part in responses.group_by(["question_id"], maintain_order=True)}
    present = [question for question in benchmark if question.id in asked]
    for question in tracked(present, "contamination", progress):
        places, stretches = (
            _places(question),
            _stretches(question, stretch),
        )
        runs = asked[question.id].group_by(["run"], maintain_order=True)
        for (run,), part in runs:
            answers = [answer.strip() for answer in part.get_column("answer")]
            verbatim = [answer for answer in answers if answer in places]
            copied = sum(_holds(answer, stretches, stretch) for answer in answers)
            shares = (len(verbatim) / len(answers), copied / len(answers))
            counts.append((run, question.id, len(answers), len(verbatim), copied, *shares))
            distinct = list(dict.fromkeys(verbatim))
            examples += [(run, question.id, *places[text], text) for text in distinct[:shown]]
    return (
        table(
            counts,
            run=str,
            question_id=str,
            answers=int,
            verbatim=int,
            stretch=int,
            share_verbatim=float,
            share_stretch=float,
        ),
        table(examples, run=str, question_id=str, source=str, answer=int, text=str),
    )


def _places(question: Question) -> Mapping[str, tuple[str, int]]:
    """Map each stripped reference answer to its first place; empty ones do not count as copied."""
    places: dict[str, tuple[str, int]] = {}
    for source, answers in question.answers.items():
        for number, answer in enumerate(answers):
            places.setdefault(answer.strip(), (source, number))
    places.pop("", None)
    return places


def _stretches(question: Question, length: int) -> frozenset[str]:
    return frozenset(
        answer[i : i + length]
        for answers in question.answers.values()
        for answer in answers
        for i in range(len(answer) - length + 1)
    )


def _holds(answer: str, stretches: frozenset[str], length: int) -> bool:
    return any(answer[i : i + length] in stretches for i in range(len(answer) - length + 1))
