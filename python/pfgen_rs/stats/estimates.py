"""How sure one run's score is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pfgen_rs.errors import InputError
from pfgen_rs.stats.bootstrap import Resampler, interval
from pfgen_rs.stats.sample import Sample, check_metric
from pfgen_rs.stats.student import check_level, two_sided_quantile

__all__ = ["Estimate", "estimate", "from_summary", "resampled_estimate"]

Floats = NDArray[np.float64]
RESAMPLES = 10_000
_ROUNDING = 1e-4  # published scores have four decimals, means of questions five


@dataclass(frozen=True)
class Estimate:
    """A run's mean score and its errors. `None` stands for what so few answers or questions do not tell.

    With Q questions, question q answered n_q times with mean m_q and variance (n_q - 1 in the denominator)
    s_q²:

    `mean`: Σ m_q / Q, over all responses (the published score takes the same number of each question).
    `trial_sd`: √(Σ s_q²) / Q, the spread of the score of one trial (every question answered once); needs
    two answers to each question.
    `trial_se`: √(Σ s_q²/n_q) / Q, the error of `mean` from the noise of trials alone, the questions staying
    the same.
    `question_se`: √(Σ (m_q - mean)² / (Q - 1)) / √Q, the error of `mean` where the questions, too, are a
    sample of many possible ones; noise of trials is part of it. This is the standard error clustered by
    question (E. Miller, "Adding error bars to evals", arXiv 2411.00640 (2024), section 2.2).
    `low`, `high`: bounds of the interval of confidence `level` for the score over all such questions:
    mean ± t·question_se, with the quantile t of Student's t with Q - 1 degrees of freedom. Scores are shown
    with this interval everywhere, as it needs no more than `result.json` has.
    `bootstrap_low`, `bootstrap_high`: bounds of the same interval from a bootstrap over questions and trials
    (`pfgen_rs.stats.bootstrap`), which may be skewed; `None` where it was not made (`from_summary`).
    `regrouped_sd`: the standard deviation (n - 1) of the scores of trials put together by time stamps, an
    estimate of what `trial_sd` is that does not take answers to different questions for independent.

    `questions`, `responses`: how many there are.
    """

    mean: float
    trial_sd: float | None
    trial_se: float | None
    question_se: float | None
    low: float | None
    high: float | None
    level: float
    questions: int
    responses: int
    regrouped_sd: float | None = None
    bootstrap_low: float | None = None
    bootstrap_high: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Everything by name."""
        return asdict(self)

    def is_of(self, score: float) -> bool:
        """Whether a published score is `mean`, but for rounding.

        That of a run with more answers to some questions, or of some system runs, is none of all responses.
        """
        return abs(score - self.mean) <= _ROUNDING

    def of(self, score: float) -> Estimate:
        """The same, without bounds where it is not that of this published score."""
        if self.is_of(score):
            return self
        return replace(self, low=None, high=None, bootstrap_low=None, bootstrap_high=None)


def estimate(
    sample: Sample,
    metric: str = "average",
    *,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Estimate:
    """A run's mean with its errors, and the intervals of Student's t and of the bootstrap.

    With 0 `resamples` there is no bootstrap. Time O(responses + resamples · questions).
    Raises `SettingsError` for a metric, level or number of resamples that cannot be.
    """
    check_metric(metric)
    check_level(level)
    if not resamples:
        return _from_sample(sample, metric, level)
    resampler = Resampler(len(sample.questions), resamples, seed)
    errors = resampler.within(sample.values[metric], sample.name)
    return resampled_estimate(sample, metric, level, resampler, errors)


def resampled_estimate(
    sample: Sample, metric: str, level: float, resampler: Resampler, errors: Floats
) -> Estimate:
    """`estimate` with the draws at hand; `errors` as `Resampler.within` gives them."""
    found = _from_sample(sample, metric, level)
    means = sample.means(metric)
    if len(means) < 2:
        return found
    noise = np.nan_to_num(sample.variances(metric)) / sample.counts
    resampled = resampler.means(means, noise, errors)
    low, high = interval(float(means.mean()), resampled, len(means), level)
    return replace(found, bootstrap_low=low, bootstrap_high=high)


def _from_sample(sample: Sample, metric: str, level: float) -> Estimate:
    """All but the bootstrap."""
    moments = sample.means(metric), sample.variances(metric), sample.counts
    return replace(_errors(*moments, level), regrouped_sd=_regrouped_sd(sample, metric))


def from_summary(
    question_means: ArrayLike,
    question_sds: ArrayLike,
    trials: int | Sequence[int],
    *,
    level: float = 0.95,
) -> Estimate:
    """A run's mean with its errors from what `result.json` holds, without its responses.

    `question_means` and `question_sds` (population standard deviations, as published): float64, shape
    (questions,);
    `trials`: answers of each question, or of every one. There is no bootstrap. Time O(questions).
    Raises `InputError` where the shapes differ or there is no question.
    """
    check_level(level)
    means, sds = np.asarray(question_means, dtype=float), np.asarray(question_sds, dtype=float)
    if means.ndim != 1 or means.shape != sds.shape or not len(means):
        raise InputError(
            f"one mean and one standard deviation a question are needed, not {means.shape} and {sds.shape}"
        )
    try:
        counts = np.broadcast_to(np.asarray(trials, dtype=np.int64), means.shape)
    except ValueError:
        raise InputError(f"{len(means)} questions need as many numbers of trials") from None
    with np.errstate(divide="ignore", invalid="ignore"):
        variances = np.where(counts > 1, sds**2 * counts / (counts - 1), np.nan)
    return _errors(means, variances, counts, level)


def _regrouped_sd(sample: Sample, metric: str) -> float | None:
    by_trial = sample.by_trial(metric)
    return None if by_trial is None or len(by_trial) < 2 else float(by_trial.std(ddof=1))


def _errors(means: Floats, variances: Floats, counts: NDArray[np.int64], level: float) -> Estimate:
    number, mean = len(means), float(means.mean())
    known = not np.isnan(variances).any()
    question_se = float(means.std(ddof=1) / np.sqrt(number)) if number > 1 else None
    reach = None if question_se is None else two_sided_quantile(level, number - 1) * question_se
    return Estimate(
        mean=mean,
        trial_sd=float(np.sqrt(variances.sum())) / number if known else None,
        trial_se=float(np.sqrt((variances / counts).sum())) / number if known else None,
        question_se=question_se,
        low=None if reach is None else mean - reach,
        high=None if reach is None else mean + reach,
        level=level,
        questions=number,
        responses=int(counts.sum()),
    )
