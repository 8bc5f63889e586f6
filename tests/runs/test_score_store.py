"""Scores of a run: read back from where they are stored, by question, ranked, and their means by rank."""

from __future__ import annotations

import os

import numpy as np
import pytest

from pfgen_rs import OutputError, _native
from pfgen_rs.metrics.sums import left_mean
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


# Rows of a run's scores by question, their ranks, and their means by rank.


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20250613)


def test_rows_are_sorted_by_number_and_keep_their_order(rng: np.random.Generator) -> None:
    count = 300
    numbers = rng.choice([0, 3, 4, 9], count).astype(np.uint32)
    lines, starts = np.arange(1, count + 1), rng.integers(0, 1 << 40, count)
    lengths = rng.integers(0, 5000, count).astype(np.uint32)
    columns = [rng.random(count), np.where(rng.random(count) < 0.5, np.nan, 1.0)]
    matrix, bounds = _native.rows_by_number(numbers, lines, starts, lengths, columns)
    order = np.argsort(numbers, kind="stable")
    expected = np.stack([lines, starts, lengths, *columns], axis=1)[order]
    np.testing.assert_array_equal(matrix, expected)
    assert [number for number, _, _ in bounds] == [0, 3, 4, 9]
    for number, start, stop in bounds:
        assert (numbers[order][start:stop] == number).all()
        assert stop - start == (numbers == number).sum()
    without, _ = _native.rows_by_number(numbers, lines, None, lengths, columns)
    assert not without[:, 1].any()


def test_rows_at_places_are_those_of_a_stable_sort(rng: np.random.Generator) -> None:
    values = rng.choice([-1.5, -0.0, 0.0, 0.25, 1.0, np.inf, np.nan], (200, 3))
    for each in (values, values[::2], values[:, ::2], values[::-1]):
        expected = each[np.argsort(-each[:, 1], kind="stable")]
        _, found = _native.ranked_summary(each, [], 1, range(len(each)), False)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("compensated", [False, True])
@np.errstate(invalid="ignore")
def test_means_are_added_by_rank(rng: np.random.Generator, compensated: bool) -> None:
    rows = rng.standard_normal((500, 4)) * 10.0 ** rng.integers(-12, 12, (500, 4))
    rows[7, 2], rows[9, 1] = np.nan, np.inf
    found, _ = _native.ranked_summary(rows, range(4), 0, [], compensated)
    ranked = rows[np.argsort(-rows[:, 0], kind="stable")]
    for (mean, variance), column in zip(found, ranked.T, strict=True):
        np.testing.assert_equal(mean, left_mean(column, compensated=compensated))
        squares = (column - mean) ** 2
        np.testing.assert_equal(variance, left_mean(squares, compensated=compensated))
