"""The values of a run that statistics work on: the scores of every response, by question."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias, TypeGuard

from pfgen_rs.errors import InputError
from pfgen_rs.lazy import ArrayLike, Floats, NDArray, np
from pfgen_rs.stats.checks import LARGEST, numbers, shown_value

Ints: TypeAlias = "NDArray[np.int64]"


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
        if len(arrays) == len(values) and (np.abs(np.concatenate(arrays)) <= LARGEST).all():
            return arrays
        return [
            numbers(each, f"{self.name!r}, question {question!r}: {metric}", least=1)
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
    def counts(self) -> Ints:
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
                f"samples[{i}] is {shown_value(each)}: expected a Sample (`runs.sample.sample_of` makes "
                "one of a result)"
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
