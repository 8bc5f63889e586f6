"""Asks programs about several checkpoints at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

from pfgen_rs.ask.protocol import Engine, Parameters, Task
from pfgen_rs.errors import GenerationError
from pfgen_rs.io.ahead import THREADS
from pfgen_rs.io.source import Closing
from pfgen_rs.training.engine_answers import EngineAnswers, FromEngine


class Timed(NamedTuple):
    """What an engine answered, and how many seconds it took."""

    answers: FromEngine
    seconds: float


class WatchWorkers(Closing):
    """Asks at most `count` engines at once, each in a thread of its own.

    `engine` makes the engine for a checkpoint, given its path and the number of the worker, from 0. Closing
    it stops the engines.
    """

    def __init__(
        self,
        count: int,
        engine: Callable[[Path, int], Engine],
        tasks: Sequence[Task],
        parameters: Parameters,
        budget: float | None,
    ) -> None:
        self._engine, self._tasks = engine, tasks
        self._parameters, self._budget = parameters, budget
        self._free: SimpleQueue[int] = SimpleQueue()
        for number in range(count):
            self._free.put(number)
        self._pool = ThreadPoolExecutor(count, thread_name_prefix=THREADS)
        self._asking: set[EngineAnswers] = set()
        self._closed = threading.Event()

    def submit(self, checkpoint: Path) -> Future[Timed]:
        """Ask about a checkpoint as soon as a worker is free; the future may have any error of the engine."""
        return self._pool.submit(self._ask, checkpoint)

    def close(self) -> None:
        """Stop all engines, and wait until they have stopped."""
        self._closed.set()
        for asking in list(self._asking):
            asking.cancel()
        self._pool.shutdown(cancel_futures=True)

    def _ask(self, checkpoint: Path) -> Timed:
        number = self._free.get()
        begun = time.perf_counter()
        try:
            with closing(self._engine(checkpoint, number)) as engine:
                asking = EngineAnswers(engine, self._parameters, self._budget)
                self._asking.add(asking)
                if self._closed.is_set():
                    raise GenerationError("cancelled")
                try:
                    answers = asking(self._tasks)
                finally:
                    self._asking.discard(asking)
        finally:
            self._free.put(number)
        if answers.failed:
            raise GenerationError(answers.problem)
        return Timed(answers, time.perf_counter() - begun)
