"""How many trials a wished precision needs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.stats.bootstrap import normal_quantile
from pfgen_rs.stats.sample import Sample, check_alike, check_metric, common_questions
from pfgen_rs.stats.student import check_level, two_sided_quantile

__all__ = ["Plan", "Step", "plan_trials"]

_POWER = 0.8
_TRIALS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
_SLACK = 1e-9  # so that rounding never asks for one trial more
_MOST = 10**9


@dataclass(frozen=True)
class Step:
    """Half-widths of the interval with so many trials: for the same questions, and for such questions."""

    trials: int
    trial_noise: float
    with_questions: float


@dataclass(frozen=True)
class Plan:
    """Trials that a run's score, or the difference of two runs, needs.

    `mean`: the score, or the difference. `trial_sd`: the spread of one trial's. `question_sd`: the spread
    of the true means of questions (or of the true differences), estimated. With T trials of Q questions and
    quantiles z (normal) and t (Student's, Q - 1 degrees of freedom), intervals reach as far as

    - z·trial_sd/√T on either side if the questions stay the same (`trials_needed` for `precision`), and
    - t·√(question_sd²/Q + trial_sd²/T) if they are a sample of many (`trials_needed_with_questions`, `None`
      where no number suffices); t·question_sd/√Q of it remains whatever the number (`remaining`).

    `trials_to_tell`, `trials_to_tell_with_questions` (for two runs): so that a test of a true difference of
    `difference` succeeds with probability `power`: (z + z_power)²·trial_sd²/T <= difference² and
    (t + z_power)²·(question_sd²/Q + trial_sd²/T) <= difference² (Miller 2024, section 5); `None` where no
    number suffices. The second is `Pair.minimum_detectable` turned around: what runs of T trials each can
    detect needs T.
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
        """Everything by name."""
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
    """How many trials a run needs, or two runs to be told apart.

    `precision`: the wished half-width of the interval. `difference`: what is to be told from 0, for two
    runs; the observed difference without it. For two runs, only questions that both answer count.

    Raises `InputError` where questions have one answer alone, since that says nothing of noise, or where the
    runs do not fit together, and `SettingsError` for settings that cannot be.
    """
    runs = [samples] if isinstance(samples, Sample) else list(samples)
    _check_settings(precision, difference, level, power, metric)
    runs = _aligned(runs)
    noise = _Noise.of(runs, metric)
    z, t = normal_quantile(level), two_sided_quantile(level, noise.questions - 1)
    told = abs(noise.mean) if difference is None else difference
    finds = normal_quantile(2 * power - 1)
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
        trials_needed=_must(noise.same_questions().trials(precision / z)),
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
class _Noise:
    """A score, or a difference, and the standard deviations of one trial and of one question."""

    mean: float
    questions: int
    trial: float
    question: float

    @classmethod
    def of(cls, runs: Sequence[Sample], metric: str) -> _Noise:
        """Of one run or, minus the second, two."""
        means = runs[0].means(metric) - sum(run.means(metric) for run in runs[1:])
        variances = [run.variances(metric) for run in runs]
        # The means of questions vary because trials are few, too.
        error = sum(v / run.counts for v, run in zip(variances, runs, strict=True))
        number = len(means)
        return cls(
            mean=float(means.mean()),
            questions=number,
            trial=math.sqrt(float(np.sum(variances))) / number,
            question=math.sqrt(max(float(means.var(ddof=1) - np.mean(error)), 0.0)),
        )

    def same_questions(self) -> _Noise:
        """The same, where the questions stay."""
        return replace(self, question=0.0)

    def error(self, trials: float) -> float:
        """Standard error of the mean with so many trials."""
        return math.sqrt(self.question**2 / self.questions + self.trial**2 / trials)

    def trials(self, error: float) -> int | None:
        """How many trials bring the standard error down to `error`; `None` where no number does."""
        room = error**2 - self.question**2 / self.questions
        if self.trial == 0.0:
            return 1 if room >= 0 else None
        if room <= self.trial**2 / _MOST:
            return None
        return max(1, math.ceil(self.trial**2 / room * (1 - _SLACK)))


def _must(trials: int | None) -> int:
    if trials is None:
        raise SettingsError(
            "no number of trials that could be run gives this precision: ask for less"
        )
    return trials


def _aligned(runs: Sequence[Sample]) -> list[Sample]:
    """One or two runs with the questions that both answer."""
    if not 1 <= len(runs) <= 2:
        raise InputError(f"trials are planned for one run or two, not for {len(runs)}")
    if len(runs) > 1:
        check_alike(runs)
    common, _ = common_questions(runs)
    aligned = [run.only(common) for run in runs]
    for run in aligned:
        once = [name for name, n in zip(run.questions, run.counts.tolist(), strict=True) if n < 2]
        if once:
            raise InputError(
                f"{run.name!r}: {len(once)} questions have one answer alone, the first being {once[0]!r}, "
                "which tells nothing about the noise of trials: two or more are needed"
            )
    return aligned


def _check_settings(
    precision: float, difference: float | None, level: float, power: float, metric: str
) -> None:
    check_metric(metric)
    check_level(level)
    if not 0.5 <= power < 1:
        raise SettingsError(f"the power must lie between 0.5 and 1, not {power}")
    for name, value in (("precision", precision), ("difference", difference)):
        if value is not None and not 0 < value < math.inf:
            raise SettingsError(f"the {name} must be more than 0, not {value}")
