"""Shares and correlations, with their intervals."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats  # type: ignore[import-untyped]
from hypothesis import example, given, settings, strategies as st
from numpy.typing import NDArray
from scipy import stats as scipy_stats
from sklearn.metrics import cohen_kappa_score  # type: ignore[import-untyped]
from statsmodels.stats.proportion import proportion_confint  # type: ignore[import-untyped]

from pfgen_rs.stats import correlation as corr, sign_flip
from pfgen_rs.stats.shares import WeightedMean, bonett_price, mcnemar, weighted_mean, wilson

ratings = st.lists(st.tuples(st.integers(1, 10), st.integers(1, 10)), min_size=3, max_size=60)


@settings(max_examples=150)
@given(ratings)
def test_values_equal_those_of_scipy_and_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    x, y = (list(values) for values in zip(*pairs, strict=True))
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert corr.pearson(x, y) is None
        assert corr.spearman(x, y) is None
        return
    assert corr.pearson(x, y) == pytest.approx(scipy_stats.pearsonr(x, y)[0], abs=1e-12)
    assert corr.spearman(x, y) == pytest.approx(scipy_stats.spearmanr(x, y)[0], abs=1e-12)
    kappa = cohen_kappa_score(x, y, labels=range(1, 11), weights="quadratic")
    assert corr.moments(x, y).quadratic_kappa[0] == pytest.approx(kappa, abs=1e-12)
    slope = scipy_stats.linregress(x, y).slope
    assert corr.moments(x, y).slope[0] == pytest.approx(slope, abs=1e-12)


def test_fishers_interval_is_scipys() -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 40))
    y += x
    found = scipy_stats.pearsonr(x, y)
    for level in (0.8, 0.95):
        low, high = found.confidence_interval(level)
        assert corr.fisher_interval(corr.pearson(x, y), 40, level) == pytest.approx(
            (low, high), abs=1e-12
        )
    low, high = corr.fisher_interval(0.5, 40, ranks=True)
    reach = 1.959963984540054 * math.sqrt(1.125 / 37)
    assert (low, high) == pytest.approx(
        (math.tanh(math.atanh(0.5) - reach), math.tanh(math.atanh(0.5) + reach)), abs=1e-12
    )


@given(ratings, st.integers(0, 5))
@example([(1, 1), (1, 2), (3, 1)], 1)  # some resamples are constant but for rounding errors
@settings(max_examples=25)
def test_resamples_repeat_whole_groups(pairs: list[tuple[int, int]], seed: int) -> None:
    x, y = np.array(pairs, dtype=np.float64).T
    groups = np.random.default_rng(seed).integers(0, 4, len(pairs))
    counts = corr.group_resamples(4, 100, seed)
    assert (counts.sum(axis=1) == 4).all()
    found, ranked = (
        corr.resampled_moments(x, y, groups, counts),
        corr.resampled_spearman(x, y, groups, counts),
    )
    for i in range(0, 100, 9):
        repeated = np.repeat(np.arange(len(pairs)), counts[i][groups])
        for value, wanted in (
            (found.pearson[i], _defined(corr.pearson, x[repeated], y[repeated])),
            (ranked[i], _defined(corr.spearman, x[repeated], y[repeated])),
        ):
            if len(repeated) >= 3:
                assert value == pytest.approx(wanted, abs=1e-9, nan_ok=True)


def _defined(measure: Any, x: Any, y: Any) -> float:
    found = measure(x, y)
    return math.nan if found is None else float(found)


def test_the_same_seed_gives_the_same_resamples() -> None:
    assert (corr.group_resamples(9, 100, 1) == corr.group_resamples(9, 100, 1)).all()
    assert (corr.group_resamples(9, 100, 1) != corr.group_resamples(9, 100, 2)).any()


@pytest.mark.parametrize("n", range(3, 41))
def test_the_same_order_is_exactly_one(n: int) -> None:
    x = [float(i // 2 if n % 2 and n > 3 else i) for i in range(n)]  # odd lengths with ties
    assert corr.spearman(x, [math.exp(value / 9) for value in x]) == 1.0
    assert corr.spearman(x, [-(value**3) for value in x]) == -1.0
    assert corr.spearman([*x[:-1], -1.0], x) not in (1.0, -1.0)


Floats = NDArray[np.float64]
Values = Callable[[Floats, Floats], Floats]
KINDS: dict[str, tuple[Values, Callable[..., tuple[float, float]]]] = {
    "pearson": (corr.pearson_values, scipy.stats.pearsonr),
    "spearman": (corr.spearman_values, scipy.stats.spearmanr),
}
each_kind = pytest.mark.parametrize("kind", KINDS)


def graded(random: np.random.Generator, n: int, noise: float = 1.0) -> tuple[Floats, Floats]:
    """Predictions in whole numbers and golds in steps of 0.2, from 0 to 5: many ties."""
    truth = random.uniform(0, 5, n)
    said = np.clip(np.round(truth + noise * random.standard_normal(n)), 0, 5)
    return said, np.round(truth * 5) / 5


@each_kind
@pytest.mark.parametrize("n", [3, 4, 30, 71])
def test_pseudo_values_leave_out_each_item(kind: str, n: int) -> None:
    values, correlation = KINDS[kind]
    x, y = graded(np.random.default_rng(n), n)
    whole = correlation(x, y)[0]
    without = []
    for i in range(n):
        a, b = np.delete(x, i), np.delete(y, i)
        without.append(0.0 if np.ptp(a) == 0 or np.ptp(b) == 0 else correlation(a, b)[0])
    expected = n * whole - (n - 1) * np.array(without)
    found = values(x, y)
    assert found.mean() == pytest.approx(whole, abs=1e-12)
    np.testing.assert_allclose(found - whole, expected - expected.mean(), atol=1e-9)


@each_kind
def test_blocks_do_not_matter(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    values, _ = KINDS[kind]
    x, y = graded(np.random.default_rng(0), 50)
    whole = values(x, y)
    monkeypatch.setattr("pfgen_rs.stats.correlation._BLOCK", 150)
    np.testing.assert_array_equal(values(x, y), whole)


@each_kind
def test_a_constant_side_counts_as_no_correlation(kind: str) -> None:
    values, _ = KINDS[kind]
    assert values(np.full(9, 0.1), np.arange(9.0)).tolist() == [0.0] * 9
    one_off = np.array([3.0] * 8 + [4.0])
    assert values(one_off, np.arange(9.0)).std() > 0


@each_kind
def test_shifts_and_scales_do_not_matter(kind: str) -> None:
    values, _ = KINDS[kind]
    x, y = graded(np.random.default_rng(1), 40)
    np.testing.assert_allclose(values(1e6 + 10 * x, y), values(x, y), atol=1e-6)


@each_kind
@pytest.mark.parametrize("shape", ["graded", "outliers"])
def test_intervals_of_correlations_cover(kind: str, shape: str) -> None:
    """Of 100 items each, 95 % of intervals hold the correlation of very many."""
    values, correlation = KINDS[kind]
    random = np.random.default_rng(5)

    def drawn(n: int) -> tuple[Floats, Floats]:
        x, y = graded(random, n, noise=1.5)
        if shape == "outliers":  # some answers are long numbers
            x = np.where(random.random(n) < 0.05, 15.0, x)
        return x, y

    true = correlation(*drawn(1_000_000))[0]
    hits = 0
    for _ in range(1000):
        found = values(*drawn(100))
        low, high = corr.correlation_interval(found.mean(), found.std(ddof=1) / 10, 100)
        assert low is not None
        assert high is not None
        hits += low <= true <= high
    print(f"{kind}, {shape}: {hits / 1000:.3f}")
    # Pearson's correlation with outliers is as skewed as it gets.
    least = 0.9 if (kind, shape) == ("pearson", "outliers") else 0.93
    assert least < hits / 1000 < 0.97


# Shares and weighted means against statsmodels and scipy, and how often intervals and tests err.


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
        *((0, 0), (1, 0), (5, 5), (6, 5), (3, 12), (0, 40)),
        *((90, 60), (600, 500), (900, 1400), (0, 1100)),
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
