"""Runs scored with the set under check, and answers of theirs that are in the set."""

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from pfgen_rs.benchmark import Benchmark, score_file
from pfgen_rs.errors import SettingsError, UnknownQuestionError
from pfgen_rs.io import patterns
from pfgen_rs.metrics.settings import COLUMNS
from pfgen_rs.questions.question import Question
from pfgen_rs.references.check.answers import CheckProgress, means, table, tracked
from pfgen_rs.runs.result import Result


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
    paths = patterns.expand([os.fspath(path) for path in files])
    results = [
        score_file(path, benchmark, threads=threads, **{**reading, "skip_bad_lines": True})
        for path in tracked(paths, "scoring runs", progress)
    ]
    named = dict(zip(_unique_names(results), results, strict=True))
    responses = pl.concat(
        result.frame.select(pl.lit(name, dtype=pl.String).alias("run"), pl.all())
        for name, result in named.items()
    )
    return responses, {name: _unknown_questions(result) for name, result in named.items()}


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
    by_run = means(by_question.with_columns(both), ["run"], (*COLUMNS, "both"))
    return counts.with_columns(pl.col("questions").cast(pl.Int64)).join(
        by_run, on="run", maintain_order="left"
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
        places, stretches = _places(question), _stretches(question, stretch)
        runs = asked[question.id].group_by(["run"], maintain_order=True)
        for (run,), part in runs:
            answers = [answer.strip() for answer in part.get_column("answer")]
            verbatim = [answer for answer in answers if answer in places]
            copied = sum(_holds(answer, stretches, stretch) for answer in answers)
            both = (len(verbatim) / len(answers), copied / len(answers))
            counts.append((run, question.id, len(answers), len(verbatim), copied, *both))
            distinct = list(dict.fromkeys(verbatim))
            examples += [(run, question.id, *places[text], text) for text in distinct[:shown]]
    numbers = {"answers": int, "verbatim": int, "stretch": int}
    shares = {"share_verbatim": float, "share_stretch": float}
    return (
        table(counts, run=str, question_id=str, **numbers, **shares),
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
