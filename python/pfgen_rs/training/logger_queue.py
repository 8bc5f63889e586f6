"""Calls loggers in threads of their own, so that a slow or blocked one delays nothing else."""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
import warnings
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple
from weakref import WeakSet

import polars as pl

from pfgen_rs.io.ahead import THREADS
from pfgen_rs.training.loggers import Finished, Logger

__all__ = ["Entry", "LoggerQueues"]

_LOG = logging.getLogger("pfgen_rs")
_DEPTH = 64  # steps that wait for one logger, with the one it is called for
_PATIENCE = 30.0  # seconds that `close` waits for all loggers together
# With polars' SIGINT handler installed, a wait without a timeout could not be interrupted.
_TICK = 0.05


class Entry(NamedTuple):
    """What is logged of a step: its metrics and, if any logger wants them, its answers.

    `answers` is a table as returned by `answer_table`, `name` its name for loggers.
    """

    step: int
    metrics: dict[str, float]
    name: str
    answers: pl.DataFrame | None = None


class LoggerQueues:
    """Calls each logger in a thread of its own, step by step. Neither waits for loggers nor raises.

    If a logger lags behind by more than 64 steps, further steps are dropped for it, with a warning in the log
    `pfgen_rs` at the first one, and another one with their number when the queues are closed.
    """

    def __init__(self, loggers: Sequence[Logger]) -> None:
        # `Finished` never blocks, and trainers expect its metrics as soon as a step is scored.
        self._prompt = [logger for logger in loggers if isinstance(logger, Finished)]
        self._queues = [_LoggerQueue(one) for one in loggers if not isinstance(one, Finished)]

    @property
    def want_answers(self) -> bool:
        """Whether any logger wants the answers."""
        return any(queue.answers for queue in self._queues)

    def put(self, entry: Entry) -> None:
        """Have a step logged."""
        for logger in self._prompt:
            logger(dict(entry.metrics), entry.step)
        for queue in self._queues:
            queue.put(entry)

    def close(self) -> None:
        """Wait for the loggers, at most 30 seconds, and report what was dropped. May be called again."""
        deadline = time.monotonic() + _PATIENCE
        for queue in self._queues:
            queue.close(deadline)


class _LoggerQueue:
    """Calls one logger. Its thread runs only while steps are waiting."""

    def __init__(self, logger: Logger) -> None:
        self._logger = logger
        self._name = getattr(logger, "__name__", type(logger).__name__)
        self.answers = int(getattr(logger, "answers", 0))
        self._waiting: deque[Entry] = deque()
        self._running = self._abandoned = False
        self._dropped = 0
        self._changed = threading.Condition()
        _UNFINISHED.add(self)

    def put(self, entry: Entry) -> None:
        if self.answers and entry.answers is not None:
            entry = entry._replace(answers=entry.answers.head(self.answers))
        else:
            entry = entry._replace(answers=None)
        with self._changed:
            if (self._abandoned and self._running) or len(self._waiting) >= _DEPTH:
                self._drop(entry.step)
                return
            self._waiting.append(entry)
            if not self._running:
                self._start()

    def close(self, deadline: float) -> None:
        with self._changed:
            while self._running and not self._abandoned and time.monotonic() < deadline:
                self._changed.wait(_TICK)
            self._abandoned = self._running
            self._dropped += len(self._waiting)
            self._waiting.clear()
            dropped, self._dropped = self._dropped, 0
        if dropped:
            steps = "1 step" if dropped == 1 else f"{dropped} steps"
            _LOG.warning("the logger %s was too slow: %s not logged", self._name, steps)

    def _drop(self, step: int) -> None:
        self._dropped += 1
        if self._dropped == 1:
            _LOG.warning(
                "the logger %s lags behind by %d steps: dropping step %d and others until it has room",
                self._name,
                len(self._waiting),
                step,
            )

    def _start(self) -> None:
        thread = threading.Thread(target=self._run, name=THREADS, daemon=True)
        self._running, self._abandoned = True, False
        try:
            thread.start()
        except RuntimeError:  # no more threads
            self._running = False
            self._drop(self._waiting.pop().step)

    def _run(self) -> None:
        entry: Entry | None = None
        while (entry := self._next(entry)) is not None:
            try:
                self._logger(dict(entry.metrics), entry.step)
                if entry.answers is not None:
                    self._logger.log_answers(entry.name, entry.answers, entry.step)  # type: ignore[attr-defined]
            except BaseException as error:
                _warn_of_logger(
                    f"the logger {self._name} failed at step {entry.step}: {type(error).__name__}: {error}"
                )

    def _next(self, done: Entry | None) -> Entry | None:
        """Returns the next entry, which keeps its place until it is done; without any, the thread ends."""
        with self._changed:
            if self._waiting and self._waiting[0] is done:
                self._waiting.popleft()
            if self._waiting:
                return self._waiting[0]
            self._running = False
            self._changed.notify_all()
            return None


def _warn_of_logger(text: str) -> None:
    try:
        warnings.warn(text, RuntimeWarning, stacklevel=2)
    except RuntimeWarning:  # nobody could catch it in this thread
        _LOG.warning("%s", text)


_UNFINISHED: WeakSet[_LoggerQueue] = WeakSet()


@atexit.register
def _finish_logger_queues() -> None:
    """Log what is waiting when the process ends, unless a logger is blocked."""
    deadline = time.monotonic() + _PATIENCE
    for queue in list(_UNFINISHED):
        queue.close(deadline)


if hasattr(os, "register_at_fork"):  # the threads are not copied
    os.register_at_fork(after_in_child=_UNFINISHED.clear)
