"""Coroutines in a thread of their own, with their results as a plain iterator."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from typing import Generic, TypeVar

from pfgen_rs.ask import protocol
from pfgen_rs.ask.window import Window
from pfgen_rs.io.ahead import THREADS, Pipe

T = TypeVar("T")
R = TypeVar("R")
Opened = AbstractAsyncContextManager[Callable[[T], Awaitable[R]]]
"""A context that holds resources (connections) and returns the coroutine function that uses them."""

_GRACE = 5.0
"""Seconds to wait for connections to close."""


class Gathered(Iterator[R]):
    """The result for each item in order of completion, processing at most `window.most` at a time.

    `ready`: how many more results there are without waiting. Items are taken in the caller's thread, at most
    `2 * window.largest` ahead of the results that were consumed, and started in order; `None` means that no
    item is available until another result has been consumed. An error is raised after the results before it
    and cancels all other work, as does closing the iterator. Also works if the caller's thread runs an event
    loop.
    """

    def __init__(
        self, items: Iterable[T | None], opened: Callable[[], Opened[T, R]], window: Window
    ) -> None:
        self.ready = 0
        self._results = self._gathered(iter(items), opened, window)

    def __next__(self) -> R:
        return next(self._results)

    def close(self) -> None:
        """Cancel all work."""
        self._results.close()

    def _gathered(
        self, source: Iterator[T | None], opened: Callable[[], Opened[T, R]], window: Window
    ) -> Generator[R]:
        begun, work = 0, _ConcurrentWork(opened, window.most)
        work.start()
        try:
            while True:
                ahead = 2 * window.largest
                # Waking the other thread costs more than counting.
                if (ahead - begun) * 8 >= ahead:
                    more = protocol.available(source, ahead - begun)
                    begun += len(more)
                    work.add(more)
                if not begun:
                    return
                results = next(work.results)
                begun -= len(results)
                self.ready = len(results)
                for result in results:
                    self.ready -= 1
                    yield result
        finally:
            work.stop()


class _ConcurrentWork(Generic[T, R]):
    """One call of `gathered`: an event loop, its thread, and the pipe out of it."""

    def __init__(self, opened: Callable[[], Opened[T, R]], concurrency: int) -> None:
        self._opened = opened
        self._concurrency = concurrency
        self._items = asyncio.Queue[T]()
        # As many results may be ready as items were added, so putting them never blocks.
        self.results = Pipe[list[R]](2 * concurrency)
        self._ready: list[R] = []
        self._loop = asyncio.new_event_loop()
        self._main = self._loop.create_task(self._all())
        self._thread = threading.Thread(target=self._run, name=THREADS, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def add(self, items: Sequence[T]) -> None:
        """Queue items to be processed."""
        if items:
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._put, items)

    def stop(self) -> None:
        """Cancel work in progress, and wait briefly for it to end."""
        self.results.stop()
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._main.cancel)
        self._thread.join(_GRACE)

    def _put(self, items: Sequence[T]) -> None:
        for item in items:
            self._items.put_nowait(item)

    def _run(self) -> None:
        error: BaseException | None = None
        try:
            self._loop.run_until_complete(self._main)
        except BaseException as raised:
            error = raised
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()
        self._pass_on()
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
        while True:
            result = await work(await self._items.get())
            if not self._ready:
                # What is ready in the same turn of the loop wakes the consumer once.
                self._loop.call_soon(self._pass_on)
            self._ready.append(result)

    def _pass_on(self) -> None:
        if self._ready:
            ready, self._ready = self._ready, []
            self.results.put(ready)
