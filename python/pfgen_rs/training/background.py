"""A background thread for work that training does not need to wait for."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait

from pfgen_rs.errors import PfgenError
from pfgen_rs.io.ahead import THREADS

__all__ = ["Background"]

_LOG = logging.getLogger("pfgen_rs")
# With polars' SIGINT handler installed, a wait without a timeout could not be interrupted.
_TICK = 0.05


class Background:
    """Runs pieces of work in order in one thread, with at most `behind` (at least 1) of them pending.

    An error is logged immediately, and raised as a `PfgenError` by the next `check`, `wait` or `close`; the
    following pieces run regardless.
    """

    def __init__(self, behind: int) -> None:
        self._behind = behind
        self.closed = False
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=THREADS)
        self._pending: deque[Future[None]] = deque()
        self._errors: deque[BaseException] = deque()

    def submit(self, what: str, work: Callable[[], object]) -> None:
        """Submit a piece of work, called `what` in errors, blocking until there is room; never raises."""
        self._settle(self._behind - 1)
        self._pending.append(self._pool.submit(_run_in_background, what, work))

    def check(self) -> None:
        """Raise the earliest pending error, if any; one per call."""
        self._settle(len(self._pending))
        if self._errors:
            raise self._errors.popleft()

    def wait(self) -> None:
        """Wait until all work is done; raises the earliest pending error."""
        self._settle(0)
        self.check()

    def close(self) -> None:
        """Finish all work and end the thread; raises the earliest pending error. May be called twice."""
        self.closed = True
        self._settle(0)
        self._pool.shutdown(wait=False)
        self.check()

    def _settle(self, most: int) -> None:
        """Wait until at most `most` pieces are pending, and collect the errors of finished ones."""
        while self._pending and (len(self._pending) > most or self._pending[0].done()):
            wait([self._pending[0]], _TICK)
            if self._pending[0].done():
                error = self._pending.popleft().exception()
                if error is not None:
                    self._errors.append(error)


def _run_in_background(what: str, work: Callable[[], object]) -> None:
    try:
        work()
    except PfgenError as error:
        _LOG.error("%s: %s", what, error)
        raise
    except Exception as error:
        _LOG.exception("%s", what)
        raise PfgenError(f"{what}: {type(error).__name__}: {error}") from error
