"""Scores of a run: read back from where they are stored, by question, ranked, and their means by rank."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oracle
from pfgen_rs import InputError, OutputError, Settings, _native
from pfgen_rs.runs.score_store import ResponseScores, Store

NAMES = ("line", "start", "length", "average")
IDS = ("Q1", "Q10", "Q2", "Q3")


@pytest.fixture(params=["memory", "disk", "disk without pread"])
def stored(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ResponseScores:
    """Three chunks: two answers to each question, none to `Q10`, and six to that one alone."""
    if "without" in request.param:
        monkeypatch.delattr(os, "pread", raising=False)
    return some_scores(10**6 if request.param == "memory" else 4)


def some_scores(in_memory: int) -> ResponseScores:
    rng = np.random.default_rng(20261123)
    scores = ResponseScores(Store(NAMES, in_memory=in_memory))
    for ids in (IDS, ("Q1", "Q2", "Q3"), ("Q10", "Q10", "Q10")):
        bounds: dict[str, tuple[int, int]] = {}
        for at, question in enumerate(ids):
            first, _ = bounds.get(question, (2 * at, 0))
            bounds[question] = (first, 2 * at + 2)
        rows = rng.random((2 * len(ids), len(NAMES))).tobytes()
        scores.parts.append(scores._store.add(lambda: "", rows, bounds))  # type: ignore[union-attr]
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
    codes, scored = _native.Codes(numbers), _native.Scored(lengths, columns)
    rows, bounds = _native.sorted_rows(codes, _native.Places(lines, starts), scored)
    order = np.argsort(numbers, kind="stable")
    expected = np.stack([lines, starts, lengths, *columns], axis=1)[order]
    np.testing.assert_array_equal(np.frombuffer(rows).reshape(count, -1), expected)
    assert [number for number, _, _ in bounds] == codes.asked() == [0, 3, 4, 9]
    for number, start, stop in bounds:
        assert (numbers[order][start:stop] == number).all()
        assert stop - start == (numbers == number).sum() == len(codes.rows(number))
    rows, _ = _native.sorted_rows(codes, _native.Places(lines), scored)
    assert not np.frombuffer(rows).reshape(count, -1)[:, 1].any()


def test_rows_at_places_are_those_of_a_stable_sort(rng: np.random.Generator) -> None:
    rows = rng.choice([-1.5, -0.0, 0.0, 0.25, 1.0, np.inf, np.nan], (200, 4))
    expected = rows[np.argsort(-rows[:, 3], kind="stable")]
    summary = _native.RunSummary(4, 3, 200, False)
    content = rows.tobytes()
    _, found = summary.add([(content, 0, 120), (content, 120, 200)], [], range(200))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("compensated", [False, True])
@np.errstate(invalid="ignore")
def test_sums_are_those_of_the_published_order(rng: np.random.Generator, compensated: bool) -> None:
    runs = rng.standard_normal((3, 500, 5)) * 10.0 ** rng.integers(-12, 12, (3, 500, 5))
    runs[:, :, 0] = rng.permutation(1500).reshape(3, 500)
    runs[:, :, 2] = rng.integers(0, 200, (3, 500))
    runs[1, 7, 4], runs[2, 9, 1] = np.nan, np.inf
    add = oracle.compensated_sum if compensated else oracle.left_sum
    summary = _native.RunSummary(5, 3, 500, compensated)
    for rows in runs:
        found, _ = summary.add([(rows.tobytes(), 0, 500)], range(5), [])
        ranked = rows[np.argsort(-rows[:, 3], kind="stable")]
        for of_column, column in zip(found, ranked.T, strict=True):
            np.testing.assert_equal(of_column, _moments(column, add))
    trials = np.array([add(trial) / 3 for trial in runs[:, :, 3].T])
    assert summary.scores == _moments(trials, add)
    lines = np.argsort(runs[:, :, 0], axis=None)
    for rows in runs.reshape(-1, 5)[lines].reshape(15, 100, 5):  # chunks, each in any order
        summary.add_lengths(rng.permutation(rows).tobytes())
    assert summary.lengths == _moments(runs[:, :, 2].ravel()[lines], add)
    empty = runs[:, :, 2] == 0
    assert summary.worthless == (empty.sum(), ((runs[:, :, 3] < 0.02) & ~empty).sum())


def _moments(values: Any, add: oracle.Sum) -> tuple[float, float]:
    mean = add(values) / len(values)
    return mean, add((values - mean) ** 2) / len(values)


def test_places_are_cut_like_lists() -> None:
    lines, starts = np.arange(5), np.arange(10, 15)
    for start, stop in ((0, 5), (1, 3), (2, 9), (5, 7), (4, 2), (8, 9)):
        part = _native.Places(lines, starts).between(start, stop)
        assert part.lines.tolist() == lines.tolist()[start:stop]
        assert part.starts is not None
        assert part.starts.tolist() == starts.tolist()[start:stop]
    assert _native.Places(lines).between(1, 2).starts is None


@pytest.mark.parametrize("compensated", [False, True])
def test_totals_are_summed_again(rng: np.random.Generator, compensated: bool) -> None:
    settings, add = Settings(), oracle.compensated_sum if compensated else oracle.left_sum
    rows = rng.random((40, 3 + 4 + 2 * 3)).round(6)
    again = _native.sum_again(
        rows.tobytes(), 13, [(0, 10, [0, 1, 2]), (30, 40, [2, 0])], settings.native, compensated
    )
    expected = rows.copy()
    for start, stop, sources in ((0, 10, [0, 1, 2]), (30, 40, [2, 0])):
        for row in expected[start:stop]:
            f, t = (add([row[first + s] for s in sources]) for first in (7, 10))
            row[3], row[4], row[6] = f, t, round(settings.average(f, t, row[5]), 5)
    np.testing.assert_array_equal(np.frombuffer(again).reshape(rows.shape), expected)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: _native.RunSummary(5, 5, 1, False),
        lambda: _native.RunSummary(2, 0, 1, False),
        lambda: _native.RunSummary(4, 3, 1, False).add([(bytes(32), 0, 2)], [], []),
        lambda: _native.RunSummary(4, 3, 1, False).add([(bytes(32), 2, 1)], [], []),
        lambda: _native.RunSummary(4, 3, 1, False).add([(bytes(32), 0, 1)], [4], []),
        lambda: _native.RunSummary(4, 3, 1, False).add([(bytes(32), 0, 1)], [], [1]),
        lambda: _native.sum_again(bytes(72), 9, [(0, 2, [0])], Settings().native, False),
        lambda: _native.sum_again(bytes(72), 9, [(0, 1, [1])], Settings().native, False),
        lambda: _native.sum_again(bytes(72), 9, [(1, 0, [0])], Settings().native, False),
        lambda: _native.sorted_rows(
            _native.Codes(np.array([_native.UNKNOWN], np.uint32)),
            _native.Places(np.ones(1, np.int64)),
            _native.Scored(np.zeros(1, np.uint32), []),
        ),
        lambda: _native.Scored(np.zeros(2, np.uint32), [np.zeros(1)]),
        lambda: _native.Places(np.zeros(2, np.int64), np.zeros(1, np.int64)),
    ],
)
def test_what_does_not_fit_is_refused(wrong: Callable[[], object]) -> None:
    with pytest.raises(InputError, match=r"range|different lengths"):
        wrong()
