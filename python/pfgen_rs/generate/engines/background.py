"""Coroutines in a thread of their own, and what they give as a plain iterator."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, suppress
from typing import Generic, TypeVar

from pfgen_rs.io.ahead import THREADS, Pipe

__all__ = ["Opened", "gathered"]

T = TypeVar("T")
R = TypeVar("R")
Opened = AbstractAsyncContextManager[Callable[[T], Awaitable[R]]]
"""Holds what the work needs (connections); gives the work itself."""

_GRACE = 5.0
"""Seconds that closing waits for connections to be given up."""


def gathered(
    items: Iterable[T], opened: Callable[[], Opened[T, R]], concurrency: int
) -> Iterator[R]:
    """What the work gives for each item, in the order of finishing; at most `concurrency` at a time.

    Items are begun in order. A reader that lags is waited for once `concurrency` results lie ready. An error
    of the work is raised after the results before it and cancels all other work, as closing the iterator
    does. Works where the caller's thread runs an event loop, too.
    """
    work = _Work(items, opened, concurrency)
    work.start()
    taken = 0
    try:
        for result in work.results:
            yield result
            taken += 1
            # Waking the other thread costs more than counting.
            if taken * 4 >= concurrency:
                work.make_room(taken)
                taken = 0
    finally:
        work.stop()


class _Work(Generic[T, R]):
    """One call of `gathered`: an event loop, its thread, and the pipe out of it."""

    def __init__(
        self, items: Iterable[T], opened: Callable[[], Opened[T, R]], concurrency: int
    ) -> None:
        self._items = iter(items)
        self._opened = opened
        self._concurrency = concurrency
        # As many that lie ready as are under way, so that putting one never waits.
        self._room = asyncio.Semaphore(2 * concurrency)
        self.results = Pipe[R](2 * concurrency)
        self._loop = asyncio.new_event_loop()
        self._main = self._loop.create_task(self._all())
        self._thread = threading.Thread(target=self._run, name=THREADS, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def make_room(self, count: int) -> None:
        """So many results were taken."""
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._release, count)

    def stop(self) -> None:
        """Cancel what is under way; waits a moment for it."""
        self.results.stop()
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._main.cancel)
        self._thread.join(_GRACE)

    def _release(self, count: int) -> None:
        for _ in range(count):
            self._room.release()

    def _run(self) -> None:
        error: BaseException | None = None
        try:
            self._loop.run_until_complete(self._main)
        except BaseException as raised:
            error = raised
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()
        self.results.end(error)

    async def _all(self) -> None:
        async with self._opened() as work:
            workers = [asyncio.create_task(self._worker(work)) for _ in range(self._concurrency)]
            try:
                await asyncio.gather(*workers)
            finally:
                for worker in workers:
                    worker.cancel()
                await asyncio.gather(*workers, return_exceptions=True)

    async def _worker(self, work: Callable[[T], Awaitable[R]]) -> None:
        for item in self._items:
            await self._room.acquire()
            self.results.put(await work(item))
