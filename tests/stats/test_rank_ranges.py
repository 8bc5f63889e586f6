"""Ranges of ranks and tiers: equal to scipy's tests, to steps one by one, and to what they promise."""

import itertools
import math
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.stats  # type: ignore[import-untyped]
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray
from statsmodels.stats.multitest import multipletests  # type: ignore[import-untyped]

from pfgen_rs import stats
from pfgen_rs.checkout.entries import read_entries
from pfgen_rs.stats.permutation import flips
from pfgen_rs.stats.ranking import RankTests

Floats = NDArray[np.float64]


# A run's own range: what its own tests leave open, and for whom it holds.


SOME_LEVELS = st.sampled_from([0.6, 0.9, 0.95, 0.99])
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


@given(**SHAPES, level=SOME_LEVELS)
@settings(max_examples=60)
def test_own_ranges_are_what_own_tests_leave_open(
    runs: int, questions: int, seed: int, level: float
) -> None:
    means = graded(runs, questions, seed)
    expected = [range_of(means, i, level) for i in range(runs)]
    assert stats.own_rank_ranges(means, level=level) == expected


@given(**SHAPES, level=SOME_LEVELS)
@settings(max_examples=60)
def test_own_ranges_lie_within_those_of_all_runs(
    runs: int, questions: int, seed: int, level: float
) -> None:
    tests = RankTests(graded(runs, questions, seed), level)
    for (low, high), (own_low, own_high) in zip(tests.joint(), tests.own(), strict=True):
        assert low <= own_low <= own_high <= high


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


# Ranges of all runs together.


def skewed(runs: int, questions: int, seed: int) -> Floats:
    """Runs from bad to good, over questions some of which are hard."""
    random = np.random.default_rng(seed)
    hardness = random.gamma(0.5, 1, questions) * random.random((runs, 1))
    return random.random((runs, questions)) - hardness + np.linspace(0, 1, runs)[:, None]


def own_t(differences: Floats) -> float:
    """Student's t by scipy, or less if Hall's transformation of it with twice the skewness is."""
    t, n = float(scipy.stats.ttest_1samp(differences, 0).statistic), len(differences)
    skew = 2 * float(scipy.stats.skew(differences, bias=False)) if n > 2 else 0.0
    bent = t + skew * t**2 / 3 / n**0.5 + skew**2 * t**3 / 27 / n + skew / 6 / n**0.5
    return float(min(abs(t), max(bent * math.copysign(1, t), 0)))


def stepped_down(means: Floats, level: float) -> list[tuple[int, int]]:
    """Joint ranges pair by pair, from t statistics of flipped differences; steps are exact."""
    runs, n = means.shape
    draws = 999
    signs = np.concatenate(list(flips(n, draws, 0)))
    pairs = list(itertools.combinations(range(runs), 2))
    differences = {(i, j): means[i] - means[j] for i, j in pairs}
    reached = {
        pair: np.abs(scipy.stats.ttest_1samp(signs * d, 0, axis=1).statistic)
        for pair, d in differences.items()
    }
    own = {pair: own_t(d) for pair, d in differences.items()}
    added = 0 if len(signs) < draws else 1
    apart: set[tuple[int, int]] = set()
    while left := [pair for pair in pairs if pair not in apart]:
        most = np.max([reached[pair] for pair in left], axis=0)
        found = {
            pair
            for pair in left
            if (np.count_nonzero(most >= own[pair] * (1 - 1e-9)) + added) / (len(signs) + added)
            <= 1 - level
        }
        if not found:
            break
        apart |= found
    above = [(i, j) if differences[i, j].mean() > 0 else (j, i) for i, j in apart]
    found_own = [range_of(means, i, level) for i in range(runs)]
    return [
        (
            min(low, 1 + sum(j == i for _, j in above)),
            max(high, runs - sum(j == i for j, _ in above)),
        )
        for i, (low, high) in enumerate(found_own)
    ]


