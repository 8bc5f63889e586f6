"""Decides whether a run is worse than another, for a gate: with the chance of a wrong answer stated."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Literal

from pfgen_rs.errors import SettingsError
from pfgen_rs.io.text import counted
from pfgen_rs.lazy import np
from pfgen_rs.metrics.settings import check_metric
from pfgen_rs.stats import checks, comparing, estimates
from pfgen_rs.stats.estimates import Estimate, Sample
from pfgen_rs.stats.planning import PlannedNoise

Test = Literal["non-inferiority", "regression", "equivalence"]
Questions = Literal["same", "other"]
Verdict = Literal["pass", "drop", "rise", "cannot tell"]

_FEWEST_TRIALS = 3  # whose spread says something
_LEAST_LEVEL = 1e-6  # of a two-sided interval: that of the one-sided level 0.5


@dataclass(frozen=True)
class Rule:
    """A test of a difference, new minus base, with the largest drop that is accepted.

    The test looks at nothing but the two ends of an interval:

    | test | interval | pass | drop |
    | --- | --- | --- | --- |
    | `non-inferiority` | one-sided bounds | low > -max_drop | high < -max_drop |
    | `regression` | two-sided | low > -max_drop and high >= 0 | high < 0 |
    | `equivalence` | one-sided bounds | low > -max_drop and high < max_drop | high < -max_drop |

    Everything else is "cannot tell", but for `equivalence`, which calls low > max_drop a "rise". Each of two
    one-sided bounds holds with probability `level`, so with α = 1 - level, a run that dropped by `max_drop`
    passes with a probability of at most α, and one that did not drop is called a drop with a probability of
    at most α (non-inferiority and equivalence: one that dropped by no more than `max_drop`). A regression
    is any significant drop, however small. That nothing significant was found does not make a run pass: a
    drop of `max_drop` must be excluded, too, rather than the power of the test be guessed afterwards (J. M.
    Hoenig & D. M. Heisey, "The abuse of power", The American Statistician 55 (2001)). Sources: D. J.
    Schuirmann, "A comparison of the two one-sided tests procedure and the power approach for assessing the
    equivalence of average bioavailability", Journal of Pharmacokinetics and Biopharmaceutics 15 (1987); G.
    Piaggio et al., "Reporting of noninferiority and equivalence randomized trials", JAMA 308 (2012).

    `comparisons`: the number of tests of which none may be wrong; their errors are divided by it
    (Bonferroni). Raises `SettingsError` unless 0 < max_drop < 1, and for an invalid level or test.
    """

    max_drop: float = 0.01
    level: float = 0.95
    test: Test = "non-inferiority"
    comparisons: int = 1

    def __post_init__(self) -> None:
        """Check the settings."""
        checks.check_level(self.level)
        checks.check_choice(self.test, "test", Test)
        if not (isinstance(self.max_drop, Real) and 0 < self.max_drop < 1):
            shown = f"invalid largest drop {checks.shown_value(self.max_drop)}"
            raise SettingsError(f"{shown}: expected a difference of scores above 0, such as 0.01")

    @property
    def each_level(self) -> float:
        """The level of each of the comparisons."""
        return 1 - (1 - self.level) / self.comparisons

    @property
    def interval_text(self) -> str:
        """What its intervals are: `one-sided 95 % bounds`."""
        level = f"{self.each_level * 100:.6g} %"
        return f"{level} interval" if self.test == "regression" else f"one-sided {level} bounds"

    def reach(self, se: float, freedom: int) -> float:
        """Returns how far the interval reaches to each side of a difference with this standard error."""
        two_sided = self.each_level if self.test == "regression" else 2 * self.each_level - 1
        return se * checks.two_sided_quantile(max(two_sided, _LEAST_LEVEL), freedom)

    def detectable(self, se: float, freedom: int) -> float:
        """Returns the `max_drop` with which a run that has not changed passes in 80 % of cases."""
        power = (1 + comparing.POWER) / 2 if self.test == "equivalence" else comparing.POWER
        return self.reach(se, freedom) + se * checks.normal_quantile(2 * power - 1)

    def verdict(self, low: float, high: float) -> Verdict:
        """Returns what the test says of an interval of the difference."""
        if high < (0.0 if self.test == "regression" else -self.max_drop):
            return "drop"
        if self.test != "equivalence":
            return "pass" if low > -self.max_drop else "cannot tell"
        if low > self.max_drop:
            return "rise"
        return "pass" if -self.max_drop < low and high < self.max_drop else "cannot tell"

    def claim(self, verdict: Verdict) -> str:
        """Returns a verdict in words."""
        if verdict == "cannot tell":
            return verdict
        if verdict == "pass":
            what = "difference" if self.test == "equivalence" else "drop"
            return f"no {what} beyond {self.max_drop:g}"
        return "drop" if self.test == "regression" else f"{verdict} beyond {self.max_drop:g}"


@dataclass(frozen=True)
class Decision:
    """What a test says of two runs in one metric.

    `base`, `new`: their means, with the usual intervals over questions. `difference`: new minus base, with
    its standard error `se` and the interval of the rule, `low` to `high`. `questions`: whether the statement
    is about the "same" questions or about "other" ones of their kind (see `decide`). `trials`: the number of
    answers to each question that are compared; `left_out`: how many of all answers are not. `detectable`: see
    `Rule`. `trials_needed`: without a verdict, the number of trials of each run, found as by `plan_trials`,
    with which `max_drop` is detectable or, where it already is, the distance of the difference from it;
    `None` if no number is enough, or trial noise unknown.
    """

    metric: str
    rule: Rule
    verdict: Verdict
    base: Estimate = field(repr=False)
    new: Estimate = field(repr=False)
    difference: float
    low: float
    high: float
    se: float
    questions: Questions
    trials: int
    left_out: int
    detectable: float
    trials_needed: int | None

    @property
    def bounds(self) -> str:
        """The difference with its interval."""
        return f"{self.difference:+.4f} [{self.low:+.4f}, {self.high:+.4f}]"

    @property
    def sentence(self) -> str:
        """The verdict in words, with the numbers that it follows from and, if there is none, what to do."""
        asked = f"{self.base.questions:,}"
        over = f"the same {asked} questions"
        if self.questions == "other":
            over = f"questions like these {asked}"
        trials = f"{'the first ' if self.left_out else ''}{counted(self.trials, 'trial')}"
        found = f"{self.rule.claim(self.verdict)} (difference {self.bounds}; "
        found += f"{self.rule.interval_text}; {over}, {trials})"
        if self.verdict != "cannot tell":
            return found
        what = "differences" if self.rule.test == "equivalence" else "drops"
        why = f"at these trials, {what} under {self.detectable:.4f} cannot be excluded"
        if self.detectable <= self.rule.max_drop:
            why = f"the difference is close to the limit of {self.rule.max_drop:g}"
        found += f": {why}"
        if self.trials_needed is not None:
            return f"{found}; about {self.trials_needed:,} trials per run would tell"
        if self.trials < 2:
            return f"{found}; several answers to each question would show more"
        return f"{found}; no number of trials would tell, only more questions"


def decide(
    base: Sample,
    new: Sample,
    rule: Rule | None = None,
    *,
    metric: str = "average",
    questions: Questions = "same",
) -> Decision:
    """Decide whether `new` dropped from `base` in a metric, over the questions that both answer.

    With the "same" questions, the statement is about the set that both runs answered, as a gate for every
    change of a model needs it: what other questions would say differs between two checkpoints as much as
    what the change did, and no number of trials helps. A trial's change of the mean over the questions is one
    observation, with Student's paired t, since answers of a trial share their prompts and luck. One or two
    trials do not say how much they differ. Then, and with "other" questions of the same kind, the
    changes of the questions are the observations; their spread contains that of trials.

    The n-th answers to the questions are trial n. Only trials that both runs have are compared, since
    prompts of one trial may be harder than those of another.

    Raises `InputError` for runs that cannot be compared and with fewer than two questions in common, and
    `SettingsError`. Time O(responses).
    """
    rule = rule or Rule()
    check_metric(metric)
    checks.check_choice(questions, "questions", Questions)
    given = estimates.checked_samples([base, new], [metric])
    common, _ = comparing.check_comparable(given)
    given = [run.only(common) for run in given]
    runs = same_trials(given)
    trials = runs[0].trials
    over: Questions = questions if trials >= _FEWEST_TRIALS else "other"
    before, after = (np.stack(run.responses(metric)) for run in runs)
    changes = (after - before).mean(axis=0 if over == "same" else 1)
    spread, freedom = float(changes.std(ddof=1)), len(changes) - 1
    difference, se = float(changes.mean()), spread / math.sqrt(len(changes))
    reach, detectable = rule.reach(se, freedom), rule.detectable(se, freedom)
    interval = difference, difference - reach, difference + reach, se
    verdict, needed = rule.verdict(*interval[1:3]), None
    if verdict == "cannot tell" and trials > 1:
        noise = PlannedNoise.of(runs, metric)
        if over == "same":
            noise = PlannedNoise(difference, 1, spread, 0.0)
        if questions == "same":  # as more trials would be observations
            noise, freedom = noise.same_questions(), checks.MOST_FREEDOM
        # For a run that has not changed; if that is enough, the difference is close to the limit.
        aim = rule.max_drop
        if detectable <= aim:
            aim = abs(abs(difference) - aim)
        needed = noise.trials(aim / rule.detectable(1.0, freedom))
        needed = needed and max(needed, trials + 1)
    left_out = sum(int(run.counts.sum()) - trials * len(common) for run in given)
    of_base, of_new = (estimates.resampled_estimate(run, metric, rule.level, None) for run in runs)
    means = of_base, of_new
    return Decision(
        metric, rule, verdict, *means, *interval, over, trials, left_out, detectable, needed
    )


def same_trials(runs: Sequence[Sample]) -> list[Sample]:
    """Returns the runs with the first answers to each question, as many as all of them have."""
    most = min(run.trials for run in runs)
    return [
        replace(
            run, values={name: [v[:most] for v in values] for name, values in run.values.items()}
        )
        for run in runs
    ]
