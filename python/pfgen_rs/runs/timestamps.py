"""Reads the optional `timestamp` of responses, which says when they were generated, from their files."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import polars as pl

from pfgen_rs.errors import InputError
from pfgen_rs.io.counted import counted, plural
from pfgen_rs.runs.result import Result

__all__ = ["Times", "timestamps"]

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
