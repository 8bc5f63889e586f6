"""Coroutines in a thread of their own, fed from a lazy iterator: order, limits, errors and threads."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from pfgen_rs.ask.engines.openai import gathered

Work = Callable[[int], Awaitable[int]]


def opening(work: Work) -> Callable[[], AbstractAsyncContextManager[Work]]:
    @asynccontextmanager
    async def opened() -> AsyncIterator[Work]:
        yield work

    return opened


async def same(item: int) -> int:
    await asyncio.sleep(0)
    return item


class Source:
    """Items that are made when they are taken; `most` is how far they were ever ahead of `done`."""

    def __init__(self, count: int) -> None:
        self.taken = self.done = self.most = 0
        self.threads: set[int] = set()
        self._count = count

    def __iter__(self) -> Iterator[int | None]:
        while self.taken < self._count:
            self.threads.add(threading.get_ident())
            self.taken += 1
            self.most = max(self.most, self.taken - self.done)
            yield self.taken


@pytest.mark.parametrize("concurrency", [1, 2, 5, 64])
def test_every_item_is_done_once_and_taken_by_the_consumer(concurrency: int) -> None:
    source, results = Source(500), []
    for result in gathered(source, opening(same), concurrency):
        source.done += 1
        results.append(result)
    assert sorted(results) == list(range(1, 501))
    assert concurrency <= source.most <= 2 * concurrency
    assert source.threads == {threading.get_ident()}


def test_one_that_takes_long_holds_nobody_up() -> None:
    over = threading.Event()

    async def work(item: int) -> int:
        while item == 1 and not over.is_set():
            await asyncio.sleep(0.005)
        return item

    results = gathered(iter(range(1, 301)), opening(work), 4)
    assert {next(results) for _ in range(299)} == set(range(2, 301))
    over.set()
    assert list(results) == [1]


def test_items_that_come_up_with_results_are_done_too() -> None:
    """Each result brings the next item; until then there is none."""
    ready, taken = [1], 0

    def source() -> Iterator[int | None]:
        nonlocal taken
        while taken < 50:
            if ready:
                taken += 1
                yield ready.pop()
            else:
                yield None

    results = []
    for result in gathered(source(), opening(same), 8):
        results.append(result)
        ready.append(result + 1)
    assert results == list(range(1, 51))


def test_waiting_takes_no_time_of_the_processor() -> None:
    async def work(item: int) -> int:
        await asyncio.sleep(1.0)
        return item

    def source() -> Iterator[int | None]:
        yield 1
        while True:
            yield None

    results = gathered(source(), opening(work), 64)
    begun = time.process_time()
    assert next(results) == 1
    assert time.process_time() - begun < 0.5
    results.close()  # type: ignore[attr-defined]


def test_an_error_comes_after_the_results_before_it_and_cancels_the_rest() -> None:
    cancelled = threading.Semaphore(0)

    async def work(item: int) -> int:
        if item == 3:
            await asyncio.sleep(0.1)
            raise ValueError("three")
        if item > 3:
            try:
                await asyncio.sleep(60)
            finally:
                cancelled.release()
        return item

    results = gathered(range(1, 100), opening(work), 4)
    assert [next(results), next(results)] == [1, 2]
    with pytest.raises(ValueError, match="three"):
        list(results)
    for _ in range(3):
        assert cancelled.acquire(timeout=10)
    assert not cancelled.acquire(blocking=False)


def test_an_error_of_the_source_or_of_opening_is_raised() -> None:
    def source() -> Iterator[int | None]:
        yield 1
        yield None
        raise OSError("no more files")

    results = gathered(source(), opening(same), 4)
    assert next(results) == 1
    with pytest.raises(OSError, match="no more files"):
        next(results)

    @asynccontextmanager
    async def broken() -> AsyncIterator[Work]:
        raise ValueError("no client")
        yield same

    with pytest.raises(ValueError, match="no client"):
        list(gathered([1], broken, 2))


def test_what_was_opened_is_closed_at_the_end() -> None:
    closed = []

    @asynccontextmanager
    async def opened() -> AsyncIterator[Work]:
        try:
            yield same
        finally:
            closed.append(True)

    assert list(gathered([1, 2], opened, 2)) == [1, 2]
    assert closed == [True]
    assert list(gathered([], opened, 2)) == []
    results = gathered(range(100), opened, 2)
    next(results)
    results.close()  # type: ignore[attr-defined]
    assert closed[1:] in ([True], [True, True])
    assert len([t for t in threading.enumerate() if t.name == "pfgen-rs"]) == 0
