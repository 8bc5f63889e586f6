"""Rows of a run's scores by question, their ranks, and their means by rank."""

from __future__ import annotations

import numpy as np
import pytest

from pfgen_rs import InputError, _native
from pfgen_rs.metrics.sums import left_mean


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


def test_what_does_not_fit_is_refused() -> None:
    rows = np.zeros((2, 3))
    for columns, average, places in ([3], 0, []), ([0], 3, []), ([0], 0, [2]):
        with pytest.raises(InputError, match="out of range"):
            _native.ranked_summary(rows, columns, average, places, False)
    lines, counts = np.arange(3), np.zeros(3, dtype=np.uint32)
    with pytest.raises(InputError, match="different lengths"):
        _native.rows_by_number(counts, lines[:2], None, counts, [])
