"""Scores of a run read back from where they are stored."""

from __future__ import annotations

import os

import numpy as np
import pytest

from pfgen_rs import OutputError
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


def test_rows_are_the_same_wherever_they_are(stored: ResponseScores) -> None:
    expected = some_scores(10**6)
    assert stored.counts() == expected.counts()
    for question, count in stored.counts().items():
        rows = stored.rows(question)
        assert rows.shape == (count, len(NAMES))
        np.testing.assert_array_equal(rows, expected.rows(question))
        average = stored.of_question(question, ["average"])["average"]
        np.testing.assert_array_equal(average, rows[:, 3])


def test_a_store_that_was_cut_short_is_told() -> None:
    stored = some_scores(0)
    journal = stored._store._journal  # type: ignore[union-attr]
    assert journal is not None
    journal._file.truncate(journal._file.seek(0, os.SEEK_END) // 4)
    with pytest.raises(OutputError, match="it was truncated while in use"):
        stored.rows("Q1")
