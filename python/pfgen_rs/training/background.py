"""One thread for what training need not wait for."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait

from pfgen_rs.errors import PfgenError
from pfgen_rs.io.ahead import THREADS

__all__ = ["Background"]

_LOG = logging.getLogger("pfgen_rs")
# With polars' handler of SIGINT installed, a wait without an end could not be interrupted.
_TICK = 0.05


class Background:
    """Work that is done in order by one thread, at most `behind` (from 1) pieces of it waiting.

    What a piece raises is logged at once, and raised as some `PfgenError` by the next `check`, `wait` or
    `close`; the pieces after it are done all the same.
    """

    def __init__(self, behind: int) -> None:
        self._behind = behind
        self.closed = False
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=THREADS)
        self._pending: deque[Future[None]] = deque()
        self._errors: deque[BaseException] = deque()

    def submit(self, what: str, work: Callable[[], object]) -> None:
        """Hand over a piece of work, called `what` in errors, as soon as there is room; raises nothing."""
        self._settle(self._behind - 1)
        self._pending.append(self._pool.submit(_told, what, work))

    def check(self) -> None:
        """Raise what went wrong so far, one error a call."""
        self._settle(len(self._pending))
        if self._errors:
            raise self._errors.popleft()

    def wait(self) -> None:
        """Wait until all is done; raises what went wrong."""
        self._settle(0)
        self.check()

    def close(self) -> None:
        """Do what is left and end the thread; raises what went wrong. May be called twice."""
        self.closed = True
        self._settle(0)
        self._pool.shutdown(wait=False)
        self.check()

    def _settle(self, most: int) -> None:
        """Wait until at most so many pieces are left, and keep the errors of those that are done."""
        while self._pending and (len(self._pending) > most or self._pending[0].done()):
            wait([self._pending[0]], _TICK)
            if self._pending[0].done():
                error = self._pending.popleft().exception()
                if error is not None:
                    self._errors.append(error)


def _told(what: str, work: Callable[[], object]) -> None:
    try:
        work()
    except PfgenError as error:
        _LOG.error("%s: %s", what, error)
        raise
    except Exception as error:
        _LOG.exception("%s", what)
        raise PfgenError(f"{what}: {type(error).__name__}: {error}") from error
