"""Speed that must not be lost unnoticed: far below what is measured, so that noise cannot trip it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import oracle
from pfgen_rs import Benchmark, Question
from pfgen_rs.io.chunk import Options
from pfgen_rs.io.reading import Reading
from pfgen_rs.io.source import Source
from pfgen_rs.questions.locate import bundled_path
from public_data import published_runs

TIMES = 100
ROUNDS = 5
SAMPLE, MANY = 40, 10_000


def responses(run: Path, question: Question) -> pl.DataFrame:
    """What a run answers to a question."""
    chunks = Reading(Source(str(run)), Options()).chunks()
    frame = pl.concat(
        pl.DataFrame({"question": chunk.questions, "answer": chunk.answers}) for chunk in chunks
    )
    return frame.filter(pl.col("question") == question.text)


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def times_the_oracle(benchmark: Benchmark, question: Question, answers: pl.DataFrame) -> float:
    """How many times as many responses a second; the best of several rounds for both, turn by turn."""
    data = {"keywords": question.keywords, "answers": question.answers}
    slow = oracle.Question(data)
    sample = answers.get_column("answer").head(SAMPLE).to_list()
    many = answers.sample(MANY, with_replacement=True, seed=0)
    expected = [slow.score(answer)["average"] for answer in sample]
    assert benchmark.score_batch(answers)["average"].head(SAMPLE).to_list() == expected
    rounds = [
        (
            seconds(lambda: [slow.score(answer) for answer in sample]) / len(sample),
            seconds(lambda: benchmark.score_batch(many, threads=1)) / MANY,
        )
        for _ in range(ROUNDS)
    ]
    return min(theirs for theirs, _ in rounds) / min(ours for _, ours in rounds)


def most_sources(benchmark: Benchmark) -> Question:
    return max(benchmark, key=lambda question: len(question.sources))


def test_bundled_responses(mini: Benchmark) -> None:
    question = most_sources(mini)
    runs = sorted(path for path in (bundled_path() / "runs").iterdir() if path.is_dir())
    answers = pl.concat(responses(run, question) for run in runs)
    assert times_the_oracle(mini, question, answers) >= TIMES


@pytest.mark.published
def test_published_responses(published_benchmark: Benchmark, published_dir: Path) -> None:
    question = most_sources(published_benchmark)
    answers = pl.concat(responses(published_dir / run, question) for run in published_runs()[:3])
    assert times_the_oracle(published_benchmark, question, answers) >= TIMES
