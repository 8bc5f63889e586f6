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
    `low`, `high`: bounds of the interval of confidence `level` for the score over all such questions; from
    the bootstrap (`estimate`), or mean ± t·question_se with Q - 1 degrees of freedom (`from_summary`).
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
        return self if self.is_of(score) else replace(self, low=None, high=None)


def estimate(
    sample: Sample,
    metric: str = "average",
    *,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Estimate:
    """A run's mean with its errors, and an interval from the bootstrap over questions and trials.

    The interval is that of `pfgen_rs.stats.bootstrap`. Time O(responses + resamples · questions).
    Raises `SettingsError` for a metric, level or number of resamples that cannot be.
    """
    check_metric(metric)
    check_level(level)
    resampler = Resampler(len(sample.questions), resamples, seed)
    errors = resampler.within(sample.values[metric], sample.name)
    return resampled_estimate(sample, metric, level, resampler, errors)


def resampled_estimate(
    sample: Sample, metric: str, level: float, resampler: Resampler, errors: Floats
) -> Estimate:
    """`estimate` with the draws at hand; `errors` as `Resampler.within` gives them."""
    means, counts = sample.means(metric), sample.counts
    variances = sample.variances(metric)
    low = high = None
    if len(means) > 1:
        resampled = resampler.means(means, np.nan_to_num(variances) / counts, errors)
        low, high = interval(float(means.mean()), resampled, len(means), level)
    return Estimate(
        **_errors(means, variances, counts),
        low=low,
        high=high,
        level=level,
        regrouped_sd=_regrouped_sd(sample, metric),
    )


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
    `trials`: answers of each question, or of every one. The interval is mean ± t·question_se. Time
    O(questions). Raises `InputError` where the shapes differ or there is no question.
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
    errors = _errors(means, variances, counts)
    low = high = None
    if errors["question_se"] is not None:
        reach = two_sided_quantile(level, len(means) - 1) * errors["question_se"]
        low, high = errors["mean"] - reach, errors["mean"] + reach
    return Estimate(**errors, low=low, high=high, level=level)


def _regrouped_sd(sample: Sample, metric: str) -> float | None:
    by_trial = sample.by_trial(metric)
    return None if by_trial is None or len(by_trial) < 2 else float(by_trial.std(ddof=1))


def _errors(means: Floats, variances: Floats, counts: NDArray[np.int64]) -> dict[str, Any]:
    number = len(means)
    known = not np.isnan(variances).any()
    return {
        "mean": float(means.mean()),
        "trial_sd": float(np.sqrt(variances.sum())) / number if known else None,
        "trial_se": float(np.sqrt((variances / counts).sum())) / number if known else None,
        "question_se": float(means.std(ddof=1) / np.sqrt(number)) if number > 1 else None,
        "questions": number,
        "responses": int(counts.sum()),
    }
