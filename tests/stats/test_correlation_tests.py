"""P-values, dependent and partial correlations, clusters and noise: against other packages, and simulated."""

import math
from itertools import combinations, product
from typing import get_args

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pingouin  # type: ignore[import-untyped]
import pytest
import scipy.stats  # type: ignore[import-untyped]
from numpy.typing import NDArray
from statsmodels.stats.multitest import multipletests  # type: ignore[import-untyped]

from pfgen_rs import stats
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.stats import correlation as corr, correlation_tests as tests
from pfgen_rs.stats.permutation import benjamini_hochberg

Floats = NDArray[np.float64]


def normal(random: np.random.Generator, matrix: list[list[float]], items: int) -> Floats:
    """Columns of a normal distribution with these correlations, shape (variables, items)."""
    return np.linalg.cholesky(np.array(matrix)) @ random.standard_normal((len(matrix), items))


def three(one: float, other: float, between: float) -> list[list[float]]:
    return [[1, one, other], [one, 1, between], [other, between, 1]]


@pytest.mark.parametrize("items", [3, 4, 31, 59])
def test_p_values_are_those_of_scipy_and_their_corrections_those_of_statsmodels(items: int) -> None:
    random = np.random.default_rng(items)
    found = []
    for _ in range(20):
        x, y = random.normal(size=(2, items))
        r, expected = scipy.stats.pearsonr(x, y)
        found.append(tests.correlation_p(float(r), items) or 0.0)
        assert found[-1] == pytest.approx(expected, abs=1e-12)
        rho, expected = scipy.stats.spearmanr(x, y)
        if abs(rho) < 1:
            assert tests.correlation_p(float(rho), items) == pytest.approx(expected, abs=1e-12)
    for ours, name in ((stats.holm, "holm"), (benjamini_hochberg, "fdr_bh")):
        assert ours(found) == pytest.approx(multipletests(found, method=name)[1], abs=1e-12)
    assert benjamini_hochberg([]).tolist() == []
    assert tests.correlation_p(1.0, 4) == 0
    assert tests.correlation_p(0.5, 2) is None


@pytest.mark.parametrize("controls", [1, 2, 4])
def test_partial_correlations_are_those_of_pingouin(controls: int) -> None:
    random = np.random.default_rng(controls)
    names = [f"c{i}" for i in range(controls)]
    for items in (12, 40):
        data = random.normal(size=(2 + controls, items)).round(1)  # with ties
        data[:2] += data[2:].sum(axis=0)
        frame = pd.DataFrame(data.T, columns=["x", "y", *names])
        for ranks in (False, True):
            method = "spearman" if ranks else "pearson"
            [told] = pingouin.partial_corr(frame, "x", "y", covar=names, method=method).to_dict(
                "records"
            )
            r = tests.partial_correlation(data[0], data[1], list(data[2:]), ranks=ranks)
            assert r is not None
            assert r == pytest.approx(told["r"], abs=1e-10)
            assert tests.correlation_p(r, items, controls) == pytest.approx(
                told["p_val"], abs=1e-10
            )
            if not ranks:
                assert corr.fisher_interval(r, items - controls) == pytest.approx(
                    told["CI95"], abs=0.005001
                )


def test_partial_correlations_of_large_and_of_dependent_numbers() -> None:
    x, y, z = np.random.default_rng(0).normal(size=(3, 30))
    plain = tests.partial_correlation(x, y, [z])
    assert tests.partial_correlation(1e60 * x, 1e-60 * y, [1e60 * z, 2 * z]) == pytest.approx(plain)
    assert tests.partial_correlation(x, y, []) == pytest.approx(corr.pearson(x, y))
    assert tests.partial_correlation(x, 3 * z + 1, [z]) is None
    assert tests.partial_correlation(np.ones(30), y, [z]) is None
    assert tests.partial_correlation(x[:3], y[:3], [z[:3]]) is None
    with pytest.raises(InputError, match="lists of the same length"):
        tests.partial_correlation(x, y, [z[1:]])


