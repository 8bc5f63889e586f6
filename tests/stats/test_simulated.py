"""Statistics keep their promises: intervals cover, tests err, and plans hold, as often as they say."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from pfgen_rs import stats
from pfgen_rs.stats.permutation import sign_flip_pairs

Floats = NDArray[np.float64]
SCORE = 0.7
# Counts of trials: the same for all questions, or any from 1 to 9.
UNEQUAL = 0


def normal(random: np.random.Generator, questions: int) -> Floats:
    """Questions as hard as each other, on both sides."""
    return SCORE + 0.13 * random.standard_normal(questions)


def skew(random: np.random.Generator, questions: int) -> Floats:
    """Most questions easy and a few hard, as with good models; the skewness is -1."""
    return SCORE - 0.13 * (random.gamma(4, 1, questions) - 4) / 2


def runs(number: int, questions: int, trials: int, kind: str) -> Iterator[stats.Sample]:
    """Runs over questions drawn anew each time, whose true score is `SCORE`."""
    random = np.random.default_rng([questions, trials, number])
    ids = tuple(f"Q{i:03}" for i in range(questions))
    for i in range(number):
        means = (normal if kind == "normal" else skew)(random, questions)
        counts = random.integers(1, 10, questions) if trials == UNEQUAL else [trials] * questions
        values = [mean + 0.15 * random.standard_normal(n) for mean, n in zip(means, counts)]  # noqa: B905
        by_metric = dict.fromkeys(stats.METRICS, values)
        yield stats.Sample(str(i), ids, dict.fromkeys(ids), by_metric)


def covered(samples: Iterator[stats.Sample], resamples: int) -> float:
    """How many of the intervals for 95 % hold the true score."""
    hits = []
    for i, sample in enumerate(samples):
        found = stats.estimate(sample, seed=i, resamples=resamples)
        assert found.bootstrap_low is not None
        assert found.bootstrap_high is not None
        hits.append(found.bootstrap_low <= SCORE <= found.bootstrap_high)
    return float(np.mean(hits))


@pytest.mark.parametrize(
    ("questions", "trials", "kind"),
    [
        (8, UNEQUAL, "normal"),
        (20, 5, "skew"),
        pytest.param(50, 10, "normal", marks=pytest.mark.slow),
    ],
)
def test_95_percent_intervals_of_2000_runs_cover(questions: int, trials: int, kind: str) -> None:
    assert 0.93 <= covered(runs(2000, questions, trials, kind), 400) <= 0.97


@pytest.mark.parametrize("trials", [2, 10])
@pytest.mark.parametrize("questions", [20, 50])
def test_analytic_intervals_cover(questions: int, trials: int) -> None:
    hits = []
    for sample in runs(2000, questions, trials, "normal"):
        found = stats.estimate(sample, resamples=0)
        hits.append((found.low or 0) <= SCORE <= (found.high or 0))
    assert 0.93 <= np.mean(hits) <= 0.97


def two_runs(number: int, questions: int, trials: int, gap: float = 0.0) -> tuple[Floats, Floats]:
    """Means of the questions of pairs of runs, shape (number, questions) each.

    Questions are as hard for one as for the other but for chance; on average the first is better by `gap`.
    """
    random = np.random.default_rng([questions, trials, number])
    shape = (number, questions)
    both = SCORE + 0.13 * random.standard_normal(shape)
    liking = 0.08 * random.standard_normal(shape)
    first = both + liking + gap + 0.15 / math.sqrt(trials) * random.standard_normal(shape)
    second = both + 0.15 / math.sqrt(trials) * random.standard_normal(shape)
    return first, second


def p_values(first: Floats, second: Floats, permutations: int) -> Floats:
    """Of the pairs, each of which is tested by itself."""
    pairs = [(i, i + len(first)) for i in range(len(first))]
    together = np.concatenate([first, second])
    return sign_flip_pairs(together, pairs, permutations=permutations, seed=1)


@pytest.mark.parametrize(("questions", "trials"), [(10, 3), (20, 5), (50, 10)])
def test_one_test_in_twenty_errs_where_runs_are_alike(questions: int, trials: int) -> None:
    p = p_values(*two_runs(4000, questions, trials), permutations=1999)
    assert 0.04 <= np.mean(p <= 0.05) <= 0.06


def test_p_values_spread_evenly_where_runs_are_alike() -> None:
    p = p_values(*two_runs(4000, 30, 5), permutations=1999)
    counts = np.histogram(p, bins=10, range=(0, 1))[0]
    assert ((counts - 400) ** 2 / 400).sum() < 27.9  # chi squared with 9 degrees of freedom: 0.1 %


def test_one_family_of_tests_in_twenty_errs() -> None:
    random = np.random.default_rng(12)
    families = [
        SCORE + 0.13 * random.standard_normal(30) + 0.1 * random.standard_normal((5, 30))
        for _ in range(1500)
    ]
    erring = [any(span != (1, 5) for span in stats.rank_ranges(means)) for means in families]
    assert np.mean(erring) <= 0.062  # 5 % and two standard errors


@pytest.mark.parametrize(("questions", "least", "most"), [(14, 0.05, 0.10), (50, 0.0, 0.062)])
def test_joint_ranges_err_more_often_where_few_questions_tell_runs_apart(
    questions: int, least: float, most: float
) -> None:
    """As the documentation says: a few hard questions do, for all pairs alike. 24 runs of equal means."""
    random = np.random.default_rng(1)
    ability = np.linspace(0, 1, 24)[:, None]
    erring = []
    for _ in range(800):
        hardness = random.gamma(0.5, 2, questions) - 1
        means = SCORE - 0.2 * ability * hardness + 0.05 * random.standard_normal((24, questions))
        erring.append(any(span != (1, 24) for span in stats.rank_ranges(means)))
    assert least <= np.mean(erring) <= most


def paired(
    questions: int, trials: int, gap: float, seed: int, liking: float = 0.08
) -> Sequence[stats.Sample]:
    """Two runs whose true means differ by `gap` and, from question to question, more or less than that."""
    random = np.random.default_rng(seed)
    ids = tuple(f"Q{i:03}" for i in range(questions))
    both = normal(random, questions)
    means = both + gap + liking * random.standard_normal(questions), both
    samples = []
    for name, run in zip("ab", means, strict=True):
        values = list(run[:, None] + 0.15 * random.standard_normal((questions, trials)))
        by_metric = dict.fromkeys(stats.METRICS, values)
        samples.append(stats.Sample(name, ids, dict.fromkeys(ids), by_metric))
    return samples


@pytest.mark.parametrize("liking", [0.0, 0.08])
def test_intervals_of_differences_cover(liking: float) -> None:
    gap, hits = 0.02, []
    for seed in range(500):
        runs = paired(20, 4, gap, 10**6 + seed, liking)  # the library has seeds of its own
        found = stats.compare(runs, metrics=["average"], resamples=400, permutations=100, seed=seed)
        hits.append(found.pairs[0].low <= gap <= found.pairs[0].high)
    assert 0.93 <= np.mean(hits) <= 0.97


def test_a_minimum_detectable_difference_is_found_four_times_in_five() -> None:
    questions, trials = 40, 5
    first, second = two_runs(3000, questions, trials)
    true_error = math.sqrt((0.08**2 + 2 * 0.15**2 / trials) / questions)
    comparison = stats.compare(
        paired(questions, trials, 0.0, 5), metrics=["average"], resamples=100, permutations=100
    )
    pair = comparison.pairs[0]
    gap = pair.minimum_detectable / pair.se * true_error
    p = p_values(first + gap, second, permutations=999)
    assert np.mean(p <= 0.05) == pytest.approx(0.8, abs=0.025)


def test_planned_trials_find_the_difference() -> None:
    gap = 0.05
    plan = stats.plan_trials(paired(60, 400, gap, 6), difference=gap)
    assert plan.trials_to_tell_with_questions is not None
    trials = plan.trials_to_tell_with_questions
    questions = plan.questions
    random = np.random.default_rng(7)
    error = math.sqrt(plan.question_sd**2 + 2 * 0.15**2 / trials)
    differences = gap + error * random.standard_normal((3000, questions))
    p = p_values(differences, np.zeros_like(differences), permutations=999)
    assert np.mean(p <= 0.05) >= 0.78
    assert trials > 1
