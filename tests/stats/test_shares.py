"""Shares of right answers against statsmodels and scipy, and how often their intervals hold."""

import numpy as np
import pytest
import scipy.stats  # type: ignore[import-untyped]
from statsmodels.stats.proportion import proportion_confint  # type: ignore[import-untyped]

from pfgen_rs import InputError, SettingsError
from pfgen_rs.stats import sign_flip
from pfgen_rs.stats.shares import bonett_price, mcnemar, wilson


@pytest.mark.parametrize("n", [1, 2, 20, 100, 2434])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_wilson_is_the_score_interval(n: int, level: float) -> None:
    for count in {0, 1, n // 3, n - 1, n}:
        expected = proportion_confint(count, n, alpha=1 - level, method="wilson")
        assert wilson(count, n, level) == pytest.approx(expected, abs=1e-12)


def test_wilson_covers_small_shares() -> None:
    """The exact coverage, from the binomial distribution, averaged over shares."""
    for n in (20, 100):
        covered = []
        for share in np.linspace(0.01, 0.99, 99):
            inside = [wilson(k, n)[0] <= share <= wilson(k, n)[1] for k in range(n + 1)]
            covered.append(scipy.stats.binom.pmf(np.arange(n + 1), n, share) @ inside)
        assert 0.945 < np.mean(covered) < 0.965
        assert min(covered) > 0.83


def test_wilson_refuses_what_is_no_share() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    with pytest.raises(InputError, match="invalid count 3 of 2: expected 0 to 2"):
        wilson(3, 2)
    with pytest.raises(SettingsError):
        wilson(1, 2, 95)


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


def test_mcnemar_refuses_negative_counts() -> None:
    with pytest.raises(InputError, match="invalid count -1"):
        mcnemar(-1, 2)
