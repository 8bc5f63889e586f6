"""Correlations equal scipy's, quadratic kappa scikit-learn's, and resamples are those of repeated items."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats  # type: ignore[import-untyped]
from sklearn.metrics import cohen_kappa_score  # type: ignore[import-untyped]

from pfgen_rs.errors import SettingsError
from pfgen_rs.stats.correlation import (
    fisher_interval,
    group_resamples,
    moments,
    pearson,
    percentile_interval,
    resampled_moments,
    resampled_spearman,
    spearman,
)

ratings = st.lists(st.tuples(st.integers(1, 10), st.integers(1, 10)), min_size=3, max_size=60)


@settings(max_examples=150)
@given(ratings)
def test_values_equal_those_of_scipy_and_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    x, y = (list(values) for values in zip(*pairs, strict=True))
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert pearson(x, y) is None
        assert spearman(x, y) is None
        return
    assert pearson(x, y) == pytest.approx(scipy_stats.pearsonr(x, y)[0], abs=1e-12)
    assert spearman(x, y) == pytest.approx(scipy_stats.spearmanr(x, y)[0], abs=1e-12)
    kappa = cohen_kappa_score(x, y, labels=range(1, 11), weights="quadratic")
    assert moments(x, y).quadratic_kappa[0] == pytest.approx(kappa, abs=1e-12)
    slope = scipy_stats.linregress(x, y).slope
    assert moments(x, y).slope[0] == pytest.approx(slope, abs=1e-12)


def test_fishers_interval_is_scipys() -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 40))
    y += x
    found = scipy_stats.pearsonr(x, y)
    for level in (0.8, 0.95):
        low, high = found.confidence_interval(level)
        assert fisher_interval(pearson(x, y), 40, level) == pytest.approx((low, high), abs=1e-12)
    low, high = fisher_interval(0.5, 40, ranks=True)
    reach = 1.959963984540054 * math.sqrt(1.125 / 37)
    assert (low, high) == pytest.approx(
        (math.tanh(math.atanh(0.5) - reach), math.tanh(math.atanh(0.5) + reach)), abs=1e-12
    )


def test_where_nothing_can_be_said() -> None:
    assert pearson([1, 2], [3, 4]) is None
    assert spearman([1, 2], [3, 4]) is None
    assert pearson([0.1] * 7, range(7)) is None
    assert fisher_interval(0.5, 3) == (None, None)
    assert fisher_interval(None, 30) == (None, None)
    assert fisher_interval(-1.0, 30) == (-1.0, -1.0)
    assert percentile_interval(np.array([np.nan, np.nan, 1.0])) == (None, None)
    assert math.isnan(moments([3, 3], [3, 3]).quadratic_kappa[0])


@given(ratings, st.integers(0, 5))
@example([(1, 1), (1, 2), (3, 1)], 1)  # some resamples are constant but for rounding errors
@settings(max_examples=25)
def test_resamples_repeat_whole_groups(pairs: list[tuple[int, int]], seed: int) -> None:
    x, y = np.array(pairs, dtype=np.float64).T
    groups = np.random.default_rng(seed).integers(0, 4, len(pairs))
    counts = group_resamples(4, 100, seed)
    assert (counts.sum(axis=1) == 4).all()
    found, ranked = (
        resampled_moments(x, y, groups, counts),
        resampled_spearman(x, y, groups, counts),
    )
    for i in range(0, 100, 9):
        repeated = np.repeat(np.arange(len(pairs)), counts[i][groups])
        for value, wanted in (
            (found.pearson[i], _defined(pearson, x[repeated], y[repeated])),
            (ranked[i], _defined(spearman, x[repeated], y[repeated])),
        ):
            if len(repeated) >= 3:
                assert value == pytest.approx(wanted, abs=1e-9, nan_ok=True)


def _defined(measure: Any, x: Any, y: Any) -> float:
    found = measure(x, y)
    return math.nan if found is None else float(found)


def test_the_same_seed_gives_the_same_resamples() -> None:
    assert (group_resamples(9, 100, 1) == group_resamples(9, 100, 1)).all()
    assert (group_resamples(9, 100, 1) != group_resamples(9, 100, 2)).any()
    with pytest.raises(SettingsError, match="invalid seed -1"):
        group_resamples(9, 100, -1)
    with pytest.raises(
        SettingsError, match="invalid number of resamples 99: expected at least 100"
    ):
        group_resamples(9, 99, 0)


def test_intervals_cover() -> None:
    """Of two normal variables with correlation 0.6 in groups of two that agree: the bootstrap by group."""
    random, covered = np.random.default_rng(5), 0
    groups = np.repeat(np.arange(80), 2)
    for trial in range(300):
        x, y = random.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], 80).T.repeat(2, axis=1)
        drawn = resampled_moments(x, y, groups, group_resamples(80, 400, trial)).pearson
        low, high = percentile_interval(drawn)
        assert low is not None
        assert high is not None
        covered += low <= 0.6 <= high
    assert 0.90 <= covered / 300 <= 0.98


@pytest.mark.parametrize("n", range(3, 41))
def test_the_same_order_is_exactly_one(n: int) -> None:
    x = [float(i // 2 if n % 2 and n > 3 else i) for i in range(n)]  # odd lengths with ties
    assert spearman(x, [math.exp(value / 9) for value in x]) == 1.0
    assert spearman(x, [-(value**3) for value in x]) == -1.0
    assert spearman([*x[:-1], -1.0], x) not in (1.0, -1.0)


def test_ranks_in_the_same_order_have_no_interval() -> None:
    assert fisher_interval(1.0, 4, ranks=True) == (None, None)
    assert fisher_interval(-1.0, 4) == (-1.0, -1.0)
