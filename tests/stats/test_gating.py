"""A gate errs no more often than it says, and what it says follows from its bounds."""

import math
import re
from collections import Counter
from typing import Any, get_args

import numpy as np
import pytest
import scipy.stats  # type: ignore[import-untyped]
from numpy.typing import NDArray

from pfgen_rs import SettingsError, stats
from pfgen_rs.stats.gating import Questions, Rule, Test, decide
from pfgen_rs.training.curve import find_fall

MARGIN = 0.02
TESTS: tuple[Test, ...] = ("non-inferiority", "regression", "equivalence")
RUNS = 400
# 5 % and three standard errors of so many runs.
MOST = 0.05 + 3 * math.sqrt(0.05 * 0.95 / RUNS)


def sample(name: str, values: NDArray[np.float64]) -> stats.Sample:
    """A run with a row of values for each question."""
    ids = tuple(f"Q{i:03}" for i in range(len(values)))
    return stats.Sample(name, ids, dict.fromkeys(ids), {"average": list(values)})


def answered(
    random: np.random.Generator, questions: int, trials: int, gap: float, shared: float = 0.0
) -> tuple[stats.Sample, stats.Sample]:
    """Two runs that differ by `gap` over these questions, in each by more or less than that.

    Noise differs by question and by run, and part of it is `shared` by the answers of a trial.
    """
    changes = 0.05 * random.standard_normal(questions)
    means = 0.7 + 0.13 * random.standard_normal(questions)
    sds = 0.02 * np.random.default_rng(questions).gamma(4, 1, (2, questions)) * [[1], [1.6]]
    noise = sds[:, :, None] * random.standard_normal((2, questions, trials))
    noise += shared * random.standard_normal((2, 1, trials))
    later = means + changes - changes.mean() + gap
    return sample("a", means[:, None] + noise[0]), sample("b", later[:, None] + noise[1])


CASES = [(1, 0.0), (2, 0.0), (3, 0.02), (10, 0.0), (10, 0.02)]  # trials, and what they share
SLOW = [pytest.param(*case, marks=pytest.mark.slow) for case in CASES]


