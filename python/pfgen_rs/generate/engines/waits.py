"""Logging waits for a server, so that a stalled run shows the reason."""

from __future__ import annotations

import asyncio
import logging
import time

__all__ = ["LOG", "Silence", "Waits"]

LOG = logging.getLogger("pfgen_rs.generate")

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
