"""Converts a scored run to a sample for `pfgen_rs.stats`."""

from __future__ import annotations

from collections.abc import Sequence

from pfgen_rs.errors import InputError
from pfgen_rs.io.run_files import is_system
from pfgen_rs.metrics.settings import METRICS
from pfgen_rs.runs.result import Result
from pfgen_rs.stats.estimates import Sample


def sample_of(result: Result, name: str | None = None) -> Sample:
    """Returns the values of a scored run as a sample, named `name` or after the run."""
    scores = result.response_scores
    questions = tuple(scores.counts())
    columns = [scores.of_question(question, METRICS) for question in questions]
    return Sample(
        result.name if name is None else name,
        questions,
        {question: result.benchmark[question].category or None for question in questions},
        {metric: [column[metric] for column in columns] for metric in METRICS},
        result.benchmark.signature,
        is_system(result.config or {}),
        len(result.benchmark),
    )


def cleaned_together(results: Sequence[Result]) -> str | None:
    """Returns the modes for which the answers of runs were cleaned that are compared, for their signature.

    Raises `InputError` if only some were cleaned.
    """
    modes = {result.clean for result in results}
    if None in modes and len(modes) > 1:
        raise InputError(
            "the answers of some runs were cleaned, and those of others were not: score all of them alike"
        )
    return "+".join(sorted(filter(None, modes))) or None
