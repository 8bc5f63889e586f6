"""Tells that a server keeps us waiting, so that a run that stands still says why."""

from __future__ import annotations

import logging
import time

__all__ = ["LOG", "Waits"]

LOG = logging.getLogger("pfgen_rs.generate")

_LONG = 5.0
"""Seconds of a wait that is worth a word."""
_EVERY = 30.0
"""Seconds between words."""


class Waits:
    """Logs long waits as warnings, not all of them: many requests wait at a time."""

    def __init__(self) -> None:
        self._next = 0.0

    def tell(self, reason: str, seconds: float, asked: float | None) -> None:
        """A wait of so many seconds begins; `asked`: what the server asks for."""
        now = time.monotonic()
        if max(seconds, asked or 0) < _LONG or now < self._next:
            return
        self._next = now + _EVERY
        wanted = "" if asked is None else f" (it asks for {asked:,.0f} s)"
        LOG.warning("waiting %.0f s: %s%s", seconds, reason, wanted)
