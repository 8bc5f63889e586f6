"""Shares and weighted means against statsmodels and scipy, and how often intervals and tests err."""

import math

import numpy as np
import pytest
import scipy.stats  # type: ignore[import-untyped]
from statsmodels.stats.proportion import proportion_confint  # type: ignore[import-untyped]

from pfgen_rs.stats import sign_flip
from pfgen_rs.stats.shares import WeightedMean, bonett_price, mcnemar, weighted_mean, wilson


@pytest.mark.parametrize("n", [1, 2, 20, 100, 2434])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_wilson_is_the_score_interval(n: int, level: float) -> None:
    for count in {0, 1, n // 3, n - 1, n}:
        expected = proportion_confint(count, n, alpha=1 - level, method="wilson")
        assert wilson(count, n, level) == pytest.approx(expected, abs=1e-12)


# The shares of items that both have right, only the first, only the second, and neither.
ITEMS = [
    (0.4, 0.3, 0.0, 0.3),
    (0.25, 0.25, 0.25, 0.25),
    (0.7, 0.1, 0.05, 0.15),
    (0.02, 0.9, 0.0, 0.08),
    (0.9, 0.02, 0.02, 0.06),
    (0.0, 0.5, 0.0, 0.5),
]


@pytest.mark.parametrize("shares", ITEMS)
@pytest.mark.parametrize("n", [4, 10, 30, 100])
def test_differences_of_shares_are_covered(n: int, shares: tuple[float, ...]) -> None:
    """Student's t, over the same differences, covers as few as 35 % of them."""
    random = np.random.default_rng(n)
    hits = []
    for _, first, second, _ in random.multinomial(n, shares, 4000):
        low, high = bonett_price(first, second, n)
        assert -1 <= low <= (first - second) / n <= high <= 1
        hits.append(low <= shares[1] - shares[2] <= high)
    assert np.mean(hits) >= 0.93


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (0, 0),
        (1, 0),
        (5, 5),
        (6, 5),
        (3, 12),
        (0, 40),
        (90, 60),
        (600, 500),
        (900, 1400),
        (0, 1100),
    ],
)
def test_mcnemar_is_the_exact_binomial_test(first: int, second: int) -> None:
    expected = scipy.stats.binomtest(first, first + second, 0.5).pvalue if first + second else 1.0
    assert mcnemar(first, second) == pytest.approx(expected, rel=1e-10)
    assert mcnemar(second, first) == mcnemar(first, second)


def test_mcnemar_is_the_sign_flip_test_of_right_and_wrong() -> None:
    differences = np.array([1.0] * 7 + [-1.0] * 2 + [0.0] * 4)
    assert sign_flip(differences, permutations=1 << 13) == pytest.approx(mcnemar(7, 2), abs=1e-12)


def test_one_sample_is_student_s_t() -> None:
    x = np.random.default_rng(0).normal(0.3, 1, 25)
    found = weighted_mean([x], [1.0])
    expected = scipy.stats.ttest_1samp(x, 0.0)
    assert found.value == pytest.approx(x.mean())
    assert found.freedom == 24
    assert found.p() == pytest.approx(expected.pvalue)
    assert found.interval(0.9) == pytest.approx(tuple(expected.confidence_interval(0.9)))
    t, z = scipy.stats.t.ppf(0.975, 24), scipy.stats.norm.ppf(0.8)
    assert found.detectable() == pytest.approx((t + z) * scipy.stats.sem(x))


def test_two_samples_are_welch_s_test() -> None:
    random = np.random.default_rng(1)
    x, y = random.normal(0, 1, 12), random.normal(0.5, 3, 30)
    found = weighted_mean([x, y], [1.0, -1.0])
    expected = scipy.stats.ttest_ind(x, y, equal_var=False)
    assert found.freedom == math.floor(expected.df)
    assert found.se is not None
    assert found.value / found.se == pytest.approx(expected.statistic)


def test_many_degrees_of_freedom_are_rounded_down() -> None:
    random = np.random.default_rng(2)
    for n, expected in ((30, 50), (60, 110), (400, 700), (4000, 1000)):
        x = random.normal(0, 1, n)
        assert weighted_mean([x, -x], [0.5, 0.5]).freedom == expected  # of 2n - 2
    t = scipy.stats.t.ppf(0.975, [50, 59.9, 60, 69.9, 200, 299.9])
    assert (t[::2] / t[1::2] - 1).max() < 0.005


def test_what_says_nothing_about_itself() -> None:
    assert weighted_mean([np.array([0.5]), np.ones(9)], [1, 1]) == WeightedMean(1.5, None, None)
    single = WeightedMean(1.5, None, None)
    assert (single.interval(), single.p(), single.detectable()) == ((None, None), None, None)
    same = weighted_mean([np.zeros(9), np.zeros(4)], [0.5, 0.5])
    assert (same.se, same.freedom, same.p()) == (0.0, 3, 1.0)
    assert weighted_mean([np.ones(9)], [0.5]).p() == 0.0


SHARES = (0.02, 0.2, 0.3, 0.35, 0.5, 0.8, 0.97)


@pytest.mark.parametrize("n", [20, 100])
def test_differences_over_tasks_err_as_often_as_they_say(n: int) -> None:
    """Two runs that are better at different tasks but equal in their mean."""
    random = np.random.default_rng(n)
    times, wrong = 2000, 0
    for _ in range(times):
        apart = []
        for i, share in enumerate(SHARES):
            gain = (0.0, 0.1, -0.1, 0.15, -0.15, 0.0, 0.0)[i]
            same = random.random(n)
            a = np.where(random.random(n) < 0.5, same, random.random(n)) < share
            b = np.where(random.random(n) < 0.5, same, random.random(n)) < share + gain
            apart.append(a.astype(float) - b)
        p = weighted_mean(apart, [1 / 7] * 7).p()
        assert p is not None
        wrong += p <= 0.05
    print(f"n = {n}: {wrong / times:.4f}")
    assert 0.035 < wrong / times < 0.065
