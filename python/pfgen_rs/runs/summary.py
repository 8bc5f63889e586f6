"""Aggregates runs exactly as published: means over questions, with all sums in the published order."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from pfgen_rs import _native, lazy
from pfgen_rs.io.ahead import Ahead
from pfgen_rs.metrics.settings import BY_SOURCE, share_name, share_names
from pfgen_rs.metrics.sums import left_mean, left_sum, running_sum
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.runs.score_store import ResponseScores

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np = lazy.module("numpy")

Floats: TypeAlias = "NDArray[np.float64]"
_QUANTILES = (0, 0.25, 0.5, 0.75, 1)
_PLAIN = ("helpfulness", "average", "length", "line", "start")
_AT_ONCE = 1 << 24  # maximum number of values of one question to read into memory at once
_TOGETHER = 1 << 20  # the same of several questions
_AHEAD_FROM = 1 << 17  # responses of a run for which a thread is worth starting


def summarise(benchmark: QuestionSet, stored: ResponseScores) -> Summaries:
    """Aggregate a run, with plain or compensated sums as in the settings."""
    compensated = benchmark.settings.compensated
    counts = stored.counts()
    num_trials = min(counts.values())
    questions: dict[str, Summary] = {}

    lengths: list[float] = []
    empty = foreign = 0

    def averages() -> Iterator[Floats]:
        nonlocal empty, foreign
        for ids, column in _aggregate_reading(benchmark, stored, counts):
            found = _aggregate_questions(benchmark, column, ids)
            questions.update(zip(ids, found, strict=True))
            lengths.append(float(column("length").sum()))
            is_empty = column("length") == 0
            empty += int(np.count_nonzero(is_empty))
            foreign += int(np.count_nonzero((column("average") < FOREIGN) & ~is_empty))
            yield from column("average")[:, :num_trials]

    by_trial = left_sum(averages(), compensated=compensated) / len(counts)
    score = _aggregate_mean_and_std("score", by_trial, 4, compensated)
    scores = run_scores([summary.scores for summary in questions.values()])
    spread = {**score, **_aggregate_lengths(stored, sum(lengths), compensated)}
    return Summaries(questions, num_trials, spread, scores, empty, foreign)


def _aggregate_groups(benchmark: QuestionSet, counts: dict[str, int]) -> Iterator[list[str]]:
    """Yield the questions in order, those together that follow each other and have equally many answers."""
    columns = len(_PLAIN) + len(BY_SOURCE) * len(benchmark.sources)
    for count, together in groupby(counts, key=counts.__getitem__):
        ids = list(together)
        size = max(_TOGETHER // (count * columns), 1)
        yield from (ids[at : at + size] for at in range(0, len(ids), size))


def _aggregate_reading(
    benchmark: QuestionSet, stored: ResponseScores, counts: dict[str, int]
) -> Iterator[tuple[list[str], Callable[[str], Floats]]]:
    """Yield groups of questions with their columns; those of large runs are read in a thread, ahead."""

    def read() -> Iterator[tuple[list[str], Callable[[str], Floats]]]:
        for ids in _aggregate_groups(benchmark, counts):
            yield ids, _aggregate_columns(stored, ids, counts[ids[0]], benchmark.sources)

    if stored.height < _AHEAD_FROM:
        yield from read()
        return
    with Ahead(read, room_first=True) as groups:
        yield from groups


def _aggregate_questions(
    benchmark: QuestionSet, column: Callable[[str], Floats], ids: Sequence[str]
) -> list[Summary]:
    """Returns aggregates, summed by descending `average` (stable) as published.

    `column` returns a column by name, a row for each question, with its answers in the file's order.
    """
    sources = {question: benchmark[question].sources for question in ids}
    everyone = dict.fromkeys(source for own in sources.values() for source in own)
    named = [*share_names(everyone), *_PLAIN[:2]]
    ranked = _native.ranking(column("average"))
    count = ranked.shape[1]
    places = ranked[:, list(dict.fromkeys(round(x * (count - 1)) for x in _QUANTILES))]

    def means(name: str, around: list[float] | None = None) -> list[float]:
        return _native.ranked_means(column(name), ranked, benchmark.settings.compensated, around)

    def at_places(name: str) -> list[list[float]]:
        return np.take_along_axis(column(name), places, axis=1).tolist()  # type: ignore[no-any-return]

    by_name = {name: means(name) for name in [*named, "length"]}
    spreads = {name: means(name, by_name[name]) for name in ("average", "length")}
    values = {name: at_places(name) for name in named}
    lines, starts = at_places("line"), at_places("start")
    found = []
    for i, question in enumerate(ids):
        own = [*share_names(sources[question]), *_PLAIN[:2]]
        scores = rounded_question_scores(
            sources[question], {name: by_name[name][i] for name in own}
        )
        spread = {
            **rounded_aggregate("score", by_name["average"][i], spreads["average"][i], 4),
            **rounded_aggregate("length", by_name["length"][i], spreads["length"][i], 1),
        }
        samples = [
            Sampled(int(line), int(start), {name: values[name][i][j] for name in own})
            for j, (line, start) in enumerate(zip(lines[i], starts[i], strict=True))
        ]
        found.append(Summary(count, spread, scores, samples))
    return found


def question_scores(
    sources: Sequence[str], column: Callable[[str], Floats], *, compensated: bool = False
) -> dict[str, Any]:
    """Returns a question's `scores`: means over its answers, rounded to 5 decimals.

    `column` returns the sources' shares (see `share_name`), `helpfulness` and `average` of all answers, by
    descending `average` as published.
    """
    names = (*share_names(sources), *_PLAIN[:2])
    means = {name: left_mean(column(name), compensated=compensated) for name in names}
    return rounded_question_scores(sources, means)


def _aggregate_columns(
    stored: ResponseScores, ids: Sequence[str], count: int, sources: Sequence[str]
) -> Callable[[str], Floats]:
    """Returns columns by name, a row for each question: all read at once or, if too long, when needed."""
    names = [*share_names(sources), *_PLAIN]
    if len(ids) * count * len(names) > _AT_ONCE:
        return lambda name: np.stack([stored.of_question(id_, [name])[name] for id_ in ids])
    return stored.of_questions(ids, count, names).__getitem__


def _aggregate_lengths(stored: ResponseScores, total: float, compensated: bool) -> dict[str, float]:
    """Returns mean and deviation over all responses, in the file's order, without loading all at once.

    `total`: the sum of all lengths. Sums of integers are exact in any order.
    """
    mean = total / stored.height
    squares = ((lengths - mean) ** 2 for lengths in stored.column("length", in_order=True))
    return rounded_aggregate(
        "length", mean, running_sum(squares, compensated=compensated) / stored.height, 1
    )


def _aggregate_mean_and_std(
    name: str, values: Floats, digits: int, compensated: bool
) -> dict[str, float]:
    mean = left_mean(values, compensated=compensated)
    variance = left_mean((values - mean) ** 2, compensated=compensated)
    return rounded_aggregate(name, mean, variance, digits)


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
