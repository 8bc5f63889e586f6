"""The bootstrap draws whole questions, however they are stored; sign flips and simulations of judges."""

from __future__ import annotations

from itertools import product
from statistics import NormalDist

import numpy as np
import pytest
from numpy.typing import NDArray

from made_judgments import decisions_frame, humans_frame, made, raters_of
from pfgen_rs.judge import agree
from pfgen_rs.judge.agreement.intervals import Questions, classes_of, resampled_sums
from pfgen_rs.judge.agreement.tables import question_differences
from pfgen_rs.stats.permutation import sign_flip_by_size

Ints = NDArray[np.int64]


@pytest.mark.parametrize(("questions", "classes"), [(30, 40), (300, 3), (7, 2)])
def test_resampled_sums_have_the_moments_of_whole_questions(questions: int, classes: int) -> None:
    """Few classes: kinds of questions are drawn instead of questions, which must not change anything."""
    random = np.random.default_rng(0)
    groups = np.concatenate([np.arange(questions), random.integers(0, questions, questions // 2)])
    kinds, table = random.integers(0, classes, len(groups)), random.integers(0, 4, (classes, 3))
    kinds[:classes] = np.arange(classes)
    sums = np.array([table[kinds[groups == q]].sum(axis=0) for q in range(questions)])
    mean, covariance = sums.sum(axis=0), np.cov(sums.T, ddof=0) * questions
    found = resampled_sums(Questions(groups, kinds), table, 4000, 0)
    assert found.mean(axis=0) == pytest.approx(mean, rel=0.02)
    scale = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    assert np.cov(found.T) / scale == pytest.approx(covariance / scale, abs=0.07)


def test_questions_of_a_kind_are_merged_only_where_they_are_alike() -> None:
    random = np.random.default_rng(1)
    groups, kinds = np.repeat(np.arange(400), 2), random.integers(0, 3, 800)
    questions = Questions(groups, kinds)
    (block,) = questions.weights(200, 0)
    assert block.shape == (200, 6)  # unordered pairs of three classes
    assert (block.sum(axis=1) == 400).all()
    table = np.eye(3, dtype=np.int64)
    copies = np.unique(np.sort(kinds.reshape(-1, 2)), axis=0, return_counts=True)
    merged = {tuple(k): int(n) for k, n in zip(copies[0].tolist(), copies[1], strict=True)}
    found = block.mean(axis=0)
    for row, mean in zip(questions.sums(table).tolist(), found, strict=True):
        kind = tuple(i for i in range(3) for _ in range(row[i]))
        assert mean == pytest.approx(merged[kind], rel=0.1)
    alone = Questions(np.arange(40), np.arange(40))
    (weights,) = alone.weights(100, 0)
    assert weights.shape == (100, 40)
    assert (weights.sum(axis=1) == 40).all()


def test_classes_have_equal_values() -> None:
    random = np.random.default_rng(3)
    for values in (3, 5000):
        columns = [random.integers(0, values, 2000) for _ in range(4)]
        classes, places = classes_of(columns)
        rows = np.stack(columns, axis=1)
        assert (rows[places[classes]] == rows).all()
        assert len(places) == len(np.unique(rows, axis=0)) == classes.max() + 1


def test_sign_flips_of_few_questions_are_exact() -> None:
    differences = np.array([0.5, 0.0, 0.25, -0.125, 0.0, 1.0])
    signs = np.array(list(product((-1, 1), repeat=6)))
    reached = np.abs(signs @ differences) >= differences.sum()
    assert sign_flip_by_size(differences, permutations=10_000, seed=0) == reached.mean()
    assert sign_flip_by_size(np.zeros(4), permutations=100, seed=0) == 1


def test_sign_flips_of_many_questions() -> None:
    """Flipping sizes together is flipping each: p of a sum that is normal is known."""
    random = np.random.default_rng(0)
    for sizes in ([1.0], [1.0, 2.0, 0.5], random.random(30)):
        differences = random.choice(sizes, 3000) * random.choice([-1, 1], 3000, p=[0.48, 0.52])
        z = abs(differences.sum()) / np.sqrt((differences**2).sum())
        p = sign_flip_by_size(differences, permutations=20_000, seed=1)
        assert p == pytest.approx(2 * NormalDist().cdf(-z), abs=0.012)


def test_differences_of_questions_add_up_to_that_of_concordance() -> None:
    gained = np.array([[1, 0, -1, 1], [0, 0, 1, 1]])
    found = question_differences(gained, np.array([4.0, 3.0]), np.array([0, 1, 1, 2]))
    assert found == pytest.approx([1 / 8, (-1 / 4 + 1 / 3) / 2, (1 / 4 + 1 / 3) / 2])
    assert found.sum() == pytest.approx((1 / 4 + 2 / 3) / 2)


@pytest.mark.slow
def test_intervals_of_agree_cover() -> None:
    """The same through `agree`, for the mean of three raters."""
    random = np.random.default_rng(6)

    def sample(questions: int) -> tuple[object, object]:
        judge = made(random, 3 * questions, offsets=np.repeat(random.normal(0, 0.7, questions), 3))
        frame = decisions_frame(judge, question_id=[str(i // 3) for i in range(3 * questions)])
        return frame, humans_frame(raters_of(random, judge.truth, 3))

    def mean(frame: object, humans: object, **settings: object) -> tuple[float, float, float]:
        found = agree(frame, humans, **settings).concordance  # type: ignore[arg-type]
        row = found.row(3, named=True)
        assert (row["rule"], row["rater"]) == ("probability", None)
        return row["low"], row["concordance"], row["high"]

    _, true, _ = mean(*sample(60_000), resamples=100)
    intervals = [mean(*sample(60), resamples=200, permutations=100, seed=i) for i in range(300)]
    covered = np.mean([low <= true <= high for low, _, high in intervals])
    assert 0.92 <= covered <= 0.98
