"""Aggregates runs exactly as published: means over questions, with all sums in the published order."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pfgen_rs import _native
from pfgen_rs.lazy import Floats, np
from pfgen_rs.metrics.settings import BY_SOURCE, share_name, share_names
from pfgen_rs.metrics.sums import left_mean, left_sum, running_sum
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.runs.score_store import ResponseScores

_QUANTILES = (0, 0.25, 0.5, 0.75, 1)
_PLAIN = ("helpfulness", "average")


def summarise(benchmark: QuestionSet, stored: ResponseScores) -> Summaries:
    """Aggregate a run, with plain or compensated sums as in the settings.

    The scores of one question at a time are in memory. Time O(responses · log responses of a question).
    """
    compensated = benchmark.settings.compensated
    counts = stored.counts()
    num_trials = min(counts.values())
    length, average = map(stored.names.index, ("length", "average"))
    questions: dict[str, Summary] = {}
    total_length, empty, foreign = 0.0, 0, 0
    by_trial: list[Floats] = []
    for id_ in counts:
        rows = stored.rows(id_)
        questions[id_] = _summary(stored.names, rows, benchmark[id_].sources, compensated)
        by_trial.append(rows[:num_trials, average].copy())  # not a view, which would keep all rows
        is_empty = rows[:, length] == 0
        total_length += float(rows[:, length].sum())
        empty += int(np.count_nonzero(is_empty))
        foreign += int(np.count_nonzero((rows[:, average] < FOREIGN) & ~is_empty))

    scores = left_sum(by_trial, compensated=compensated) / len(counts)
    mean = left_mean(scores, compensated=compensated)
    variance = left_mean((scores - mean) ** 2, compensated=compensated)
    spread = {
        **rounded_aggregate("score", mean, variance, 4),
        **_lengths(stored, total_length, compensated),
    }
    whole = run_scores([summary.scores for summary in questions.values()])
    return Summaries(questions, num_trials, spread, whole, empty, foreign)


def _summary(
    names: Sequence[str], rows: Floats, sources: Sequence[str], compensated: bool
) -> Summary:
    """Aggregate the responses to one question, summed by descending `average` (stable) as published."""
    own = [*share_names(sources), *_PLAIN]
    columns = [names.index(name) for name in (*own, "length")]
    places = dict.fromkeys(round(x * (len(rows) - 1)) for x in _QUANTILES)
    moments, samples = _native.ranked_summary(
        rows, columns, names.index("average"), list(places), compensated
    )
    *means, (mean_length, variance_of_length) = moments
    mean, variance = means[-1]
    spread = {
        **rounded_aggregate("score", mean, variance, 4),
        **rounded_aggregate("length", mean_length, variance_of_length, 1),
    }
    scores = {name: mean for name, (mean, _) in zip(own, means, strict=True)}
    shown = [
        Sampled(
            int(line), int(start), {name: row[i] for name, i in zip(own, columns, strict=False)}
        )
        for row in samples
        for line, start in [row[:2]]
    ]
    return Summary(len(rows), spread, rounded_question_scores(sources, scores), shown)


def question_scores(
    sources: Sequence[str], column: Callable[[str], Floats], *, compensated: bool = False
) -> dict[str, Any]:
    """Returns a question's `scores`: means over its answers, rounded to 5 decimals.

    `column` returns the sources' shares (see `share_name`), `helpfulness` and `average` of all answers, by
    descending `average` as published.
    """
    names = (*share_names(sources), *_PLAIN)
    means = {name: left_mean(column(name), compensated=compensated) for name in names}
    return rounded_question_scores(sources, means)


def _lengths(stored: ResponseScores, total: float, compensated: bool) -> dict[str, float]:
    """Returns mean and deviation over all responses, in the file's order, without loading all at once.

    `total`: the sum of all lengths. Sums of integers are exact in any order.
    """
    mean = total / stored.height
    squares = ((lengths - mean) ** 2 for lengths in stored.column("length", in_order=True))
    variance = running_sum(squares, compensated=compensated) / stored.height
    return rounded_aggregate("length", mean, variance, 1)


# What is published about a run: aggregates by question and of the whole run, rounded.


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
