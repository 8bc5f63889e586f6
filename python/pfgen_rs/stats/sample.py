"""The values of a run that statistics are about: every response's scores, by question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from pfgen_rs.errors import InputError, SettingsError

__all__ = ["METRICS", "Sample", "check_alike", "check_metric", "common_questions"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
METRICS = ("average", "fluency", "truthfulness", "helpfulness")


@dataclass(frozen=True)
class Sample:
    """One run: the values of each metric for each response.

    `questions`: ids, sorted. `categories`: of each question, `None` where it has none. `values`: by metric,
    an array for each question, its responses in the file's order. `order`: for each question the position
    of each of its responses by time, from 0, where the times are known: the responses at position j are
    trial j.
    `signature`: what runs must share to be compared. `system`: whether the run is no model's but one to
    compare with, which takes no rank.

    Takes 32 bytes a response.
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
        """Responses of each question: int64, shape (questions,)."""
        return np.array([len(values) for values in self.values[METRICS[0]]], dtype=np.int64)

    @property
    def trials(self) -> int:
        """The smallest number of responses any question has."""
        return int(self.counts.min())

    def means(self, metric: str = "average") -> Floats:
        """Mean of each question: float64, shape (questions,)."""
        return np.array([values.mean() for values in self.values[metric]])

    def variances(self, metric: str = "average") -> Floats:
        """Variance (n - 1) of the responses of each question; NaN where there is one alone."""
        return np.array(
            [values.var(ddof=1) if len(values) > 1 else np.nan for values in self.values[metric]]
        )

    def by_trial(self, metric: str = "average") -> Floats | None:
        """Scores of the trials, regrouped by time: float64, shape (`trials`,); `None` without times.

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
        """The same with some of its questions, in the order given."""
        at = [self.questions.index(question) for question in questions]
        return replace(
            self,
            questions=tuple(questions),
            categories={question: self.categories[question] for question in questions},
            values={metric: [arrays[i] for i in at] for metric, arrays in self.values.items()},
            order=None if self.order is None else [self.order[i] for i in at],
        )


def check_metric(metric: str) -> None:
    """Raise `SettingsError` for what is no metric."""
    if metric not in METRICS:
        raise SettingsError(f"metric {metric!r} is none of {', '.join(METRICS)}")


def check_alike(samples: Sequence[Sample]) -> None:
    """Raise `InputError` for two runs of the same name, or scored in different ways."""
    names = [sample.name for sample in samples]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two runs are called {name!r}: give them different names")
    first = samples[0]
    for sample in samples[1:]:
        if sample.signature != first.signature:
            raise InputError(
                f"{sample.name!r} ({sample.signature}) and {first.name!r} ({first.signature}) were scored "
                "with different questions or settings: score both alike"
            )


def common_questions(samples: Sequence[Sample]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Questions that all runs answer, and those that only some do; `InputError` for fewer than two."""
    every = set.union(*(set(sample.questions) for sample in samples))
    shared = set.intersection(*(set(sample.questions) for sample in samples))
    if len(shared) < 2:
        whose = "the run answers" if len(samples) == 1 else "all of the runs answer"
        raise InputError(f"{whose} {len(shared)} of the questions, and at least two are needed")
    return tuple(sorted(shared)), tuple(sorted(every - shared))
