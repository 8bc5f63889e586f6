"""Statistics of runs: equal to scipy and statsmodels, to formulas worked by hand, and to themselves."""

import itertools
import math
import time
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats  # type: ignore[import-untyped]
import statsmodels.api as sm  # type: ignore[import-untyped]
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as npst
from numpy.typing import NDArray
from statsmodels.stats.multitest import multipletests  # type: ignore[import-untyped]

from made_samples import made, sample
from pfgen_rs import stats
from pfgen_rs.stats import checks
from pfgen_rs.stats.checks import normal_quantile, two_sided_p, two_sided_quantile
from pfgen_rs.stats.estimates import Resampler, interval
from pfgen_rs.stats.permutation import holm_by_row

Floats = NDArray[np.float64]
LEVELS = st.floats(0.5, 0.999)


# Student's t and Holm.


# Nearer to 0 scipy itself is off by 1e-12.
T = st.floats(-60, 60).filter(lambda t: t == 0 or abs(t) > 1e-3)


@given(st.lists(T, min_size=1, max_size=20), st.integers(1, 300))
def test_p_values_are_those_of_scipy(t: list[float], freedom: int) -> None:
    expected = 2 * scipy.stats.t.sf(np.abs(t), freedom)
    assert two_sided_p(np.array(t), freedom) == pytest.approx(expected, abs=1e-13)


@given(LEVELS, st.integers(1, 300))
def test_quantiles_are_those_of_scipy(level: float, freedom: int) -> None:
    expected = scipy.stats.t.ppf((1 + level) / 2, freedom)
    assert two_sided_quantile(level, freedom) == pytest.approx(expected, rel=1e-9)


def test_known_quantiles_are_those_that_are_found() -> None:
    for (level, freedom), value in checks._QUANTILES.items():
        found = checks._bisected_quantile(level, freedom)
        # numpy's cosines differ in the last bit between processors
        assert value == pytest.approx(found, rel=1e-15)
        assert two_sided_quantile(level, freedom) == value


def test_an_infinite_t_has_p_0() -> None:
    assert two_sided_p(np.array([math.inf, -math.inf, 0.0]), 4).tolist() == [0.0, 0.0, 1.0]


@given(npst.arrays(np.float64, st.integers(1, 40), elements=st.floats(0, 1)))
@settings(max_examples=10)
def test_holm_is_that_of_statsmodels(p: Floats) -> None:
    assert stats.holm(p) == pytest.approx(multipletests(p, method="holm")[1], abs=1e-12)


# The errors of a score.


def test_errors_worked_by_hand() -> None:
    found = stats.estimate(sample("hand", [np.array([0.2, 0.4]), np.array([0.5, 0.6, 0.7])]))
    assert found.mean == pytest.approx(0.45)
    assert found.trial_sd == pytest.approx(math.sqrt(0.02 + 0.01) / 2)
    assert found.trial_se == pytest.approx(math.sqrt(0.02 / 2 + 0.01 / 3) / 2)
    assert found.question_se == pytest.approx(0.15)
    assert (found.questions, found.responses) == (2, 5)


def test_the_error_over_questions_is_the_clustered_one_of_statsmodels() -> None:
    run = made(questions=30, trials=7)
    values = np.concatenate(run.values["average"])
    groups = np.repeat(np.arange(30), 7)
    fit = sm.OLS(values, np.ones(len(values))).fit(cov_type="cluster", cov_kwds={"groups": groups})
    found = stats.estimate(run)
    assert (found.mean, found.question_se) == pytest.approx((fit.params[0], fit.bse[0]))


@given(st.lists(st.integers(1, 6), min_size=1, max_size=8), st.integers(0, 1000), LEVELS)
@settings(max_examples=40)
def test_a_summary_gives_the_errors_of_the_responses(
    counts: list[int], seed: int, level: float
) -> None:
    random = np.random.default_rng(seed)
    values = [random.random(n) for n in counts]
    full = stats.estimate(sample("full", values), level=level, resamples=100)
    means, sds = [v.mean() for v in values], [v.std() for v in values]
    brief = stats.from_summary(means, sds, counts, level=level)
    errors = ("mean", "trial_sd", "trial_se", "question_se", "low", "high")
    for name in (*errors, "questions", "responses"):
        assert getattr(brief, name) == pytest.approx(getattr(full, name)), name
    assert brief.bootstrap_low is None
    assert (full.trial_sd is None) == (min(counts) == 1)
    if len(counts) == 1:
        assert (full.low, full.high, full.bootstrap_low, full.bootstrap_high) == (None,) * 4
    else:
        bounds = scipy.stats.t.interval(
            level, len(means) - 1, loc=np.mean(means), scale=scipy.stats.sem(means)
        )
        assert (brief.low, brief.high) == pytest.approx(bounds)


# The bootstrap.


