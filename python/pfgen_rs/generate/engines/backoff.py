"""How long to wait before a server is asked again."""

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
    """Waits that double, in seconds.

    After failure n (from 0): between a half and the whole of `first * 2**n`, at most `longest`. Where the
    server says when to come back: as long as it says, at most `patience`, and up to `first` more, so that
    not everybody comes back at once.
    """

    first: float = 0.5
    longest: float = 30.0
    patience: float = 120.0

    def wait(self, failure: int, random: Random, asked: float | None = None) -> float:
        """Seconds to wait after failure number `failure`; `asked`: what the server asked for."""
        if asked is not None:
            return min(asked, self.patience) + random.uniform(0, self.first)
        # 2.0**1024 would overflow, and nobody waits that long.
        return random.uniform(0.5, 1) * min(self.longest, self.first * 2.0 ** min(failure, 60))


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds that a server asks to wait: `retry-after-ms`, else `retry-after` as seconds or a date.

    None where it says nothing, or nothing that can be understood. `now` is the present unless given.
    """
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        seconds = _number(headers.get(name))
        if seconds is not None:
            return seconds * unit
    return _until(headers.get("retry-after"), now or datetime.now(UTC))


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 <= number < math.inf else None


def _until(text: str | None, now: datetime) -> float | None:
    try:
        date = parsedate_to_datetime(text or "")
        # A date that says -0000 comes without a zone, and means UTC.
        return max(0.0, (date.replace(tzinfo=date.tzinfo or UTC) - now).total_seconds())
    except (ValueError, OverflowError):
        return None