@pytest.mark.parametrize("questions", [3, 6, 9, 10, 30])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_joint_ranges_are_those_of_the_largest_t_of_flipped_signs(
    questions: int, level: float
) -> None:
    for seed in range(3):
        means = skewed(6, questions, seed)
        assert stats.rank_ranges(means, level=level) == stepped_down(means, level)


def test_the_same_run_twice_shares_its_ranks() -> None:
    one = np.random.default_rng(0).random(20)
    assert stats.rank_ranges(np.stack([one, one, one - 0.5])) == [(1, 2), (1, 2), (3, 3)]


@pytest.mark.parametrize("kind", ["questions", "signs"])
def test_joint_ranges_of_published_runs_err_in_one_of_twenty_draws_at_most(
    kind: str, published_dir: Path
) -> None:
    """Means of real questions, whose differences are skewed, shifted until all runs are equal."""
    entries = [entry for entry in read_entries(published_dir)[0] if entry.rank is not None]
    means = np.array([[*dict(sorted(entry.questions.items())).values()] for entry in entries])
    means -= means.mean(axis=1, keepdims=True)
    random, erring = np.random.default_rng(46), []
    for _ in range(300):
        drawn = means * random.choice([-1, 1], 50)
        if kind == "questions":
            drawn = means[:, random.integers(0, 50, 50)]
        erring.append(any(span != (1, 24) for span in stats.rank_ranges(drawn)))
    assert 0.01 <= np.mean(erring) <= 0.075  # 5 % and two standard errors


# The false discovery rate, and tiers.


@given(st.lists(st.floats(0, 1) | st.sampled_from([0.0, 0.01, 0.05, 1.0]), max_size=40))
def test_benjamini_and_hochberg_are_those_of_scipy_and_statsmodels(p: list[float]) -> None:
    found = stats.benjamini_hochberg(p)
    assert found == pytest.approx(scipy.stats.false_discovery_control(p) if p else [], abs=1e-12)
    if p:
        rejected, adjusted, *_ = multipletests(p, alpha=0.05, method="fdr_bh")
        assert found == pytest.approx(adjusted, abs=1e-12)
        assert ((found <= 0.05) == rejected)[abs(found - 0.05) > 1e-12].all()


@given(**SHAPES, level=SOME_LEVELS)
@settings(max_examples=40)
def test_a_tier_begins_where_a_run_differs_from_the_first_of_the_tier_before(
    runs: int, questions: int, seed: int, level: float
) -> None:
    means = graded(runs, questions, seed)[::-1]
    pairs = list(itertools.combinations(range(runs), 2))
    p = [scipy.stats.ttest_rel(means[i], means[j]).pvalue for i, j in pairs]
    apart = dict(zip(pairs, scipy.stats.false_discovery_control(p) <= 1 - level, strict=True))
    expected, first = [1], 0
    for run in range(1, runs):
        first = run if apart[first, run] else first
        expected.append(expected[-1] + (first == run))
    assert stats.tiers(means, level=level) == expected


@pytest.mark.parametrize(
    ("means", "expected"),
    [
        (np.zeros((0, 3)), []),
        (np.zeros((1, 3)), [1]),
        (np.ones((3, 1)), [1, 1, 1]),
        (np.ones((3, 9)), [1, 1, 1]),
        (np.linspace(1, 0, 4)[:, None] + np.zeros(9), [1, 2, 3, 4]),  # a constant difference
    ],
)
def test_tiers_and_ranges_of_few_runs_questions_and_differences(
    means: Floats, expected: list[int]
) -> None:
    assert stats.tiers(means) == expected
    ranges = [(1, len(means))] * len(means)
    if len(set(expected)) == 4:
        ranges = [(i, i) for i in expected]
    assert stats.rank_ranges(means) == stats.own_rank_ranges(means) == ranges


# Speed: an order of magnitude to spare on an idle machine.


def test_a_thousand_runs_are_ranked_in_less_than_three_seconds() -> None:
    """Of a processor's time, for others may be busy."""
    means = np.random.default_rng(1).random((1000, 50)) + np.linspace(0, 1, 1000)[:, None]
    begun = time.process_time()
    stats.rank_ranges(means)
    assert time.process_time() - begun < 3