def covariance(matrix: list[list[float]], pairs: tuple[tuple[int, int], tuple[int, int]]) -> float:
    """The asymptotic covariance of two correlations, times n, by the moments of a normal distribution.

    Isserlis' theorem and the delta method with numerical derivatives: no formula of correlations.
    """
    r = np.array(matrix)
    size = len(r)
    places = list(product(range(size), repeat=2))
    moments = np.array(
        [[r[a, c] * r[b, d] + r[a, d] * r[b, c] for c, d in places] for a, b in places]
    )

    def gradient(i: int, j: int) -> Floats:
        def value(m: Floats) -> float:
            return float(m[i, j] / math.sqrt(m[i, i] * m[j, j]))

        steps = [1e-6 * np.eye(size * size)[k].reshape(size, size) for k in range(size * size)]
        return np.array([(value(r + step) - value(r - step)) / 2e-6 for step in steps])

    one, other = (gradient(*pair) for pair in pairs)
    return float(one @ moments @ other)


@pytest.mark.parametrize(
    "r", [(0.6, 0.4, 0.7), (-0.3, 0.5, 0.1), (0.9, 0.85, 0.8), (0.5, 0.5, 0.2)]
)
def test_steigers_z_follows_from_the_moments_of_a_normal_distribution(
    r: tuple[float, float, float],
) -> None:
    one, other, between = r
    mean = (one + other) / 2
    own = covariance(three(mean, mean, between), ((0, 1), (0, 2))) / (1 - mean**2) ** 2
    z = (math.atanh(one) - math.atanh(other)) * math.sqrt(47 / (2 - 2 * own))
    found = tests.compare_dependent(one, other, between, 50, test="steiger")
    assert found.statistic == pytest.approx(z, abs=1e-6)
    assert found.p == pytest.approx(2 * scipy.stats.norm.sf(abs(z)), abs=1e-6)
    t = tests.compare_dependent(one, other, between, 50)
    assert t[:3] == found[:3]


def test_dependent_correlations_that_say_nothing() -> None:
    nothing = (None, None, None, None)
    assert tests.compare_dependent(0.5, 0.5, 1.0, 30) == (0, *nothing)
    assert tests.compare_dependent(0.5, 0.4, 0.5, 3)[1:] == nothing
    assert tests.compare_dependent(1.0, 0.4, 0.4, 30)[1:] == nothing
    with pytest.raises(InputError, match=r"no three variables correlate by 0\.9, -0\.9 and 0\.9"):
        tests.compare_dependent(0.9, -0.9, 0.9, 30)
    with pytest.raises(SettingsError, match="unknown test 'hotelling'"):
        tests.compare_dependent(0.5, 0.4, 0.5, 30, test="hotelling")  # type: ignore[arg-type]
    x = np.arange(6.0)
    swapped = tests.compare_dependent(0.3, 0.6, 0.4, 30)
    plain = tests.compare_dependent(0.6, 0.3, 0.4, 30)
    assert swapped.value == -plain.value
    assert swapped.low == pytest.approx(-(plain.high or 0))
    assert swapped.p == pytest.approx(plain.p)
    assert tests.cluster_intervals(x, x[::-1] ** 2, np.arange(6) % 4) == ((None, None),) * 2


def test_published_examples() -> None:
    """Of the program of Silver, Hittner & May (2006), and of Zou (2007)."""
    found = tests.compare_dependent(0.3, 0.4, 0.5, 100)
    assert found.statistic == pytest.approx(-1.0767, abs=5e-5)
    assert found.p == pytest.approx(0.2843, abs=5e-5)
    found = tests.compare_dependent(0.396, 0.179, 0.088, 66)
    assert found[:3] == pytest.approx((0.217, -0.093, 0.517), abs=5e-4)


