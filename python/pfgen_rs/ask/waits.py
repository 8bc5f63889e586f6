"""Waits for a server: how long to wait before a request is retried, and telling why a run stalls."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from random import Random

from pfgen_rs.ask.protocol import LOG

_LONG = 5.0
"""Minimum wait to log, in seconds."""
_EVERY = 30.0
"""Seconds between log messages."""
_QUIET = 60.0
"""Seconds without a reply before the first message; the next ones follow after twice as long each time."""
_CHECKS = 60
"""Checks for silence during that time."""


class Waits:
    """Logs long waits as warnings, at a limited rate because many requests may be waiting."""

    def __init__(self) -> None:
        self._next = 0.0

    def report(self, reason: str, seconds: float, asked: float | None) -> None:
        """Report a wait of `seconds` that begins now; `asked`: seconds the server asked for."""
        now = time.monotonic()
        if max(seconds, asked or 0) < _LONG or now < self._next:
            return
        self._next = now + _EVERY
        requested = "" if asked is None else f" (server asked for {asked:,.0f} s)"
        LOG.warning("waiting %.0f s: %s%s", seconds, reason, requested)


class Silence:
    """Logs a warning while requests wait and no reply arrives, and at the first request that times out.

    `timeout`: seconds for one request.
    """

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._requests = 0
        self._since = time.monotonic()
        self._unanswered = self._timed_out = False
        self._patience = _QUIET

    def begin(self) -> None:
        """Count a request that begins to wait."""
        # After a pause without requests, such as one that the server asked for, the time starts again.
        if not self._requests and not self._unanswered:
            self._since = time.monotonic()
        self._requests += 1

    def end(self, *, replied: bool) -> None:
        """Count a request that no longer waits; `replied`: whether it got any reply."""
        self._requests -= 1
        self._unanswered = not replied
        if replied:
            self._since, self._patience = time.monotonic(), _QUIET

    def timed_out(self, reason: str, retries: int) -> None:
        """Report a request that timed out, if it is the first."""
        if not self._timed_out:
            self._timed_out = True
            then = f"sent again up to {retries} times" if retries else "not sent again"
            LOG.warning("a request timed out: %s; it is %s (--timeout, --retries)", reason, then)

    async def watch(self) -> None:
        """Check for silence until cancelled."""
        while True:
            await asyncio.sleep(_QUIET / _CHECKS)
            self._check()

    def _check(self) -> None:
        silent = time.monotonic() - self._since
        if not self._requests or silent < self._patience:
            return
        self._patience = 2 * silent
        LOG.warning(
            "no reply for %.0f s: %s waiting, each for at most %g s (--timeout)",
            silent,
            "1 request is" if self._requests == 1 else f"{self._requests} requests are",
            self._timeout,
        )


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
        seconds = _seconds(headers.get(name))
        if seconds is not None:
            return seconds * unit
    return _seconds_until(headers.get("retry-after"), now or datetime.now(UTC))


def _seconds(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 <= number < math.inf else None


def _seconds_until(text: str | None, now: datetime) -> float | None:
    try:
        date = parsedate_to_datetime(text or "")
        # A date with the offset -0000 is parsed without a time zone, and means UTC.
        return max(0.0, (date.replace(tzinfo=date.tzinfo or UTC) - now).total_seconds())
    except (ValueError, OverflowError):
        return None
