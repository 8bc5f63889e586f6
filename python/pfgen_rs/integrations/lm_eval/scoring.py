"""Answers scored in one batch, and scores of all of them summed up as `score_file` does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache, partial
from typing import Any, NamedTuple

from lm_eval.api.filter import Filter
from lm_eval.api.registry import register_filter

from pfgen_rs import stats
from pfgen_rs.benchmark import Benchmark, load_benchmark
from pfgen_rs.errors import InputError
from pfgen_rs.generate.answers import cleaned, default_stop
from pfgen_rs.runs.result import Result
from pfgen_rs.runs.sample import sample_of

__all__ = ["METRICS", "Answered", "DocumentScore", "PfgenFilter", "document_scores", "metric_list"]

# What the harness shows, and what we call it.
METRICS = {
    "score": "average",
    "fluency": "fluency",
    "truthfulness": "truthfulness",
    "helpfulness": "helpfulness",
}
_STDERR = "_stderr"


class Response(NamedTuple):
    """An answer, the question it answers, and the name of the benchmark that has it."""

    benchmark: str
    question_id: str
    answer: str


class Answered(str):
    """An answer after post-processing, which is what logs show, with its scores by metric."""

    response: Response
    scores: dict[str, float]


class DocumentScore(float):
    """A metric of one answer that knows the answer, for the sums of a run need all of them at once."""

    response: Response


@register_filter("pfgen")
class PfgenFilter(Filter):  # type: ignore[misc]
    """Scores all answers of a task in one batch."""

    def apply(
        self, resps: Iterable[Sequence[str | None]], docs: Sequence[Mapping[str, Any]]
    ) -> list[list[Answered]]:
        """One list with one scored answer for each document; see `scored`."""
        return [[answer] for answer in scored(list(resps), docs)]


def scored(
    resps: Sequence[Sequence[str | None]], docs: Sequence[Mapping[str, Any]]
) -> list[Answered]:
    """The answers with their scores, in order.

    What a model did not give (`None`) counts as empty. Raises `InputError` where a document has not exactly
    one answer.
    """
    answers = [_cleaned(given, doc) for given, doc in zip(resps, docs, strict=True)]
    if not answers:
        return []
    bench = _benchmark(docs[0]["benchmark"])
    frame = bench.score_batch([doc["question_id"] for doc in docs], answers)
    rows = frame.select(METRICS.values()).iter_rows(named=True)
    return list(map(_answered, docs, answers, rows))


def _cleaned(given: Sequence[str | None], doc: Mapping[str, Any]) -> str:
    if len(given) != 1:
        raise InputError(
            f"{len(given)} answers to one document: use more trials instead of repeats",
            question=doc["question"],
        )
    return cleaned(given[0] or "", doc["mode"], default_stop(doc["mode"]), think=doc["think"])


def _answered(doc: Mapping[str, Any], text: str, row: dict[str, float]) -> Answered:
    answer = Answered(text)
    answer.response = Response(doc["benchmark"], doc["question_id"], text)
    answer.scores = {name: row[metric] for name, metric in METRICS.items()}
    return answer


def document_scores(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, DocumentScore]:
    """The metrics of a document, and each once more for its standard error.

    `results`: what the filter gave for it; 0.4 leaves the list around it and 0.5 takes that off.
    """
    del doc
    answer = results[0][0] if isinstance(results[0], list) else results[0]
    made = {name: _document_score(answer, name) for name in METRICS}
    return made | {name + _STDERR: made[name] for name in METRICS}


def _document_score(answer: Answered, name: str) -> DocumentScore:
    made = DocumentScore(answer.scores[name])
    made.response = answer.response
    return made


def metric_list() -> list[dict[str, Any]]:
    """The metrics as the configuration of a task has them.

    The harness knows no errors clustered by question, but what is called `X_stderr` stands in results, and in
    the table, as the standard error of X; it follows X here and so takes its place.
    """
    return [
        *(_metric(name, _mean, name, higher_is_better=True) for name in METRICS),
        *(_metric(name + _STDERR, _error, name, higher_is_better=False) for name in METRICS),
    ]


def _metric(called: str, function: Any, name: str, *, higher_is_better: bool) -> dict[str, Any]:
    aggregation = partial(function, name)
    return {"metric": called, "aggregation": aggregation, "higher_is_better": higher_is_better}


def _mean(name: str, items: Sequence[DocumentScore]) -> float:
    """The run's score, rounded as `score_file` gives it."""
    return float(getattr(_result(_responses(items)), name))


def _error(name: str, items: Sequence[DocumentScore]) -> float | str:
    """The standard error clustered by question, or what the harness writes for none."""
    sample = sample_of(_result(_responses(items)), "run")
    # The error needs no resampling, so as little of it as there can be.
    error = stats.estimate(sample, METRICS[name], resamples=100).question_se
    return "N/A" if error is None else error


def _responses(items: Sequence[DocumentScore]) -> tuple[Response, ...]:
    return tuple(item.response for item in items)


@lru_cache(maxsize=1)
def _result(responses: tuple[Response, ...]) -> Result:
    """A task's answers as a run; all metrics ask for the same one after the other."""
    bench = _benchmark(responses[0].benchmark)
    return bench.evaluate([r.question_id for r in responses], [r.answer for r in responses])


@cache
def _benchmark(name: str) -> Benchmark:
    return load_benchmark(name)
