"""A run's own rank range: what its own tests leave open, and for whom it holds."""

from typing import Any

import numpy as np
import pytest
import scipy.stats  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pfgen_rs import InputError, SettingsError, stats
from pfgen_rs.stats.permutation import RankTests, holm_by_row

Floats = NDArray[np.float64]
LEVELS = st.sampled_from([0.6, 0.9, 0.95, 0.99])
SHAPES = {"runs": st.integers(2, 9), "questions": st.integers(2, 12), "seed": st.integers(0, 9999)}


def graded(runs: int, questions: int, seed: int) -> Floats:
    """Runs from bad to good, over the same questions."""
    random = np.random.default_rng(seed)
    return random.random((runs, questions)) + np.linspace(0, 1, runs)[:, None]


def range_of(means: Floats, i: int, level: float) -> tuple[int, int]:
    """The range of one run, by tests from elsewhere and Holm's steps one by one."""
    tests = []
    for j in range(len(means)):
        if j != i:
            t, p = scipy.stats.ttest_rel(means[i], means[j])
            tests.append((float(p), t > 0))
    best, worst, left = 1, len(means), len(tests)
    for p, wins in sorted(tests):
        if p * left > 1 - level:
            break
        best, worst, left = best + (not wins), worst - wins, left - 1
    return best, worst


@given(**SHAPES, level=LEVELS)
@settings(max_examples=60)
def test_own_ranges_are_what_own_tests_leave_open(
    runs: int, questions: int, seed: int, level: float
) -> None:
    means = graded(runs, questions, seed)
    expected = [range_of(means, i, level) for i in range(runs)]
    assert stats.own_rank_ranges(means, level=level) == expected


@given(**SHAPES, level=LEVELS)
@settings(max_examples=60)
def test_own_ranges_lie_within_those_of_all_runs(
    runs: int, questions: int, seed: int, level: float
) -> None:
    tests = RankTests(graded(runs, questions, seed), level)
    for (low, high), (own_low, own_high) in zip(tests.joint(), tests.own(), strict=True):
        assert low <= own_low <= own_high <= high


@given(**SHAPES)
@settings(max_examples=20)
def test_the_order_of_runs_does_not_matter(runs: int, questions: int, seed: int) -> None:
    means = graded(runs, questions, seed)
    order = np.random.default_rng(seed + 1).permutation(runs)
    found = stats.own_rank_ranges(means)
    assert stats.own_rank_ranges(means[order]) == [found[i] for i in order]


def test_of_two_runs_both_ranges_are_the_same() -> None:
    for seed in range(20):
        means = graded(2, 5, seed)
        assert stats.own_rank_ranges(means) == stats.rank_ranges(means)


def test_a_range_holds_for_a_run_named_beforehand_and_not_for_all_at_once() -> None:
    """Twelve runs alike: any rank may be theirs, so a range that leaves one out errs."""
    random = np.random.default_rng(8)
    one, every = [], []
    for _ in range(1500):
        shared = 0.7 + 0.13 * random.standard_normal(30)
        own = stats.own_rank_ranges(shared + 0.1 * random.standard_normal((12, 30)))
        one.append(own[0] != (1, 12))
        every.append(any(each != (1, 12) for each in own))
    assert 0.02 <= np.mean(one) <= 0.062  # 5 % and two standard errors
    assert np.mean(every) > 0.15


@pytest.mark.parametrize("gap", [0.002, 0.01])
def test_differences_in_the_wrong_direction_are_rare(gap: float) -> None:
    """Twelve runs with gaps too small to be found: each range holds its run's true rank."""
    random = np.random.default_rng(8)
    missed = np.zeros(12)
    for _ in range(500):
        shared = 0.7 + 0.13 * random.standard_normal(30)
        means = shared - gap * np.arange(12)[:, None] + 0.1 * random.standard_normal((12, 30))
        found = np.array(stats.own_rank_ranges(means))
        true = np.arange(1, 13)
        missed += (true < found[:, 0]) | (true > found[:, 1])
    assert missed.max() / 500 <= 0.05


def test_nothing_to_go_by() -> None:
    assert stats.own_rank_ranges(np.ones((3, 1))) == [(1, 3)] * 3
    assert stats.own_rank_ranges(np.ones((3, 4))) == [(1, 3)] * 3
    assert stats.own_rank_ranges(np.ones((1, 5))) == [(1, 1)]
    assert stats.own_rank_ranges(np.ones((0, 5))) == []
    same = np.random.default_rng(0).random(20)
    assert stats.own_rank_ranges(np.stack([same, same, same - 0.5])) == [(1, 2), (1, 2), (3, 3)]


@pytest.mark.parametrize(
    ("means", "level", "error"),
    [
        (np.array([[1.0, np.nan]]), 0.95, InputError),
        (np.ones(3), 0.95, InputError),
        (np.ones((2, 2)), 1.0, SettingsError),
    ],
)
def test_what_is_refused(means: Floats, level: float, error: Any) -> None:
    with pytest.raises(error):
        stats.own_rank_ranges(means, level=level)


@given(st.integers(0, 4), st.integers(0, 6), st.integers(0, 999))
@settings(max_examples=30)
def test_each_row_of_tests_is_a_family(families: int, tests: int, seed: int) -> None:
    p = np.random.default_rng(seed).random((families, tests)).round(1)
    found = holm_by_row(p)
    assert found.shape == p.shape
    assert [row.tolist() for row in found] == [stats.holm(row).tolist() for row in p]
