"""How long to wait before retrying a request."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from random import Random

__all__ = ["Backoff", "retry_after"]


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential backoff, in seconds.

    After failure n (from 0), waits between half and all of `first * 2**n`, at most `longest`. If the server
    says how long to wait, waits that long, at most `patience`, plus a random time up to `first` so that
    clients do not all return at once.
    """

    first: float = 0.5
    longest: float = 30.0
    patience: float = 120.0

    def wait(self, failure: int, random: Random, asked: float | None = None) -> float:
        """Returns the seconds to wait after failure number `failure`; `asked`: as asked by the server."""
        if asked is not None:
            return min(asked, self.patience) + random.uniform(0, self.first)
        # Capped because 2.0**1024 would overflow.
        return random.uniform(0.5, 1) * min(self.longest, self.first * 2.0 ** min(failure, 60))


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Returns the wait in seconds asked by a server: `retry-after-ms`, else `retry-after` (seconds or date).

    Returns `None` if these headers are missing or invalid. `now`: the current time by default.
    """
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        seconds = _backoff_seconds_in(headers.get(name))
        if seconds is not None:
            return seconds * unit
    return _backoff_seconds_until(headers.get("retry-after"), now or datetime.now(UTC))


def _backoff_seconds_in(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 <= number < math.inf else None


def _backoff_seconds_until(text: str | None, now: datetime) -> float | None:
    try:
        date = parsedate_to_datetime(text or "")
        # A date with the offset -0000 is parsed without a time zone, and means UTC.
        return max(0.0, (date.replace(tzinfo=date.tzinfo or UTC) - now).total_seconds())
    except (ValueError, OverflowError):
        return None
