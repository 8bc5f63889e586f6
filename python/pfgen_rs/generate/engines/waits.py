"""Logging long waits for a server, so that a stalled run shows the reason."""

from __future__ import annotations

import logging
import time

__all__ = ["LOG", "Waits"]

LOG = logging.getLogger("pfgen_rs.generate")

_LONG = 5.0
"""Minimum wait to log, in seconds."""
_EVERY = 30.0
"""Seconds between log messages."""


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