@pytest.mark.parametrize("items", [12, 31])
@pytest.mark.parametrize("r", [(0.0, 0.0), (0.6, 0.3), (0.85, 0.8)])
def test_tests_of_dependent_correlations_err_as_often_as_they_say(
    items: int, r: tuple[float, float]
) -> None:
    """Of 1000 tests of equal correlations 5 % reject; 95 % of intervals hold a difference of 0.1, or 0."""
    common, between = r
    random = np.random.default_rng(items)
    wrong, held = np.zeros(3), np.zeros(3)
    for _ in range(1000):
        for gap in (0.0, 0.1):
            sides = normal(random, three(common + gap, common, between), items)
            pairs = list(combinations(sides, 2))
            r_found = [corr.pearson(*pair) or 0.0 for pair in pairs]
            ranked = [corr.spearman(*pair) or 0.0 for pair in pairs]
            found = []
            for test in get_args(tests.Test):
                one, other, third = ranked if test == "ranks" else r_found
                found.append(tests.compare_dependent(one, other, third, items, test=test))
            if gap:
                held[0] += (found[0].low or 0) <= gap <= (found[0].high or 0)
            else:
                wrong += [(each.p or 0) <= 0.05 for each in found]
                held[1:] += [(each.low or 0) <= 0 <= (each.high or 0) for each in found[1:]]
    print(f"{items} {r}: wrong {wrong / 1000}, held {held / 1000}")
    assert wrong / 1000 == pytest.approx(0.05, abs=0.02)
    assert held / 1000 == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize("families", [10, 25])
def test_intervals_over_families_cover_where_those_over_models_do_not(families: int) -> None:
    """Models of a family are alike: x and y share its part, by 60 % of their variances."""
    random = np.random.default_rng(families)
    hits = np.zeros(3)
    for i in range(300):
        family = np.repeat(np.arange(families), random.geometric(0.35, families))
        of_all, of_each = (
            normal(random, [[1, r], [r, 1]], n) for r, n in ((0.8, families), (0.3, len(family)))
        )
        x, y = 0.6**0.5 * of_all[:, family] + 0.4**0.5 * of_each
        true = 0.6 * 0.8 + 0.4 * 0.3
        usual = corr.fisher_interval(corr.pearson(x, y), len(x))
        found = tests.cluster_intervals(x, y, family, resamples=200, seed=i)
        true_rank = 6 / math.pi * math.asin(true / 2)
        for k, ((low, high), value) in enumerate(
            zip((usual, *found), (true, true, true_rank), strict=True)
        ):
            hits[k] += low is not None and high is not None and low <= value <= high
    print(f"{families}: {hits / 300}")
    assert hits[0] / 300 < 0.9
    assert (hits[1:] / 300 > 0.9).all()
    assert (hits[1:] / 300 < 0.985).all()


def test_correlations_without_noise_are_those_before_it() -> None:
    """Scores have known errors, the other benchmark a known reliability; 95 % of intervals hold."""
    random = np.random.default_rng(3)
    hits = raw = 0
    for _ in range(1500):
        x, y = normal(random, [[1, 0.7], [0.7, 1]], 40)
        errors = random.uniform(0.3, 0.7, 40)
        seen = x + errors * random.standard_normal(40), y + 0.5 * random.standard_normal(40)
        share = tests.reliability(seen[0], errors)
        r = corr.pearson(*seen) or 0.0
        _, low, high = tests.disattenuated(r, 40, [share or 0.0, 1 / 1.25])
        hits += (low or 0) <= 0.7 <= (high or 0)
        low, high = corr.fisher_interval(r, 40)
        raw += (low or 0) <= 0.7 <= (high or 0)
    print(f"{hits / 1500:.3f}, without correction {raw / 1500:.3f}")
    assert hits / 1500 == pytest.approx(0.95, abs=0.02)
    assert raw / 1500 < 0.9


def test_reliabilities() -> None:
    assert tests.disattenuated(0.6, 40, [0.81, 1.0])[0] == pytest.approx(0.6 / 0.9)
    assert tests.disattenuated(0.9, 40, [0.5, 0.5])[2] == 1.0
    assert tests.disattenuated(0.5, 3, [0.9])[1:] == (None, None)
    assert tests.reliability([1, 2, 3], [0.5, 0.5, 0.5]) == pytest.approx(0.75)
    assert tests.reliability([1, 2, 3], [2, 2, 2]) is tests.reliability([1, 1], [1, 1]) is None
    with pytest.raises(
        InputError, match="invalid reliability 0: expected a number above 0, up to 1"
    ):
        tests.disattenuated(0.5, 40, [0.9, 0])
