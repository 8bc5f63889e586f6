"""Runs work in a thread, ahead of its consumer or behind its producer."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Generic, Self, TypeVar

from pfgen_rs.io.source import Closing

T = TypeVar("T")
THREADS = "pfgen-rs"
# With polars' SIGINT handler installed, a wait without a timeout could not be interrupted.
_TICK = 0.05


class StoppedError(Exception):
    """The pipe was stopped: no more items are needed."""


class Pipe(Generic[T]):
    """A queue from one thread to another that holds at most `depth` items."""

    def __init__(self, depth: int = 1) -> None:
        self._depth = depth
        self._items: deque[T] = deque()
        self._error: BaseException | None = None
        self._ended = self._stopped = False
        self._changed = threading.Condition()

    def put(self, item: T) -> bool:
        """Add an item as soon as there is room. Returns false if the pipe was stopped."""
        with self._changed:
            has_room = self._wait_for_room()
            if has_room:
                self._items.append(item)
                self._changed.notify_all()
            return has_room

    def has_room(self) -> bool:
        """Wait until an item could be added. Returns false if the pipe was stopped."""
        with self._changed:
            return self._wait_for_room()

    def _wait_for_room(self) -> bool:
        while len(self._items) >= self._depth and not self._stopped:
            self._changed.wait(_TICK)
        return not self._stopped

    def end(self, error: BaseException | None = None) -> None:
        """Mark the end of the items; `error` is raised in place of the next one."""
        with self._changed:
            self._error, self._ended = error, True
            self._changed.notify_all()

    def stop(self) -> None:
        """Accept no more items, and drop those in the queue."""
        with self._changed:
            self._stopped = True
            self._items.clear()
            self._changed.notify_all()

    def __iter__(self) -> Self:
        """The items in order."""
        return self

    def __next__(self) -> T:
        """Wait for the next item. Raises `StoppedError` after `stop`."""
        return self.take()

    def take(self, seconds: float | None = None) -> T:
        """Wait for the next item. Raises `TimeoutError` if none arrives within `seconds`."""
        deadline = None if seconds is None else time.monotonic() + seconds
        with self._changed:
            while not (self._items or self._ended or self._stopped):
                if deadline is not None and time.monotonic() >= deadline:
                    raise TimeoutError
                self._changed.wait(_TICK)
            if self._stopped:
                raise StoppedError
            if self._items:
                self._changed.notify_all()
                return self._items.popleft()
            error, self._error = self._error, None
        if error is not None:
            raise error
        raise StopIteration


class Ahead(Closing, Generic[T]):
    """Iterates in a thread, up to `depth` items ahead of the consumer.

    One more is made meanwhile unless `room_first`, which saves the memory of one: then an item is made only
    when there is room for it. Starts immediately. Errors of the iterator are raised in place of its next
    item. Closing it (it is a context manager) stops the thread before the next item; a thread that is blocked
    in a read is abandoned.
    """

    def __init__(
        self, make: Callable[[], Iterator[T]], depth: int = 1, *, room_first: bool = False
    ) -> None:
        self._pipe = Pipe[T](depth)
        work = make, self._pipe, room_first
        self._thread = threading.Thread(target=_produce, args=work, name=THREADS, daemon=True)
        self._thread.start()

    def __iter__(self) -> Self:
        """The items in order."""
        return self

    def __next__(self) -> T:
        """Wait for the next item."""
        return next(self._pipe)

    def take(self, seconds: float) -> T:
        """Wait for the next item. Raises `TimeoutError` if none arrives within `seconds`."""
        return self._pipe.take(seconds)

    @property
    def running(self) -> bool:
        """Whether the thread has not ended yet."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Stop the thread, and wait briefly for it to end."""
        self._pipe.stop()
        self._thread.join(2 * _TICK)

    def __del__(self) -> None:
        """Stop the thread, so that it does not wait forever for a consumer that is gone."""
        self._pipe.stop()


def _produce(make: Callable[[], Iterator[T]], pipe: Pipe[T], room_first: bool) -> None:
    """Put all items into the pipe. Refers only to that, so that an unused `Ahead` can be freed."""
    error: BaseException | None = None
    try:
        iterator = make()
        try:
            for item in iterator:
                if not pipe.put(item):
                    break
                del item
                if room_first and not pipe.has_room():
                    break
        finally:
            close = getattr(iterator, "close", None)
            if close is not None:
                close()
    except BaseException as raised:
        error = raised
    pipe.end(error)


def begun(work: Callable[[], T]) -> Ahead[T]:
    """Starts work in a thread; `next` waits for what it returns."""

    def once() -> Iterator[T]:
        yield work()

    return Ahead(once)


def interruptibly(work: Callable[[], Any]) -> Any:
    """Returns what `work` returns; Ctrl-C ends the wait even if the work itself cannot be interrupted."""
    with begun(work) as ahead:
        return next(ahead)
