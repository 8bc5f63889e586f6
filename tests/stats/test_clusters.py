"""Means, tests and intervals over clusters of samples: against formulas written out, and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats  # type: ignore[import-untyped]

from pfgen_rs.stats.permutation import sign_flip, sign_flip_by_size
from pfgen_rs.stats.shares import WeightedMean, cluster_sums, mcnemar, weighted_mean


def drawn(random: np.random.Generator, groups: int, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Right and wrong answers, as many right as wrong, with this correlation within clusters of 1 to 8."""
    clusters = np.repeat(np.arange(groups), random.integers(1, 9, groups))
    shared = np.sqrt(share) * random.standard_normal(groups)[clusters]
    return (shared + np.sqrt(1 - share) * random.standard_normal(len(clusters)) > 0) * 1.0, clusters


def test_the_variance_is_that_of_sums_of_deviations() -> None:
    values, clusters = drawn(np.random.default_rng(0), 12, 0.5)
    mean = sum(values.tolist()) / len(values)
    squares = 0.0
    for group in range(12):
        own = [x - mean for x, c in zip(values, clusters, strict=True) if c == group]
        squares += sum(own) ** 2
    found = weighted_mean([values], [0.5], [clusters])
    assert found.value == pytest.approx(0.5 * mean)
    assert found.se == pytest.approx(0.5 * (12 / 11 * squares) ** 0.5 / len(values))
    assert found.freedom == 11


def test_clusters_of_one_are_independent_values() -> None:
    values = np.random.default_rng(1).normal(0, 1, 20)
    found, expected = (
        weighted_mean([values], [1.0], [np.arange(20)]),
        weighted_mean([values], [1.0]),
    )
    assert (found.se, found.freedom) == pytest.approx((expected.se, 19))
    assert expected.se == pytest.approx(scipy.stats.sem(values))


def test_clusters_of_equal_values_are_single_values() -> None:
    values = np.random.default_rng(2).normal(0, 1, 15)
    found = weighted_mean([values.repeat(4)], [1.0], [np.arange(15).repeat(4)])
    expected = weighted_mean([values], [1.0])
    assert (found.se, found.freedom) == pytest.approx((expected.se, expected.freedom))


def test_samples_with_and_without_clusters_add_up() -> None:
    random = np.random.default_rng(3)
    (x, clusters), y = drawn(random, 9, 0.4), random.normal(0, 2, 30)
    one, other = weighted_mean([x], [0.5], [clusters]), weighted_mean([y], [0.5])
    found = weighted_mean([x, y], [0.5, 0.5], [clusters, None])
    assert one.se is not None
    assert other.se is not None
    assert found.se == pytest.approx(np.hypot(one.se, other.se))
    freedom = (one.se**2 + other.se**2) ** 2 / (one.se**4 / 8 + other.se**4 / 29)
    assert found.freedom == int(freedom)


def test_a_single_cluster_says_nothing() -> None:
    found = weighted_mean([np.arange(4.0)], [1.0], [np.zeros(4, dtype=np.int64)])
    assert found == WeightedMean(1.5, None, None)


def test_signs_of_clusters_are_flipped_together() -> None:
    apart = np.array([1.0, 1.0, -1.0, 1.0, 0.0, 1.0])
    clusters = np.array([0, 0, 1, 1, 2, 2])
    sums = cluster_sums(apart, clusters)
    assert sums.tolist() == [2.0, 0.0, 1.0]
    assert cluster_sums(apart, None) is apart
    assert sign_flip(sums) == 0.5  # 2 of 4 choices of signs reach 3


def test_intervals_and_tests_err_as_often_as_they_say() -> None:
    """With strong correlation in clusters; as independent samples, they would err several times as often."""
    random = np.random.default_rng(4)
    times, missed, wrong = 1000, [0, 0], [0, 0, 0]
    for _ in range(times):
        values, clusters = drawn(random, 40, 0.7)
        for way, groups in enumerate(([clusters], None)):
            low, high = weighted_mean([values], [1.0], groups).interval()
            assert low is not None
            assert high is not None
            missed[way] += not low <= 0.5 <= high
        again = np.sqrt(0.7) * random.standard_normal(40)[clusters]
        other = (again + np.sqrt(0.3) * random.standard_normal(len(clusters)) > 0) * 1.0
        apart = values - other
        sums = cluster_sums(apart, clusters)
        p = [
            sign_flip_by_size(sums, permutations=999, seed=0, few=12),
            weighted_mean([apart], [1.0], [clusters]).p() or 0.0,
            mcnemar(int((apart > 0).sum()), int((apart < 0).sum())),
        ]
        wrong = [count + (each <= 0.05) for count, each in zip(wrong, p, strict=True)]
    assert 0.03 < missed[0] / times < 0.075 < 0.2 < missed[1] / times
    assert all(0.03 < count / times < 0.075 for count in wrong[:2])
    assert wrong[2] / times > 0.15
