"""The number of trials needed for a given precision."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from numbers import Real
from typing import Any

from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.lazy import np
from pfgen_rs.metrics.settings import check_metric
from pfgen_rs.stats import checks
from pfgen_rs.stats.estimates import Sample, check_alike, checked_samples, common_questions

_POWER = 0.8
_TRIALS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
_SLACK = 1e-9  # rounding errors do not cost a trial
_MOST = 10**9


@dataclass(frozen=True)
class Step:
    """Half-widths of the interval with this many trials: with the same questions, and over questions."""

    trials: int
    trial_noise: float
    with_questions: float


@dataclass(frozen=True)
class Plan:
    """The number of trials needed for a run's score, or for the difference of two runs.

    `mean`: the score, or the difference. `trial_sd`: its standard deviation over trials. `question_sd`: the
    estimated standard deviation of the true question means (or differences). With T trials of Q questions and
    quantiles z (normal) and t (Student's, Q - 1 degrees of freedom), the half-width of the interval is

    - z·trial_sd/√T with the same questions (`trials_needed` for `precision`), and
    - t·√(question_sd²/Q + trial_sd²/T) over questions (`trials_needed_with_questions`, `None` if no number
      suffices), of which t·question_sd/√Q remains with any number of trials (`remaining`).

    `trials_to_tell`, `trials_to_tell_with_questions` (for two runs): the number of trials that gives a test
    `power` to detect a true difference of `difference`: (z + z_power)²·trial_sd²/T <= difference² and
    (t + z_power)²·(question_sd²/Q + trial_sd²/T) <= difference² (Miller 2024, section 5); `None` if no number
    suffices. The second is the inverse of `Pair.minimum_detectable`.
    """

    runs: tuple[str, ...]
    metric: str
    level: float
    precision: float
    questions: int
    mean: float
    trial_sd: float
    question_sd: float
    remaining: float
    trials_needed: int
    trials_needed_with_questions: int | None
    power: float
    difference: float | None
    trials_to_tell: int | None
    trials_to_tell_with_questions: int | None
    table: tuple[Step, ...]

    def to_dict(self) -> dict[str, Any]:
        """Returns all fields by name."""
        return asdict(self)


def plan_trials(
    samples: Sample | Sequence[Sample],
    *,
    precision: float = 0.005,
    difference: float | None = None,
    level: float = 0.95,
    power: float = _POWER,
    metric: str = "average",
) -> Plan:
    """Returns the number of trials needed for one run, or for telling two runs apart.

    `precision`: target half-width of the interval. `difference`: for two runs, the difference to detect
    (default: the observed one). With two runs, only questions that both answer count.

    Raises `InputError` if a question has a single answer, which says nothing about noise, or if the runs
    cannot be compared, and `SettingsError` for invalid settings.
    """
    _check_settings(precision, difference, level, power, metric)
    runs = checked_samples([samples] if isinstance(samples, Sample) else samples, [metric])
    runs = _aligned(runs)
    noise = PlannedNoise.of(runs, metric)
    z, t = checks.normal_quantile(level), checks.two_sided_quantile(level, noise.questions - 1)
    told = abs(noise.mean) if difference is None else difference
    finds = checks.normal_quantile(2 * power - 1)
    two = len(runs) > 1
    return Plan(
        runs=tuple(run.name for run in runs),
        metric=metric,
        level=level,
        precision=precision,
        questions=noise.questions,
        mean=noise.mean,
        trial_sd=noise.trial,
        question_sd=noise.question,
        remaining=t * noise.error(math.inf),
        trials_needed=_feasible_trials(noise.same_questions().trials(precision / z)),
        trials_needed_with_questions=noise.trials(precision / t),
        power=power,
        difference=told if two else None,
        trials_to_tell=noise.same_questions().trials(told / (z + finds)) if two else None,
        trials_to_tell_with_questions=noise.trials(told / (t + finds)) if two else None,
        table=tuple(
            Step(number, z * noise.same_questions().error(number), t * noise.error(number))
            for number in _TRIALS
        ),
    )


@dataclass(frozen=True)
class PlannedNoise:
    """A score or a difference, with its standard deviations over trials and over questions."""

    mean: float
    questions: int
    trial: float
    question: float

    @classmethod
    def of(cls, runs: Sequence[Sample], metric: str) -> "PlannedNoise":
        """The noise of one run, or of the difference of two."""
        means = runs[0].means(metric) - sum(run.means(metric) for run in runs[1:])
        variances = [run.variances(metric) for run in runs]
        # Part of the variance of question means is trial noise.
        error = sum(v / run.counts for v, run in zip(variances, runs, strict=True))
        number = len(means)
        return cls(
            mean=float(means.mean()),
            questions=number,
            trial=math.sqrt(float(np.sum(variances))) / number,
            question=math.sqrt(max(float(means.var(ddof=1) - np.mean(error)), 0.0)),
        )

    def same_questions(self) -> "PlannedNoise":
        """Returns the noise with the same questions."""
        return replace(self, question=0.0)

    def error(self, trials: float) -> float:
        """Returns the standard error of the mean with this many trials."""
        return math.sqrt(self.question**2 / self.questions + self.trial**2 / trials)

    def trials(self, error: float) -> int | None:
        """Returns the number of trials that reduces the standard error to `error`; `None` if none does."""
        room = error**2 - self.question**2 / self.questions
        if self.trial == 0.0:
            return 1 if room >= 0 else None
        if room <= self.trial**2 / _MOST:
            return None
        return max(1, math.ceil(self.trial**2 / room * (1 - _SLACK)))


def _feasible_trials(trials: int | None) -> int:
    if trials is None:
        raise SettingsError(
            "no feasible number of trials reaches this precision: choose a larger value"
        )
    return trials


def _aligned(runs: Sequence[Sample]) -> list[Sample]:
    """Restrict one or two runs to the questions that all of them answer."""
    if not 1 <= len(runs) <= 2:
        raise InputError(f"expected one or two runs to plan trials for, found {len(runs)}")
    if len(runs) > 1:
        check_alike(runs)
    common, _ = common_questions(runs)
    aligned = [run.only(common) for run in runs]
    for run in aligned:
        once = [name for name, n in zip(run.questions, run.counts.tolist(), strict=True) if n < 2]
        if once:
            raise InputError(
                f"{run.name!r}: trial noise needs at least two answers to each question; questions with one: "
                f"{len(once)}, the first is {once[0]!r}"
            )
    return aligned


def _check_settings(
    precision: float, difference: float | None, level: float, power: float, metric: str
) -> None:
    check_metric(metric)
    checks.check_level(level)
    if not isinstance(power, Real) or not 0.5 <= power < 1:
        raise SettingsError(
            f"invalid power {checks.shown_value(power)}: expected at least 0.5 and less than 1"
        )
    positive = {"precision": precision} | ({} if difference is None else {"difference": difference})
    for name, value in positive.items():
        if not (isinstance(value, Real) and 0 < value < math.inf):
            raise SettingsError(
                f"invalid {name} {checks.shown_value(value)}: expected a positive number"
            )
