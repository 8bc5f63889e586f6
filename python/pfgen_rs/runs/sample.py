"""Converts a scored run to a sample for `pfgen_rs.stats`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs.errors import InputError
from pfgen_rs.io.run_files import is_system
from pfgen_rs.io.text import counted, plural
from pfgen_rs.metrics.settings import METRICS
from pfgen_rs.runs.result import Result
from pfgen_rs.stats.sample import Sample


def sample_of(
    result: Result, name: str | None = None, timestamps: pl.Series | None = None
) -> Sample:
    """Returns the values of a scored run as a sample, named `name` or after the run.

    `timestamps`: when each response was generated, in any sortable type without nulls, in the file's order
    (see `pfgen_rs.runs.sample.timestamps`). Raises `InputError` if their number differs from that of the
    responses.
    """
    scores = result.response_scores
    questions = tuple(scores.counts())
    columns = [scores.of_question(question, METRICS) for question in questions]
    order = None if timestamps is None else _time_order(result, questions, timestamps)
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


def _time_order(
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


# Reads the optional `timestamp` of responses, which says when they were generated, from their files.


KEY = "timestamp"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Times(NamedTuple):
    """Microseconds since 1970 of each response, in the file's order (int64), if known.

    `problem`: why they are unusable although the run has timestamps.
    """

    values: pl.Series | None
    problem: str | None = None


def timestamps(result: Result) -> Times:
    """Returns when the responses of a scored run were generated, from their field `timestamp` (ISO 8601).

    Reads the file again. Returns the times of either all responses or none.
    """
    try:
        texts = pl.concat(result.responses.column(result.response_scores, KEY))
    except InputError as error:
        return Times(None, f"its timestamps cannot be read: {error}")
    missing = texts.null_count()
    if missing == len(texts):
        return Times(None)
    if missing:
        have = plural(missing, "has", "have")
        return Times(
            None, f"{missing:,} of its {counted(len(texts), 'response')} {have} no timestamp"
        )
    return _parsed_timestamps(texts.to_list())


def _parsed_timestamps(texts: Sequence[str]) -> Times:
    times = []
    for text in texts:
        try:
            times.append(datetime.fromisoformat(text))
        except ValueError:
            return Times(None, f"its timestamp {text!r} is not valid ISO 8601")
    zoned = sum(time.tzinfo is not None for time in times)
    if 0 < zoned < len(times):
        return Times(None, "some of its timestamps have a time zone and others do not")
    if not zoned:
        times = [time.replace(tzinfo=UTC) for time in times]
    return Times(pl.Series([(time - _EPOCH) // _MICROSECOND for time in times], dtype=pl.Int64))
