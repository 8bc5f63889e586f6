"""Samples of runs, the uncertainty of one run's score, and the bootstrap over questions and trials."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeGuard

from pfgen_rs.errors import InputError
from pfgen_rs.lazy import ArrayLike, Floats, NDArray, np
from pfgen_rs.metrics.settings import check_metric
from pfgen_rs.stats import checks


@dataclass(frozen=True, eq=False)
class Sample:
    """One run: the values of each metric for each response.

    `questions`: sorted ids. `categories`: of each question, or `None`. `values`: by metric, one array per
    question with its responses in file order. `signature`: what runs must share to be comparable. `system`:
    whether this is a system run, for reference, without a rank. `asked`: number of questions in the set, for
    the signature of a comparison of some of them.

    Takes 32 bytes per response. Raises `InputError` unless every question has a category and, of each metric,
    the same number of values, at least one, all finite numbers (of at most 1e70).
    """

    name: str
    questions: tuple[str, ...]
    categories: dict[str, str | None]
    values: dict[str, list[Floats]] = field(repr=False)
    signature: str | None = None
    system: bool = False
    asked: int | None = None

    def __post_init__(self) -> None:
        """Check the values; lists of them become arrays."""
        if not self.questions or not self.values:
            raise InputError(
                f"{self.name!r} has no values: expected at least one question and metric"
            )
        if len(set(self.questions)) < len(self.questions):
            raise InputError(f"{self.name!r} has a question twice")
        for question in self.questions:
            if question not in self.categories:
                raise InputError(
                    f"{self.name!r}: question {question!r} has no category, not even None"
                )
        arrays = {metric: self._checked(metric, values) for metric, values in self.values.items()}
        object.__setattr__(self, "values", arrays)
        self._check_counts()

    def _checked(self, metric: str, values: Sequence[ArrayLike]) -> list[Floats]:
        if len(values) != len(self.questions):
            raise InputError(
                f"{self.name!r} has values of {metric!r} for {len(values)} of its "
                f"{len(self.questions)} questions"
            )
        arrays = [each for each in values if _is_filled_list(each)]
        if len(arrays) == len(values) and (np.abs(np.concatenate(arrays)) <= checks.LARGEST).all():
            return arrays
        return [
            checks.numbers(each, f"{self.name!r}, question {question!r}: {metric}", least=1)
            for question, each in zip(self.questions, values, strict=True)
        ]

    def _check_counts(self) -> None:
        counts = self.counts.tolist()
        for metric, values in self.values.items():
            if [len(each) for each in values] != counts:
                raise InputError(
                    f"{self.name!r} has different numbers of values of {metric!r} and other metrics"
                )

    def responses(self, metric: str = "average") -> list[Floats]:
        """Returns the values of one metric. Raises `InputError` if there are none."""
        if metric not in self.values:
            raise InputError(f"{self.name!r} has no values of {metric!r}")
        return self.values[metric]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of responses to each question: int64, shape (questions,)."""
        first = next(iter(self.values.values()))
        return np.array([len(values) for values in first], dtype=np.int64)

    @property
    def trials(self) -> int:
        """The smallest number of responses to any question."""
        return int(self.counts.min())

    def means(self, metric: str = "average") -> Floats:
        """Returns the mean of each question: float64, shape (questions,)."""
        return np.array([values.mean() for values in self.responses(metric)])

    def variances(self, metric: str = "average") -> Floats:
        """Returns the variance (with n - 1) of each question; NaN for a single response."""
        return np.array(
            [values.var(ddof=1) if len(values) > 1 else np.nan for values in self.responses(metric)]
        )

    def only(self, questions: Sequence[str]) -> Sample:
        """Returns the same run with these questions only, in the given order."""
        at = [self.questions.index(question) for question in questions]
        return replace(
            self,
            questions=tuple(questions),
            categories={question: self.categories[question] for question in questions},
            values={metric: [arrays[i] for i in at] for metric, arrays in self.values.items()},
        )


def _is_filled_list(values: object) -> TypeGuard[Floats]:
    return (
        isinstance(values, np.ndarray)
        and values.dtype == np.float64
        and values.ndim == 1
        and bool(values.size)
    )


def checked_samples(samples: Iterable[Sample], metrics: Iterable[str]) -> list[Sample]:
    """Returns a list of samples with values of these metrics. Raises `InputError` for anything else."""
    found = list(samples)
    for i, each in enumerate(found):
        if not isinstance(each, Sample):
            raise InputError(
                f"samples[{i}] is {checks.shown_value(each)}: expected a Sample "
                "(`Result.sample` makes one)"
            )
        for metric in metrics:
            each.responses(metric)
    return found


