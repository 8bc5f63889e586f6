"""Converts a scored run to a sample for `pfgen_rs.stats`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs.errors import InputError
from pfgen_rs.io.run_files import is_system
from pfgen_rs.metrics.names import METRICS
from pfgen_rs.runs.result import Result
from pfgen_rs.stats.sample import Sample

__all__ = ["cleaned_together", "sample_of"]


def sample_of(
    result: Result, name: str | None = None, timestamps: pl.Series | None = None
) -> Sample:
    """Returns the values of a scored run as a sample, named `name` or after the run.

    `timestamps`: when each response was generated, in any sortable type without nulls, in the file's order
    (see `pfgen_rs.runs.timestamps.timestamps`). Raises `InputError` if their number differs from that of the
    responses.
    """
    scores = result.response_scores
    questions = tuple(scores.counts())
    columns = [scores.of_question(question, METRICS) for question in questions]
    order = None if timestamps is None else _time_order_of_sample(result, questions, timestamps)
    return Sample(
        result.name if name is None else name,
        questions,
        {question: result.benchmark[question].category or None for question in questions},
        {metric: [column[metric] for column in columns] for metric in METRICS},
        order,
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


def _time_order_of_sample(
    result: Result, questions: Sequence[str], timestamps: pl.Series
) -> list[NDArray[np.int64]]:
    """Returns each response's position by time within its question; equal times keep the file's order."""
    if len(timestamps) != result.height:
        raise InputError(
            f"{len(timestamps)} timestamps but {result.height} responses", path=result.path
        )
    scores = result.response_scores
    ids = pl.concat([scores.frame(part).get_column("question_id") for part in scores.parts])
    ranks = pl.DataFrame({"id": ids, "time": timestamps}).select(
        "id", (pl.col("time").rank("ordinal") - 1).over("id").cast(pl.Int64).alias("rank")
    )
    found = {key[0]: part for key, part in ranks.partition_by("id", as_dict=True).items()}
    return [found[question].get_column("rank").to_numpy() for question in questions]
