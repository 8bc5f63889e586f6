"""The values of a run that statistics work on: the scores of every response, by question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from pfgen_rs.errors import InputError
from pfgen_rs.metrics.names import METRICS

__all__ = ["Sample", "check_alike", "common_questions"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Sample:
    """One run: the values of each metric for each response.

    `questions`: sorted ids. `categories`: of each question, or `None`. `values`: by metric, one array per
    question with its responses in file order. `order`: if times are known, one array per question with the
    position of each response by time, from 0; the responses at position j form trial j. `signature`: what
    runs must share to be comparable. `system`: whether this is a system run, for reference, without a rank.

    Takes 32 bytes per response.
    """

    name: str
    questions: tuple[str, ...]
    categories: dict[str, str | None]
    values: dict[str, list[Floats]] = field(repr=False)
    order: list[Ints] | None = field(default=None, repr=False)
    signature: str | None = None
    system: bool = False

    @property
    def counts(self) -> Ints:
        """Number of responses to each question: int64, shape (questions,)."""
        return np.array([len(values) for values in self.values[METRICS[0]]], dtype=np.int64)

    @property
    def trials(self) -> int:
        """The smallest number of responses to any question."""
        return int(self.counts.min())

    def means(self, metric: str = "average") -> Floats:
        """Returns the mean of each question: float64, shape (questions,)."""
        return np.array([values.mean() for values in self.values[metric]])

    def variances(self, metric: str = "average") -> Floats:
        """Returns the variance (with n - 1) of each question; NaN for a single response."""
        return np.array(
            [values.var(ddof=1) if len(values) > 1 else np.nan for values in self.values[metric]]
        )

    def by_trial(self, metric: str = "average") -> Floats | None:
        """Returns the scores of trials grouped by time: float64, shape (`trials`,); `None` without times.

        Trial j is the mean over questions of the j-th earliest response to each.
        """
        if self.order is None:
            return None
        rows = []
        for values, order in zip(self.values[metric], self.order, strict=True):
            sorted_values = np.empty_like(values)
            sorted_values[order] = values
            rows.append(sorted_values[: self.trials])
        return np.asarray(np.mean(rows, axis=0))

    def only(self, questions: Sequence[str]) -> Sample:
        """Returns the same run with these questions only, in the given order."""
        at = [self.questions.index(question) for question in questions]
        return replace(
            self,
            questions=tuple(questions),
            categories={question: self.categories[question] for question in questions},
            values={metric: [arrays[i] for i in at] for metric, arrays in self.values.items()},
            order=None if self.order is None else [self.order[i] for i in at],
        )


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
