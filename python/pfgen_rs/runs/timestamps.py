"""When responses were made: the `timestamp` that runs may carry, read again from their files."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import polars as pl

from pfgen_rs.errors import InputError
from pfgen_rs.runs.result import Result

__all__ = ["Times", "timestamps"]

KEY = "timestamp"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Times(NamedTuple):
    """Microseconds since 1970 of each response, in the file's order (int64), where they are known.

    `problem`: why they are not, where the run has time stamps all the same.
    """

    values: pl.Series | None
    problem: str | None = None


def timestamps(result: Result) -> Times:
    """When the responses of a scored run were made, by the texts (ISO 8601) in their field `timestamp`.

    Reads the file again. A run has the times of all its responses or none.
    """
    try:
        texts = pl.concat(result.responses.column(result.response_scores, KEY))
    except InputError as error:
        return Times(None, f"its time stamps cannot be read: {error}")
    missing = texts.null_count()
    if missing == len(texts):
        return Times(None)
    if missing:
        return Times(None, f"{missing:,} of its {len(texts):,} responses have no time stamp")
    return _parsed(texts.to_list())


def _parsed(texts: Sequence[str]) -> Times:
    times = []
    for text in texts:
        try:
            times.append(datetime.fromisoformat(text))
        except ValueError:
            return Times(None, f"its time stamp {text!r} is no time in ISO 8601")
    zoned = sum(time.tzinfo is not None for time in times)
    if 0 < zoned < len(times):
        return Times(None, "some of its time stamps have a time zone and others have none")
    if not zoned:
        times = [time.replace(tzinfo=UTC) for time in times]
    return Times(pl.Series([(time - _EPOCH) // _MICROSECOND for time in times], dtype=pl.Int64))