def check_alike(samples: Sequence[Sample]) -> None:
    """Raise `InputError` for runs with the same name, or scored in different ways."""
    names = [sample.name for sample in samples]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"duplicate run name {name!r}: give the runs different names")
    first = samples[0]
    for sample in samples[1:]:
        if sample.signature != first.signature:
            raise InputError(
                f"{first.name!r} and {sample.name!r} were scored with different questions or settings "
                f"({first.signature} and {sample.signature}): score both with the same"
            )


def common_questions(samples: Sequence[Sample]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns questions that all runs answer, and the others. Raises `InputError` for fewer than two."""
    every = set.union(*(set(sample.questions) for sample in samples))
    shared = set.intersection(*(set(sample.questions) for sample in samples))
    if len(shared) < 2:
        whose = "answered by the run" if len(samples) == 1 else "answered by all runs"
        raise InputError(f"too few questions {whose}: expected at least 2, found {len(shared)}")
    return tuple(sorted(shared)), tuple(sorted(every - shared))


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
    (`Resampler`), which may be skewed; `None` if not computed (`from_summary`).

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
    checks.check_level(level)
    [sample] = checked_samples([sample], [metric])
    draws = Resampler(len(sample.questions), resamples, seed) if resamples else None
    return resampled_estimate(sample, metric, level, draws)


def resampled_estimate(
    sample: Sample, metric: str, level: float, draws: Resampler | None, errors: Floats | None = None
) -> Estimate:
    """`estimate` with existing resamples, if any; `errors` as returned by `Resampler.within`."""
    means, variances, counts = sample.means(metric), sample.variances(metric), sample.counts
    found = _estimate_of(means.tolist(), variances.tolist(), counts.tolist(), level)
    if draws is None or len(means) < 2:
        return found
    if errors is None:
        errors = draws.within(sample.values[metric], sample.name)
    resampled = draws.means(means, np.nan_to_num(variances) / counts, errors)
    low, high = interval(float(means.mean()), resampled, len(means), level)
    return replace(found, bootstrap_low=low, bootstrap_high=high)


def from_summary(
    question_means: ArrayLike, question_sds: ArrayLike, trials: ArrayLike, *, level: float = 0.95
) -> Estimate:
    """Estimate a run's mean and its errors from its `result.json`, without its responses.

    `question_means` and `question_sds` (population standard deviations, as published): float64, shape
    (questions,). `trials`: the number of answers to every question, or to each one. There is no bootstrap.
    Time O(questions). Raises `InputError` if the shapes differ, no questions are given, or values are not
    finite numbers, standard deviations of at least 0, and whole numbers of at least 1.
    """
    means, sds = (
        checks.numbers(question_means, "question_means"),
        checks.numbers(question_sds, "question_sds"),
    )
    if means.shape != sds.shape or not len(means):
        raise InputError(
            f"expected one mean and one standard deviation per question, found {len(means)} means and "
            f"{len(sds)} standard deviations"
        )
    if sds.min() < 0:
        place = int(sds.argmin())
        raise InputError(f"question_sds[{place}] is {sds[place]}: expected numbers of at least 0")
    counts = checks.whole_numbers(trials, "trials", least=1)
    if counts.ndim and counts.shape != means.shape:
        raise InputError(
            f"expected one number of trials, or one for each of {len(means)} questions, found {len(counts)}"
        )
    checks.check_level(level)
    counts = np.broadcast_to(counts, means.shape)
    return from_moments(means.tolist(), sds.tolist(), counts.tolist(), level)


def from_moments(
    means: Sequence[float], sds: Sequence[float], counts: Sequence[int], level: float = 0.95
) -> Estimate:
    """`from_summary` for values that need no checks, and without numpy, which takes a while to load."""
    # One answer has no variance.
    variances = [
        sd * sd * n / (n - 1) if n > 1 else math.nan for sd, n in zip(sds, counts, strict=True)
    ]
    return _estimate_of(means, variances, counts, level)


def _estimate_of(
    means: Sequence[float], variances: Sequence[float], counts: Sequence[int], level: float
) -> Estimate:
    number, mean = len(means), math.fsum(means) / len(means)
    known = not any(map(math.isnan, variances))
    question_se = reach = None
    if number > 1:
        squares = math.fsum((each - mean) ** 2 for each in means)
        question_se = math.sqrt(squares / (number - 1)) / math.sqrt(number)
        reach = checks.two_sided_quantile(level, number - 1) * question_se
    trial = [variance / n for variance, n in zip(variances, counts, strict=True)]
    return Estimate(
        mean=mean,
        trial_sd=math.sqrt(math.fsum(variances)) / number if known else None,
        trial_se=math.sqrt(math.fsum(trial)) / number if known else None,
        question_se=question_se,
        low=None if reach is None else mean - reach,
        high=None if reach is None else mean + reach,
        level=level,
        questions=number,
        responses=sum(counts),
    )


# Two-stage bootstrap: resamples the questions of a run, and the responses to each of them.
#
# Questions are drawn with replacement, the same ones for all runs under comparison, and then responses within
# each question. Done naively, the two stages together vary too much, since question means already contain
# trial noise, and intervals from few questions are too short. Both have standard remedies:
#
# - question means are shrunk towards their mean, and residuals stretched, so that the resampled mean has the
#   variance s²/Q of the clustered standard error (A. C. Davison & D. V. Hinkley, *Bootstrap Methods and
#   their Application* (1997), section 3.8; C. A. Field & A. H. Welsh, "Bootstrapping clustered data", Journal
#   of the Royal Statistical Society B 69 (2007), on why plain two-stage resampling does not);
# - the percentile interval is stretched about the mean by t/z, the quantile of Student's t with Q - 1 degrees
#   of freedom over the normal one (as the expanded percentile interval of T. C. Hesterberg, "What teachers
#   should know about the bootstrap", The American Statistician 69 (2015)).


_DRAWS = 512  # resampled means per question, drawn once and reused
_MANY = 2048  # number of responses from which their resampled mean is normal to all visible digits


class Resampler:
    """Resamples of the questions, shared by all runs under comparison.

    Random numbers depend on the seed and, for a run's responses, on its name, so they do not depend on the
    other runs or their order. Memory O(resamples · questions). Raises `SettingsError` for a negative
    seed and for fewer than 100 resamples.
    """

    def __init__(self, questions: int, resamples: int, seed: int) -> None:
        checks.check_resampling(resamples, seed)
        self._seed = seed
        random = np.random.default_rng(seed)
        self._picks = random.integers(0, questions, (resamples, questions), dtype=np.int32)
        rows = np.arange(resamples)[:, None] * questions
        counts = np.bincount((self._picks + rows).ravel(), minlength=resamples * questions)
        self._weights = counts.reshape(resamples, questions) / questions

    def means(self, means: Floats, noise_variances: Floats, errors: Floats) -> Floats:
        """Returns resampled means over questions and trials: float64, shape (resamples,).

        `means`: one per question (or differences of them). `noise_variances`: the part of each variance that
        is due to trial noise. `errors`: from `within`, for the same means. With s² = Σ(m - m̄)²/(Q - 1)
        and v the mean noise variance, questions contribute (s² - v)/Q to the variance and trials v/Q. If
        s² < v, which would mean a negative variance between questions, only trials contribute, with s²/Q.
        """
        centre, variance = means.mean(), float(means.var(ddof=1))
        noise = float(noise_variances.mean())
        if variance == 0.0:
            return np.full(len(errors), centre)
        between = math.sqrt(max(variance - noise, 0.0) / float(means.var()))
        within = math.sqrt(min(variance / noise, 1.0)) if noise else 0.0
        # Not a matrix product: its last digits depend on the number of threads.
        drawn = np.einsum("rq,q->r", self._weights, means - centre)
        return np.asarray(centre + drawn * between + errors * within)

    def within(self, values: Sequence[Floats], name: str) -> Floats:
        """Returns mean errors over the drawn questions: float64, shape (resamples,).

        `values`: one array per question, with the values of its responses; `name`: the name of the run.
        """
        random = np.random.default_rng(
            [self._seed, zlib.crc32(name.encode(errors="backslashreplace"))]
        )
        noise = np.stack([_errors_of_mean(each, random) for each in values])
        draws = noise.shape[1]
        places = random.integers(0, draws, self._picks.shape, dtype=np.int32)
        places += self._picks * np.int32(draws)
        return np.asarray(noise.ravel()[places].mean(axis=1))


def interval(mean: float, resampled: Floats, questions: int, level: float) -> tuple[float, float]:
    """Returns the percentile interval of resampled means, stretched about the mean by t/z."""
    tail = (1 - level) / 2
    stretch = checks.two_sided_quantile(level, questions - 1) / checks.normal_quantile(level)
    low, high = np.quantile(resampled, [tail, 1 - tail]).tolist()
    return mean + (low - mean) * stretch, mean + (high - mean) * stretch


def _errors_of_mean(values: Floats, random: np.random.Generator) -> Floats:
    """Returns errors of a question's mean due to the finite number of trials: shape (draws,).

    Each is the mean of n residuals drawn with replacement, stretched by √(n/(n-1)); 0 for a single response.
    """
    n = len(values)
    if n == 1:
        return np.zeros(_DRAWS)
    residuals = (values - values.mean()) * np.sqrt(n / (n - 1))
    if n > _MANY:
        return np.asarray(random.standard_normal(_DRAWS) * (residuals.std() / np.sqrt(n)))
    picks = random.integers(0, n, (_DRAWS, n), dtype=np.uint16)
    return np.asarray(residuals[picks].mean(axis=1))