def test_without_noise_of_trials_the_interval_is_that_of_scipy_stretched() -> None:
    means = np.random.default_rng(3).beta(4, 2, 12)
    found = stats.estimate(sample("one", [np.array([mean]) for mean in means]), resamples=100_000)
    plain = scipy.stats.bootstrap(
        (means,), np.mean, n_resamples=100_000, method="percentile", rng=np.random.default_rng(1)
    ).confidence_interval
    stretch = scipy.stats.t.ppf(0.975, 11) / scipy.stats.norm.ppf(0.975) * math.sqrt(12 / 11)
    expected = [means.mean() + (bound - means.mean()) * stretch for bound in plain]
    bounds = [found.bootstrap_low, found.bootstrap_high]
    assert bounds == pytest.approx(expected, abs=0.002)


@pytest.mark.parametrize("trials", [2, 5, 40, 3000])
@pytest.mark.parametrize("spread", [0.02, 0.15, 2.0])
def test_resampled_means_vary_as_the_clustered_error_says(trials: int, spread: float) -> None:
    run = made(questions=15, trials=trials, spread=spread)
    means, noise = run.means(), run.variances() / run.counts
    draws = Resampler(15, 20_000, 5)
    resampled = draws.means(means, noise, draws.within(run.values["average"], "x"))
    error = scipy.stats.sem(means)
    assert resampled.std() == pytest.approx(error, rel=0.03)
    assert resampled.mean() == pytest.approx(means.mean(), abs=0.1 * error)


def test_the_seed_decides_and_the_metric_does_not() -> None:
    run = made()
    assert stats.estimate(run, seed=4) == stats.estimate(run, "fluency", seed=4)
    four, five = stats.estimate(run, seed=4), stats.estimate(run, seed=5)
    assert four.bootstrap_low != five.bootstrap_low
    assert four.low == five.low


def test_without_resamples_there_is_no_bootstrap() -> None:
    run = made()
    found, full = stats.estimate(run, resamples=0), stats.estimate(run)
    assert found == replace(full, bootstrap_low=None, bootstrap_high=None)
    assert found != full
    assert found.of(found.mean + 1).low is None
    assert full.of(full.mean + 1).bootstrap_high is None


def test_stretching_uses_the_quantiles_of_t_over_z() -> None:
    resampled = np.linspace(-1, 1, 100_001)
    low, high = interval(0.0, resampled, 5, 0.9)
    reach = 0.9 * two_sided_quantile(0.9, 4) / normal_quantile(0.9)
    assert (low, high) == pytest.approx((-reach, reach))


# Permutation tests.


def by_brute_force(differences: Floats) -> float:
    """All choices of signs, one at a time."""
    observed = abs(differences.sum()) - 1e-9
    choices = list(itertools.product((-1, 1), repeat=len(differences)))
    reached = sum(abs(float(np.dot(signs, differences))) >= observed for signs in choices)
    return float(reached / len(choices))


@given(npst.arrays(np.int64, st.integers(1, 9), elements=st.integers(-4, 4)))
@settings(max_examples=60)
def test_few_questions_are_enumerated(whole: NDArray[np.int64]) -> None:
    differences = whole / 8  # ties are common and exact
    assert stats.sign_flip(differences) == by_brute_force(differences)


def test_the_exact_p_is_that_of_scipy() -> None:
    random = np.random.default_rng(2)
    a, b = random.random(9), random.random(9) + 0.2
    found = scipy.stats.permutation_test(
        (a, b),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=np.inf,
    )
    assert stats.sign_flip(a - b) == pytest.approx(found.pvalue, abs=1e-12)


@pytest.mark.parametrize("shift", [0.0, 0.1, 0.3])
def test_random_signs_come_near_the_exact_p(shift: float) -> None:
    differences = np.random.default_rng(8).standard_normal(12) * 0.3 + shift
    exact = stats.sign_flip(differences)
    drawn = stats.sign_flip(differences, permutations=4_000, seed=3)
    assert drawn != exact  # 4,096 choices are more than 4,000
    assert drawn == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 4_000) + 1e-3)


# Speed: an order of magnitude to spare on an idle machine.


def test_ten_thousand_resamples_of_a_hundred_trials_take_less_than_a_second() -> None:
    run = made(trials=100)
    assert min(_seconds(lambda: stats.estimate(run)) for _ in range(3)) < 0.6


def _seconds(action: object) -> float:
    begun = time.perf_counter()
    action()  # type: ignore[operator]
    return time.perf_counter() - begun


@given(st.integers(0, 4), st.integers(0, 6), st.integers(0, 999))
@settings(max_examples=30)
def test_each_row_of_tests_is_a_family(families: int, tests: int, seed: int) -> None:
    p = np.random.default_rng(seed).random((families, tests)).round(1)
    found = holm_by_row(p)
    assert found.shape == p.shape
    assert [row.tolist() for row in found] == [stats.holm(row).tolist() for row in p]
