"""How well a set covers the example answers of its questions."""

from __future__ import annotations

from typing import Any

import polars as pl

from pfgen_rs.benchmark import Benchmark
from pfgen_rs.metrics.names import BY_SOURCE, COLUMNS, share_name
from pfgen_rs.metrics.ngram_index import NgramIndex
from pfgen_rs.questions.question import Question
from pfgen_rs.references.check.steps import CheckProgress, coded_answers, tracked

__all__ = ["coverage"]


def coverage(benchmark: Benchmark, *, progress: CheckProgress | None = None) -> pl.DataFrame:
    """Score each question's example answer (`note`) like a response; one row per question and source.

    Columns: `question_id`, `source`, `length` of the example answer; its `fluency`, `truthfulness`,
    `helpfulness` and `average` against the whole question; the source's shares `own_fluency` and
    `own_truthfulness`; `known`, the share of the example answer's distinct n-grams (of all lengths that
    Fluency counts) found in any answer of the source, `known_N` the same for each length, and `common`, the
    share of its distinct Truthfulness windows that are common enough in the source to count fully. Values
    are null if there is no example answer or it is too short.
    """
    rows = [
        row
        for question in tracked(list(benchmark), "example answers", progress)
        for row in _coverage_of_question(benchmark, question)
    ]
    return pl.DataFrame(rows, schema=_coverage_schema(benchmark))


def _coverage_schema(benchmark: Benchmark) -> dict[str, Any]:
    settings = benchmark.settings
    known = [f"known_{n}" for n in range(settings.min_n, settings.max_n + 1)]
    numbers = [*COLUMNS, "own_fluency", "own_truthfulness", "known", *known, "common"]
    return {
        "question_id": pl.String,
        "source": pl.String,
        "length": pl.Int64,
        **dict.fromkeys(numbers, pl.Float64),
    }


def _coverage_of_question(benchmark: Benchmark, question: Question) -> list[dict[str, Any]]:
    note = benchmark.coder.one(question.note)
    rows: list[dict[str, Any]] = [
        {"question_id": question.id, "source": source, "length": len(note)}
        for source in question.sources
    ]
    if not question.note:
        return rows
    [scores] = benchmark.score_batch([question.id], [question.note]).to_dicts()
    index = NgramIndex(coded_answers(benchmark, question))
    for row in rows:
        source = row["source"]
        row.update({metric: scores[metric] for metric in COLUMNS})
        row.update({f"own_{metric}": scores[share_name(metric, source)] for metric in BY_SOURCE})
    for place, row in enumerate(rows):
        row.update(_covered_shares(benchmark, index, note, place))
    return rows


def _covered_shares(
    benchmark: Benchmark, index: NgramIndex, note: str, place: int
) -> dict[str, float | None]:
    """Returns the shares of a coded example answer's n-grams that the source at index `place` knows."""
    settings = benchmark.settings
    lengths = range(settings.min_n, settings.max_n + 1)
    frequencies = {
        n: _coverage_frequencies(index, note, n, place) for n in {*lengths, settings.truthfulness_n}
    }
    every = [frequency for n in lengths for frequency in frequencies[n]]
    size = list(index.answer_counts.values())[place]
    common = [
        frequency / size * (1.0 / settings.threshold) >= 1.0
        for frequency in frequencies[settings.truthfulness_n]
    ]
    return {
        "known": _coverage_share([frequency > 0 for frequency in every]),
        **{f"known_{n}": _coverage_share([df > 0 for df in frequencies[n]]) for n in lengths},
        "common": _coverage_share(common),
    }


def _coverage_frequencies(index: NgramIndex, text: str, n: int, place: int) -> list[int]:
    """Returns the document frequencies of a text's distinct n-grams within one source."""
    grams = list(dict.fromkeys(text[i : i + n] for i in range(len(text) - n + 1)))
    if not grams:
        return []
    frequencies: list[int] = index.document_frequency_batch(grams)[:, place].tolist()
    return frequencies


def _coverage_share(values: list[bool]) -> float | None:
    return sum(values) / len(values) if values else None
