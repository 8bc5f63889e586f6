"""Scores of a run read back from where they are stored."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
import pytest

from pfgen_rs import Benchmark, OutputError
from pfgen_rs.runs import summary
from pfgen_rs.runs.score_store import ResponseScores, Store

NAMES = ("line", "start", "length", "average")
IDS = ("Q1", "Q10", "Q2", "Q3")


@pytest.fixture(params=["memory", "disk", "disk without preadv"])
def stored(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ResponseScores:
    """Three chunks: two answers to each question, none to `Q10`, and six to that one alone."""
    if "without" in request.param:
        monkeypatch.delattr(os, "preadv", raising=False)
    return some_scores(10**6 if request.param == "memory" else 4)


def some_scores(in_memory: int) -> ResponseScores:
    rng = np.random.default_rng(20261123)
    scores = ResponseScores(Store(NAMES, in_memory=in_memory))
    for ids in (IDS, ("Q1", "Q2", "Q3"), ("Q10", "Q10", "Q10")):
        bounds: dict[str, tuple[int, int]] = {}
        for at, question in enumerate(ids):
            first, _ = bounds.get(question, (2 * at, 0))
            bounds[question] = (first, 2 * at + 2)
        matrix = rng.random((2 * len(ids), len(NAMES)))
        scores.parts.append(scores._store.add(lambda: "", matrix, bounds))  # type: ignore[union-attr]
    return scores


@pytest.mark.parametrize(
    "questions", [("Q1", "Q2", "Q3"), ("Q1", "Q3"), ("Q3", "Q1"), ("Q2",), ("Q10",)]
)
def test_answers_read_together_are_those_read_apart(
    stored: ResponseScores, questions: Sequence[str]
) -> None:
    """Questions beside each other in every chunk, with others between, and in another order."""
    count = stored.counts()[questions[0]]
    together = stored.of_questions(questions, count, NAMES[2:])
    for name, values in together.items():
        apart = [stored.of_question(question, [name])[name] for question in questions]
        np.testing.assert_array_equal(values, apart)


@pytest.mark.parametrize("questions", [("Q1",), ("Q1", "Q2")])
def test_a_store_that_was_cut_short_is_told(questions: Sequence[str]) -> None:
    stored = some_scores(0)
    journal = stored._store._journal  # type: ignore[union-attr]
    assert journal is not None
    journal._file.truncate(journal._file.seek(0, os.SEEK_END) // 4)
    with pytest.raises(OutputError, match="it was truncated while in use"):
        stored.of_questions(questions, stored.counts()[questions[0]], NAMES)


def test_large_runs_are_read_ahead_of_their_sums(
    mini: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = [question.text for question in mini for _ in range(3)]
    answers = [f"{text}、{i}番目の答えです。" for i, text in enumerate(questions)]
    result = mini.evaluate(questions, answers)
    expected = summary.summarise(mini, result.response_scores)
    monkeypatch.setattr(summary, "_AHEAD_FROM", 0)
    monkeypatch.setattr(summary, "_TOGETHER", 1)  # a group for each question
    assert summary.summarise(mini, result.response_scores) == expected

    def failing(*_: object) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(ResponseScores, "of_questions", failing)
    with pytest.raises(OSError, match="the disk is gone"):
        summary.summarise(mini, result.response_scores)
