"""Pseudo-values of correlations: against leaving items out by hand, and how often their intervals hold."""

from collections.abc import Callable

import numpy as np
import pytest
import scipy.stats  # type: ignore[import-untyped]
from numpy.typing import NDArray

from pfgen_rs import InputError
from pfgen_rs.stats.correlation import correlation_interval, pearson_values, spearman_values

Floats = NDArray[np.float64]
Values = Callable[[Floats, Floats], Floats]
KINDS: dict[str, tuple[Values, Callable[..., tuple[float, float]]]] = {
    "pearson": (pearson_values, scipy.stats.pearsonr),
    "spearman": (spearman_values, scipy.stats.spearmanr),
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


def test_lists_must_go_together() -> None:
    for x, y in (([1.0], [1.0]), ([1.0, 2.0], [1.0, 2.0, 3.0])):
        with pytest.raises(InputError, match="two lists of the same length"):
            pearson_values(x, y)


def test_no_standard_error_no_interval() -> None:
    assert correlation_interval(0.0, 0.0, 100) == (None, None)
    assert correlation_interval(0.5, 0.1, 2) == (None, None)
    assert correlation_interval(1.0, 1e-9, 9) == (1.0, 1.0)
    low, high = correlation_interval(0.9, 0.2, 30)
    assert low is not None
    assert high is not None
    assert -1 < low < 0.9 < high < 1


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
        low, high = correlation_interval(found.mean(), found.std(ddof=1) / 10, 100)
        assert low is not None
        assert high is not None
        hits += low <= true <= high
    print(f"{kind}, {shape}: {hits / 1000:.3f}")
    # Pearson's correlation with outliers is as skewed as it gets.
    least = 0.9 if (kind, shape) == ("pearson", "outliers") else 0.93
    assert least < hits / 1000 < 0.97


@each_kind
def test_differences_of_correlations_err_as_often_as_they_say(kind: str) -> None:
    """Two runs as good as each other, with errors that correlate: 5 % of tests are significant."""
    values, _ = KINDS[kind]
    random = np.random.default_rng(6)
    n, wrong = 100, 0
    for _ in range(1000):
        truth = random.uniform(0, 5, n)
        shared = random.standard_normal(n)
        said = [
            np.clip(np.round(truth + shared + random.standard_normal(n)), 0, 5) for _ in range(2)
        ]
        apart = values(said[0], truth) - values(said[1], truth)
        wrong += scipy.stats.ttest_1samp(apart, 0.0).pvalue <= 0.05
    print(f"{kind}: {wrong / 1000:.3f}")
    assert 0.03 < wrong / 1000 < 0.07
