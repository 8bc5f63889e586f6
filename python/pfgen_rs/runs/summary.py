"""Aggregates runs exactly as published: means over questions, with all sums in the published order."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pfgen_rs import _native
from pfgen_rs.metrics.settings import BY_SOURCE, share_name, share_names
from pfgen_rs.metrics.sums import left_sum
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.runs.score_store import ResponseScores

_QUANTILES = (0, 0.25, 0.5, 0.75, 1)
_PLAIN = ("helpfulness", "average")


def summarise(benchmark: QuestionSet, stored: ResponseScores) -> Summaries:
    """Aggregate a run, with plain or compensated sums as in the settings.

    The scores of one question at a time are in memory. Time O(responses · log responses of a question).
    """
    counts, names = stored.counts(), stored.names
    num_trials = min(counts.values())
    compensated = benchmark.settings.compensated
    sums = _native.RunSummary(len(names), names.index("average"), num_trials, compensated)
    questions = {
        id_: _summary(sums, stored, id_, count, benchmark[id_].sources)
        for id_, count in counts.items()
    }
    for content in stored.contents():
        sums.add_lengths(content)
    spread = {
        **rounded_aggregate("score", *sums.scores, 4),
        **rounded_aggregate("length", *sums.lengths, 1),
    }
    whole = run_scores([summary.scores for summary in questions.values()])
    return Summaries(questions, num_trials, spread, whole, *sums.worthless)


def _summary(
    sums: _native.RunSummary,
    stored: ResponseScores,
    question: str,
    count: int,
    sources: Sequence[str],
) -> Summary:
    """Aggregate the responses to one question, summed by descending `average` (stable) as published."""
    own, names = [*share_names(sources), *_PLAIN], stored.names
    columns = [names.index(name) for name in (*own, "length")]
    places = dict.fromkeys(round(x * (count - 1)) for x in _QUANTILES)
    moments, samples = sums.add(stored.pieces(question), columns, list(places))
    spread = {
        **rounded_aggregate("score", *moments[-2], 4),
        **rounded_aggregate("length", *moments[-1], 1),
    }
    scores = {name: mean for name, (mean, _) in zip(own, moments, strict=False)}
    shown = [
        Sampled(
            int(row[0]), int(row[1]), {name: row[i] for name, i in zip(own, columns, strict=False)}
        )
        for row in samples
    ]
    return Summary(count, spread, rounded_question_scores(sources, scores), shown)


def question_scores(
    sources: Sequence[str], columns: Mapping[str, Sequence[float]]
) -> dict[str, Any]:
    """Returns a question's `scores`: means over its answers, rounded to 5 decimals.

    `columns`: the sources' shares (see `share_name`), `helpfulness` and `average` of all answers, by
    descending `average` as published.
    """
    means = {name: left_sum(values) / len(values) for name, values in columns.items()}
    return rounded_question_scores(sources, means)


# What is published about a run: aggregates by question and of the whole run, rounded.


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

    `empty`: number of empty answers. `foreign`: of others that have next to nothing in common with the
    reference answers.
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
