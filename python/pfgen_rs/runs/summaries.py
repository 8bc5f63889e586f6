"""What is published about a run: aggregates by question and of the whole run, rounded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pfgen_rs.metrics.names import BY_SOURCE, share_name

__all__ = [
    "FOREIGN",
    "Sampled",
    "Summaries",
    "Summary",
    "rounded_aggregate",
    "rounded_question_scores",
    "run_scores",
]

FOREIGN = 0.02
"""Answers with a lower score have next to nothing in common with the reference answers."""


class Sampled(NamedTuple):
    """A sample: its line, where the line begins, and its shares, `helpfulness` and `average` by name."""

    line: int
    start: int
    scores: dict[str, float]


@dataclass(frozen=True)
class Summary:
    """One question of a run: number of answers, aggregates, and samples by descending average."""

    count: int
    spread: dict[str, float]
    scores: dict[str, Any]
    samples: list[Sampled]


@dataclass(frozen=True)
class Summaries:
    """A run: its questions by id, and aggregates of the whole run.

    `empty`: number of empty answers. `foreign`: of others with a score below `FOREIGN`.
    """

    questions: dict[str, Summary]
    num_trials: int
    spread: dict[str, float]
    scores: dict[str, Any]
    empty: int = 0
    foreign: int = 0


def rounded_question_scores(sources: Sequence[str], means: dict[str, float]) -> dict[str, Any]:
    """Returns a question's `scores`: the means by name, rounded to 5 decimals."""
    rounded = {name: round(mean, 5) for name, mean in means.items()}
    scores: dict[str, Any] = {
        metric: {source: rounded[share_name(metric, source)] for source in sources}
        for metric in BY_SOURCE
    }
    return scores | {name: rounded[name] for name in ("helpfulness", "average")}


def rounded_aggregate(name: str, mean: float, variance: float, digits: int) -> dict[str, float]:
    """Returns mean and standard deviation under the published names."""
    return {name: round(mean, digits), f"{name}_std": round(math.sqrt(variance), digits)}


def run_scores(questions: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Returns the run's `scores`: running values, rounded to 5 decimals after each question.

    Sources are in order of appearance. The published scorer adds the values one by one, so they are the same
    for plain and compensated sums.
    """
    total: dict[str, Any] = {metric: {} for metric in BY_SOURCE}
    for scores in questions:
        for metric in BY_SOURCE:
            for source, value in scores[metric].items():
                before = total[metric].get(source, 0.0)
                total[metric][source] = round(before + value / len(questions), 5)
        for metric in ("helpfulness", "average"):
            before = total.get(metric, 0.0)
            total[metric] = round(before + scores[metric] / len(questions), 5)
    return total
