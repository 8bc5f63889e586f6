"""The uncertainty of one run's score."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from pfgen_rs import lazy
from pfgen_rs.errors import InputError
from pfgen_rs.metrics.settings import check_metric
from pfgen_rs.stats.checks import numbers, whole_numbers
from pfgen_rs.stats.student import check_level, two_sided_quantile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from pfgen_rs.stats.bootstrap import Resampler
    from pfgen_rs.stats.sample import Sample

    Floats = NDArray[np.float64]
else:
    np = lazy.module("numpy")

RESAMPLES = 10_000
_ROUNDING = 1e-4  # published scores have four decimals, question means five


@dataclass(frozen=True)
class Estimate:
    """A run's mean score and its errors; `None` where there are too few answers or questions to tell.

    For Q questions, where question q has n_q answers with mean m_q and variance s_q² (with n_q - 1 in the
    denominator):

    `mean`: Σ m_q / Q, over all responses (the published score uses the same number of each question).
    `trial_sd`: √(Σ s_q²) / Q, the standard deviation of the score of one trial (every question answered
    once); needs two answers to each question.
    `trial_se`: √(Σ s_q²/n_q) / Q, the standard error of `mean` from trial noise alone, with the same
    questions.
    `question_se`: √(Σ (m_q - mean)² / (Q - 1)) / √Q, the standard error of `mean` if the questions, too, are
    a sample of many possible ones; it includes trial noise. This is the standard error clustered by question
    (E. Miller, "Adding error bars to evals", arXiv 2411.00640 (2024), section 2.2).
    `low`, `high`: confidence interval over questions at `level`: mean ± t·question_se, with the quantile t of
    Student's t with Q - 1 degrees of freedom. Scores are shown with this interval everywhere, since it needs
    only what is in `result.json`.
    `bootstrap_low`, `bootstrap_high`: the same interval from a bootstrap over questions and trials
    (`pfgen_rs.stats.bootstrap`), which may be skewed; `None` if not computed (`from_summary`).
    `regrouped_sd`: standard deviation (with n - 1) of the scores of trials grouped by time stamps, an
    estimate of `trial_sd` that does not assume answers to different questions to be independent.

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
        """Returns all fields by name."""
        return asdict(self)

    def is_of(self, score: float) -> bool:
        """Whether a published score equals `mean`, up to rounding.

        It does not for runs with more answers to some questions, nor for some system runs.
        """
        return abs(score - self.mean) <= _ROUNDING

    def of(self, score: float) -> Estimate:
        """Returns the same estimate, without bounds if it is not an estimate of this published score."""
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
    """Estimate a run's mean and its errors, with the intervals of Student's t and of the bootstrap.

    Without `resamples` (0) there is no bootstrap. Time O(responses + resamples · questions). Raises
    `SettingsError` for an unknown metric and for an invalid level, seed or number of resamples, and
    `InputError` for a sample without values of the metric.
    """
    check_metric(metric)
    check_level(level)
    from pfgen_rs.stats.sample import checked_samples

    [sample] = checked_samples([sample], [metric])
    if not resamples:
        return _estimate_from_sample(sample, metric, level)
    from pfgen_rs.stats.bootstrap import Resampler

    resampler = Resampler(len(sample.questions), resamples, seed)
    errors = resampler.within(sample.values[metric], sample.name)
    return resampled_estimate(sample, metric, level, resampler, errors)


def resampled_estimate(
    sample: Sample, metric: str, level: float, resampler: Resampler, errors: Floats
) -> Estimate:
    """`estimate` with existing resamples; `errors` as returned by `Resampler.within`."""
    found = _estimate_from_sample(sample, metric, level)
    means = sample.means(metric)
    if len(means) < 2:
        return found
    from pfgen_rs.stats.bootstrap import interval

    noise = np.nan_to_num(sample.variances(metric)) / sample.counts
    resampled = resampler.means(means, noise, errors)
    low, high = interval(float(means.mean()), resampled, len(means), level)
    return replace(found, bootstrap_low=low, bootstrap_high=high)


def _estimate_from_sample(sample: Sample, metric: str, level: float) -> Estimate:
    """Estimate everything but the bootstrap."""
    found = _from_moments(sample.means(metric), sample.variances(metric), sample.counts, level)
    return replace(found, regrouped_sd=_estimated_regrouped_sd(sample, metric))


def from_summary(
    question_means: ArrayLike,
    question_sds: ArrayLike,
    trials: ArrayLike,
    *,
    level: float = 0.95,
) -> Estimate:
    """Estimate a run's mean and its errors from its `result.json`, without its responses.

    `question_means` and `question_sds` (population standard deviations, as published): float64, shape
    (questions,). `trials`: the number of answers to every question, or to each one. There is no bootstrap.
    Time O(questions). Raises `InputError` if the shapes differ, no questions are given, or values are not
    finite numbers, standard deviations of at least 0, and whole numbers of at least 1.
    """
    means, sds = numbers(question_means, "question_means"), numbers(question_sds, "question_sds")
    if means.shape != sds.shape or not len(means):
        raise InputError(
            f"expected one mean and one standard deviation per question, found {len(means)} means and "
            f"{len(sds)} standard deviations"
        )
    if sds.min() < 0:
        place = int(sds.argmin())
        raise InputError(f"question_sds[{place}] is {sds[place]}: expected numbers of at least 0")
    counts = whole_numbers(trials, "trials", least=1)
    if counts.ndim and counts.shape != means.shape:
        raise InputError(
            f"expected one number of trials, or one for each of {len(means)} questions, found {len(counts)}"
        )
    check_level(level)
    counts = np.broadcast_to(counts, means.shape)
    known = np.where(counts > 1, counts - 1, np.nan)  # one answer has no variance
    return _from_moments(means, sds * sds * counts / known, counts, level)


def _estimated_regrouped_sd(sample: Sample, metric: str) -> float | None:
    by_trial = sample.by_trial(metric)
    return None if by_trial is None or len(by_trial) < 2 else float(by_trial.std(ddof=1))


def _from_moments(
    means: Floats, variances: Floats, counts: NDArray[np.int64], level: float
) -> Estimate:
    number, mean = len(means), float(means.sum()) / len(means)
    known = not np.isnan(variances).any()
    question_se = reach = None
    if number > 1:
        deviation = math.sqrt(float(((means - mean) ** 2).sum()) / (number - 1))
        question_se = deviation / math.sqrt(number)
        reach = two_sided_quantile(level, number - 1) * question_se
    return Estimate(
        mean=mean,
        trial_sd=math.sqrt(float(variances.sum())) / number if known else None,
        trial_se=math.sqrt(float((variances / counts).sum())) / number if known else None,
        question_se=question_se,
        low=None if reach is None else mean - reach,
        high=None if reach is None else mean + reach,
        level=level,
        questions=number,
        responses=int(counts.sum()),
    )
