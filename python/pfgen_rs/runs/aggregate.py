"""Aggregates runs exactly as published: means over questions, with all sums in the published order."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pfgen_rs.metrics.names import BY_SOURCE, share_name, share_names
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.runs.score_store import ResponseScores
from pfgen_rs.stats.sums import left_mean, left_sum, running_sum

__all__ = ["Summaries", "Summary", "question_scores", "run_scores", "summarise"]

Floats = NDArray[np.float64]
_QUANTILES = (0, 0.25, 0.5, 0.75, 1)
_PLAIN = ("helpfulness", "average", "length", "line", "start")
_AT_ONCE = 1 << 24  # maximum number of values of one question to read into memory at once


@dataclass(frozen=True)
class Summary:
    """One question of a run: number of answers, aggregates, and samples (line number, start of the line)."""

    count: int
    spread: dict[str, float]
    scores: dict[str, Any]
    samples: list[tuple[int, int]]


@dataclass(frozen=True)
class Summaries:
    """A run: its questions by id, and aggregates of the whole run."""

    questions: dict[str, Summary]
    num_trials: int
    spread: dict[str, float]
    scores: dict[str, Any]


def summarise(benchmark: QuestionSet, stored: ResponseScores) -> Summaries:
    """Aggregate a run, one question at a time, with plain or compensated sums as in the settings."""
    compensated = benchmark.settings.compensated
    counts = stored.counts()
    num_trials = min(counts.values())
    questions: dict[str, Summary] = {}

    def averages() -> Iterator[Floats]:  # one question at a time
        for question_id, count in counts.items():
            questions[question_id], found = _aggregate_question(
                benchmark, stored, question_id, count
            )
            yield found[:num_trials]

    by_trial = left_sum(averages(), compensated=compensated) / len(counts)
    spread = {
        **_aggregate_mean_and_std("score", by_trial, 4, compensated),
        **_aggregate_lengths(stored, compensated),
    }
    scores = run_scores([summary.scores for summary in questions.values()])
    return Summaries(questions, num_trials, spread, scores)


def _aggregate_question(
    benchmark: QuestionSet, stored: ResponseScores, question_id: str, count: int
) -> tuple[Summary, Floats]:
    """Returns aggregates, summed by descending `average` (stable) as published, and the averages."""
    compensated = benchmark.settings.compensated
    sources = benchmark[question_id].sources
    column = _aggregate_columns(stored, question_id, count, [*share_names(sources), *_PLAIN])
    averages = column("average")
    ranked = np.argsort(-averages, kind="stable")
    scores = question_scores(sources, lambda name: column(name)[ranked], compensated=compensated)
    spread = {
        **_aggregate_mean_and_std("score", averages[ranked], 4, compensated),
        **_aggregate_mean_and_std("length", column("length")[ranked], 1, compensated),
    }
    places = ranked[list(dict.fromkeys(round(x * (len(ranked) - 1)) for x in _QUANTILES))]
    samples = zip(*(column(name)[places].astype(int).tolist() for name in _PLAIN[3:]), strict=True)
    return Summary(len(averages), spread, scores, list(samples)), averages


def question_scores(
    sources: Sequence[str], column: Callable[[str], Floats], *, compensated: bool = False
) -> dict[str, Any]:
    """Returns a question's `scores`: means over its answers, rounded to 5 decimals.

    `column` returns the sources' shares (see `share_name`), `helpfulness` and `average` of all answers, by
    descending `average` as published.
    """
    means = {
        name: round(left_mean(column(name), compensated=compensated), 5)
        for name in (*share_names(sources), *_PLAIN[:2])
    }
    scores: dict[str, Any] = {
        metric: {source: means[share_name(metric, source)] for source in sources}
        for metric in BY_SOURCE
    }
    return scores | {name: means[name] for name in _PLAIN[:2]}


def _aggregate_columns(
    stored: ResponseScores, question_id: str, count: int, names: Sequence[str]
) -> Callable[[str], Floats]:
    """Returns columns by name: all read at once or, if they are too long, each when it is needed."""
    if count * len(names) <= _AT_ONCE:
        return stored.of_question(question_id, names).__getitem__
    return lambda name: stored.of_question(question_id, [name])[name]


def _aggregate_lengths(stored: ResponseScores, compensated: bool) -> dict[str, float]:
    """Returns mean and deviation over all responses, in the file's order, without loading all at once."""
    height = stored.height
    # Sums of integers are exact in any order.
    mean = sum(float(lengths.sum()) for lengths in stored.column("length", in_order=False)) / height
    squares = ((lengths - mean) ** 2 for lengths in stored.column("length", in_order=True))
    return _rounded_aggregate(
        "length", mean, running_sum(squares, compensated=compensated) / height, 1
    )


def _aggregate_mean_and_std(
    name: str, values: Floats, digits: int, compensated: bool
) -> dict[str, float]:
    mean = left_mean(values, compensated=compensated)
    return _rounded_aggregate(
        name, mean, left_mean((values - mean) ** 2, compensated=compensated), digits
    )


def _rounded_aggregate(name: str, mean: float, variance: float, digits: int) -> dict[str, float]:
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