@pytest.mark.parametrize("questions", [14, pytest.param(50, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("trials", "shared"), [(3, 0.0), *SLOW])
def test_wrong_verdicts_are_as_rare_as_promised(questions: int, trials: int, shared: float) -> None:
    random = np.random.default_rng([questions, trials])
    usual, regression, equivalence = (Rule(MARGIN, test=test) for test in TESTS)
    found: Counter[tuple[Any, ...]] = Counter()
    for gap in (-MARGIN, 0.0, MARGIN):
        for _ in range(RUNS):
            runs = answered(random, questions, trials, gap, shared)
            decision = decide(*runs, usual)
            found["non-inferiority", gap, decision.verdict] += 1
            found["regression", gap, decide(*runs, regression).verdict] += 1
            found["equivalence", gap, equivalence.verdict(decision.low, decision.high)] += 1
    for test in TESTS:
        assert found[test, -MARGIN, "pass"] <= MOST * RUNS
        assert found[test, 0.0, "drop"] + found[test, 0.0, "rise"] <= MOST * RUNS
        assert found[test, MARGIN, "drop"] <= MOST * RUNS
    assert found["equivalence", MARGIN, "pass"] <= MOST * RUNS
    assert found["non-inferiority", -MARGIN, "drop"] <= MOST * RUNS


def test_answers_that_share_luck_need_trials_as_observations() -> None:
    """What a gate over questions would get wrong, which is why it is not one."""
    random = np.random.default_rng(5)
    wrong: Counter[str] = Counter()
    for _ in range(RUNS):
        runs = answered(random, 50, 5, 0.0, shared=0.05)
        for questions in get_args(Questions):
            wrong[questions] += decide(*runs, Rule(1e-9), questions=questions).verdict == "drop"
    assert wrong["same"] <= MOST * RUNS < wrong["other"]


@pytest.mark.parametrize("test", TESTS)
def test_the_trials_that_are_needed_are_enough(test: Test) -> None:
    random, rule = np.random.default_rng(8), Rule(MARGIN / 2, test=test)
    needed = None
    while needed is None:  # decided with 80 already, by luck
        needed = decide(*answered(random, 4, 80, 0.0), rule).trials_needed
    passed = [decide(*answered(random, 4, needed, 0.0), rule).verdict == "pass" for _ in range(200)]
    assert 0.7 <= np.mean(passed) <= 0.9  # 80 %, of a noise that 80 trials estimate


def test_bounds_are_those_of_paired_t_over_the_trials_of_both() -> None:
    base, new = np.array([0.50, 0.54, 0.49, 0.55, 0.9]), np.array([0.47, 0.50, 0.41, 0.5])
    spread = np.array([[0.1], [-0.1]])  # questions differ, and each trial's mean is as above
    found = decide(sample("a", base + spread), sample("b", new + spread))
    interval = scipy.stats.ttest_rel(new, base[:4]).confidence_interval(0.9)
    assert [found.low, found.high] == pytest.approx(list(interval))
    assert (found.questions, found.trials, found.left_out) == ("same", 4, 2)
    assert "; the same 2 questions, the first 4 trials)" in found.sentence
    assert found.base.mean == pytest.approx(0.52)


@pytest.mark.parametrize(
    ("low", "high", "verdicts"),
    [
        (-0.005, 0.005, ("pass", "pass", "pass")),
        (0.001, 0.02, ("pass", "pass", "cannot tell")),
        (0.015, 0.02, ("pass", "pass", "rise")),
        (-0.02, 0.005, ("cannot tell", "cannot tell", "cannot tell")),
        (-0.008, -0.001, ("pass", "drop", "pass")),
        (-0.02, -0.001, ("cannot tell", "drop", "cannot tell")),
        (-0.03, -0.02, ("drop", "drop", "drop")),
    ],
)
def test_verdicts(low: float, high: float, verdicts: tuple[str, ...]) -> None:
    assert tuple(Rule(0.01, test=test).verdict(low, high) for test in TESTS) == verdicts


SENTENCES: list[tuple[list[float], dict[str, Any], str]] = [
    ([0.5, 0.52, 0.5, 0.52], {"max_drop": 0.05}, "no drop beyond 0.05 (difference +0.0050 [-0.0154, "
     "+0.0254]; one-sided 95 % bounds; the same 3 questions, 4 trials)"),
    ([0.5, 0.52, 0.5, 0.52], {"max_drop": 0.005}, "cannot tell (difference +0.0050 […4 trials): at these "
     "trials, drops under 0.0…cannot be excluded; about … trials per run would tell"),
    ([0.3], {"test": "equivalence"}, "cannot tell (difference -0.2100 […]; …; questions like these 3, 1 "
     "trial): at these trials, differences under … several answers to each question would show more"),
    ([0.1, 0.2, 0.1], {"test": "regression"}, "drop (difference -0.3733 […]; 95 % interval; …)"),
]  # fmt: skip


@pytest.mark.parametrize(("answers", "how", "sentence"), SENTENCES)
def test_sentences(answers: list[float], how: dict[str, Any], sentence: str) -> None:
    """Of runs that answer three questions, alike if more than once."""
    base = np.full((3, len(answers)), 0.5)
    base[:, ::2] += 0.01
    small = [[0.0], [0.5], [-0.5]] if len(answers) == 1 else 0.0
    found = decide(sample("a", base), sample("b", np.array([answers] * 3) + small), Rule(**how))
    assert re.fullmatch(".+".join(map(re.escape, sentence.split("…"))), found.sentence)
    assert found.trials_needed is None or found.trials_needed > len(answers)


def test_the_luck_of_the_best_checkpoint_is_allowed_for() -> None:
    """Flat curves of 40 steps are stopped in 5 % of cases at most, and fallen ones at the third step."""
    random, stopped = np.random.default_rng(4), 0
    for _ in range(60):
        curve = [step(random, number) for number in range(40)]
        stopped += any(find_fall(curve[:n], 3) for n in range(4, 41))
    assert stopped <= 6
    fallen = [*curve[:20], *(step(random, n, 0.4) for n in (20, 21, 22))]
    assert find_fall(fallen[:-1], 3) is None
    found = find_fall(fallen, 3)
    assert found == (max(curve[:20], key=lambda row: row["score"]), fallen[20:])
    assert find_fall(fallen[20:], 3) is None  # nothing before them
    with pytest.raises(SettingsError, match="at least 2"):
        find_fall(fallen, 1)


def step(random: np.random.Generator, number: int, drop: float = 0.0) -> dict[str, Any]:
    """A row of a curve: one answer to each of 14 questions."""
    scores = 0.5 - drop + 0.15 * random.standard_normal(14)
    row = {"step": number, "score": float(scores.mean()), "trial_se": None}
    return {**row, "question_scores": scores.tolist()}
