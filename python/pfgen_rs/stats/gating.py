"""Decides whether a run is worse than another, for a gate: with the chance of a wrong answer stated."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from numbers import Real
from typing import Any, Literal, get_args

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
        if not (isinstance(self.max_drop, Real) and 0 < self.max_drop < 1):
            raise SettingsError(
                f"invalid largest drop {checks.shown_value(self.max_drop)}: expected a difference of scores "
                "between 0 and 1, such as 0.01"
            )
        check_choice(self.test, "test", Test)

    @property
    def each_level(self) -> float:
        """The level of each of the comparisons."""
        return 1 - (1 - self.level) / self.comparisons

    def quantile(self, freedom: int) -> float:
        """Returns how many standard errors the interval reaches to each side."""
        two_sided = self.each_level if self.test == "regression" else 2 * self.each_level - 1
        return checks.two_sided_quantile(max(two_sided, _LEAST_LEVEL), freedom)

    def verdict(self, low: float, high: float) -> Verdict:
        """Returns what the test says of an interval of the difference."""
        if high < (0.0 if self.test == "regression" else -self.max_drop):
            return "drop"
        if self.test == "equivalence" and low > self.max_drop:
            return "rise"
        is_bounded = self.test != "equivalence" or high < self.max_drop
        return "pass" if low > -self.max_drop and is_bounded else "cannot tell"

    def distance(self, difference: float) -> float:
        """Returns how far a difference is from the limits of which the test has to tell it."""
        to_drop, to_rise = abs(difference + self.max_drop), abs(difference - self.max_drop)
        if self.test == "regression":
            return max(to_drop, abs(difference))
        return min(to_drop, to_rise) if self.test == "equivalence" else to_drop

    @property
    def power_quantile(self) -> float:
        """How many standard errors more give 80 % power to pass if nothing has changed."""
        power = (1 + comparing.POWER) / 2 if self.test == "equivalence" else comparing.POWER
        return checks.normal_quantile(2 * power - 1)

    @property
    def interval_text(self) -> str:
        """What its intervals are: `one-sided 95 % bounds`."""
        kind = "{} % interval" if self.test == "regression" else "one-sided {} % bounds"
        return kind.format(f"{self.each_level * 100:g}")


def check_choice(value: object, name: str, choices: Any) -> None:
    """Raise `SettingsError` unless a setting is one of the values of a `Literal`."""
    if value not in get_args(choices):
        known = ", ".join(get_args(choices))
        raise SettingsError(f"unknown {name} {checks.shown_value(value)}: expected one of {known}")


@dataclass(frozen=True)
class Decision:
    """What a test says of two runs in one metric.

    `base`, `new`: their means, with the usual intervals over questions. `difference`: new minus base, with
    its standard error `se` and the interval of the rule, `low` to `high`. `questions`: whether the statement
    is about the "same" questions or about "other" ones of their kind (see `decide`). `trials`: the number of
    answers to each question, of base and new. `detectable`: the smallest `max_drop` with which a run that
    has not changed passes in 80 % of cases. `trials_needed`: the number of trials of each run that makes
    it `max_drop` or, if that is reached, that tells `difference` from the limits; `None` if none does, if
    trial noise is unknown, or if there is a verdict. `questions_needed`: for other questions, about how many
    of them would do instead.
    """

    metric: str
    rule: Rule
    verdict: Verdict
    base: Estimate = field(repr=False)
    new: Estimate = field(repr=False)
    difference: float
    se: float
    low: float
    high: float
    questions: Questions
    trials: tuple[int, int]
    detectable: float
    trials_needed: int | None
    questions_needed: int | None

    def to_dict(self) -> dict[str, Any]:
        """Returns all fields as JSON types, and the sentence."""
        return {**asdict(self), "trials": list(self.trials), "sentence": self.sentence}

    @property
    def bounds(self) -> str:
        """The difference with its interval."""
        return f"{self.difference:+.4f} [{self.low:+.4f}, {self.high:+.4f}]"

    @property
    def sentence(self) -> str:
        """The verdict in words, with the numbers that it follows from and, if there is none, what to do."""
        asked = self.base.questions
        over = f"the same {asked:,} questions"
        if self.questions == "other":
            over = f"questions like these {asked:,}"
        about = f"{self.rule.interval_text}; {over}, {self._trials}"
        found = f"{self._claim} (difference {self.bounds}; {about})"
        return found if self.verdict != "cannot tell" else f"{found}: {self._remedy}"

    @property
    def _claim(self) -> str:
        beyond = f"beyond {self.rule.max_drop:g}"
        if self.verdict == "cannot tell":
            return self.verdict
        if self.rule.test == "regression":
            return "drop" if self.verdict == "drop" else f"no significant drop, and none {beyond}"
        if self.verdict != "pass":
            return f"{self.verdict} {beyond}"
        return f"no {'difference' if self.rule.test == 'equivalence' else 'drop'} {beyond}"

    @property
    def _trials(self) -> str:
        base, new = self.trials
        return counted(new, "trial") if base == new else f"{base:,} and {new:,} trials"

    @property
    def _remedy(self) -> str:
        what = "differences" if self.rule.test == "equivalence" else "drops"
        found = f"at these trials, {what} under {self.detectable:.4f} cannot be excluded"
        if self.detectable <= self.rule.max_drop:
            found = f"the difference is close to the limit of {self.rule.max_drop:g}"
        if self.trials_needed is not None:
            return f"{found}; about {self.trials_needed:,} trials per run would tell"
        if min(self.trials) < 2:
            return (
                f"{found}; with several answers to each question, only their own noise would count"
            )
        if self.questions_needed is None:
            return f"{found}; no feasible number of trials would tell"
        return f"{found}; no number of trials would tell, but about {self.questions_needed:,} questions"


def decide(
    base: Sample,
    new: Sample,
    rule: Rule | None = None,
    *,
    metric: str = "average",
    questions: Questions = "same",
) -> Decision:
    """Decide whether `new` dropped from `base` in a metric; both answer the same questions.

    With the "same" questions, the statement is about the set that both runs answered, as a gate for every
    change of a model needs it: what other questions would say differs between two checkpoints as much as
    what the change did, and no number of trials helps. A trial's mean over the questions is one observation,
    since answers of a trial share prompts and luck; two runs are compared by Welch's t over trials (B. L.
    Welch, Biometrika 34 (1947)). Single answers do not say how much trials differ. Then, and with "other"
    questions of the same kind, it is Student's paired t over questions, whose spread contains that of trials.

    Raises `InputError` for runs that cannot be compared and with fewer than two questions in common, and
    `SettingsError`. Time O(responses).
    """
    rule = rule or Rule()
    check_metric(metric)
    check_choice(questions, "questions", Questions)
    runs = estimates.checked_samples([base, new], [metric])
    common, _ = comparing.check_comparable(runs)
    found = _Compared([run.only(common) for run in runs], metric, questions)
    of_base, of_new = (
        estimates.resampled_estimate(run, metric, rule.level, None) for run in found.runs
    )
    difference, reach = of_new.mean - of_base.mean, rule.quantile(found.freedom) * found.se
    low, high = difference - reach, difference + reach
    detectable = reach + rule.power_quantile * found.se
    aim = rule.max_drop if detectable > rule.max_drop else rule.distance(difference)
    verdict = rule.verdict(low, high)
    trials, asked = found.needed(rule, aim) if verdict == "cannot tell" else (None, None)
    return Decision(
        metric=metric,
        rule=rule,
        verdict=verdict,
        base=of_base,
        new=of_new,
        difference=difference,
        se=found.se,
        low=low,
        high=high,
        questions=found.questions,
        trials=found.trials,
        detectable=detectable,
        trials_needed=trials,
        questions_needed=asked,
    )


class _Compared:
    """Two runs over the same questions, with the error of their difference.

    `se`, `freedom`: the standard error and its degrees of freedom.
    """

    def __init__(self, runs: Sequence[Sample], metric: str, questions: Questions) -> None:
        self.runs, self.metric = runs, metric
        self.trials = runs[0].trials, runs[1].trials
        self.questions: Questions = questions if min(self.trials) > 1 else "other"
        if self.questions == "same":
            scores = [
                np.mean([each[:trials] for each in run.responses(metric)], axis=0)
                for run, trials in zip(runs, self.trials, strict=True)
            ]
            self._variances = [float(each.var(ddof=1)) for each in scores]
            parts = [v / n for v, n in zip(self._variances, self.trials, strict=True)]
            self.se, self.freedom = math.sqrt(sum(parts)), checks.welch_freedom(parts, self.trials)
        else:
            differences = runs[1].means(metric) - runs[0].means(metric)
            self.freedom = len(differences) - 1
            self.se = float(differences.std(ddof=1)) / math.sqrt(len(differences))

    def needed(self, rule: Rule, aim: float) -> tuple[int | None, int | None]:
        """Returns how many trials, or questions, make `aim` detectable."""
        if self.questions == "same":
            noise = PlannedNoise(0.0, 1, math.sqrt(sum(self._variances)), 0.0)
            error = aim / (rule.quantile(checks.MOST_FREEDOM) + rule.power_quantile)
            return self._more(noise.trials(error)), None
        error = aim / (rule.quantile(self.freedom) + rule.power_quantile)
        trials = None
        if min(self.trials) > 1:
            trials = self._more(PlannedNoise.of(self.runs, self.metric).trials(error))
        questions = math.ceil((self.freedom + 1) * (self.se / error) ** 2) if error else None
        return trials, questions

    def _more(self, trials: int | None) -> int | None:
        """Returns a number of trials larger than today's, which were too few."""
        return None if trials is None else max(trials, min(self.trials) + 1)
