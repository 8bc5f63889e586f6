"""Work that runs ahead of its consumer, or behind its producer, in a thread."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Generic, Self, TypeVar

from pfgen_rs.io.closing import Closing

__all__ = ["THREADS", "Ahead", "Pipe", "StoppedError", "interruptibly"]

T = TypeVar("T")
THREADS = "pfgen-rs"
# With polars' handler of SIGINT installed, a wait without an end could not be interrupted.
_TICK = 0.05


class StoppedError(Exception):
    """Nobody wants the rest."""


class Pipe(Generic[T]):
    """Items on their way from one thread to another, at most `depth` of them at a time."""

    def __init__(self, depth: int = 1) -> None:
        self._depth = depth
        self._items: deque[T] = deque()
        self._error: BaseException | None = None
        self._ended = self._stopped = False
        self._changed = threading.Condition()

    def put(self, item: T) -> bool:
        """Hand over an item as soon as there is room; whether anybody wants it."""
        with self._changed:
            while len(self._items) >= self._depth and not self._stopped:
                self._changed.wait(_TICK)
            if not self._stopped:
                self._items.append(item)
                self._changed.notify_all()
            return not self._stopped

    def end(self, error: BaseException | None = None) -> None:
        """No item follows; an error is raised where the next one would have been."""
        with self._changed:
            self._error, self._ended = error, True
            self._changed.notify_all()

    def stop(self) -> None:
        """Take no more items, and drop those on their way."""
        with self._changed:
            self._stopped = True
            self._items.clear()
            self._changed.notify_all()

    def __iter__(self) -> Self:
        """The items in order."""
        return self

    def __next__(self) -> T:
        """The next item, as soon as it is there; `StoppedError` after `stop`."""
        return self.take()

    def take(self, seconds: float | None = None) -> T:
        """The next item; `TimeoutError` where none comes for so long."""
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
    """The items of an iterator, made in a thread, at most `depth` of them before they are asked for.

    Begins at once. Errors of the iterator are raised where its next item would have been. Closing it (it is a
    context manager) stops the thread before the next item; a thread that hangs in a read is left to itself.
    """

    def __init__(self, make: Callable[[], Iterator[T]], depth: int = 1) -> None:
        self._pipe = Pipe[T](depth)
        target = _Producer(make, self._pipe)
        self._thread = threading.Thread(target=target, name=THREADS, daemon=True)
        self._thread.start()

    def __iter__(self) -> Self:
        """The items in order."""
        return self

    def __next__(self) -> T:
        """The next item, as soon as it is there."""
        return next(self._pipe)

    def close(self) -> None:
        """Stop the thread; waits a moment for it."""
        self._pipe.stop()
        self._thread.join(2 * _TICK)

    def __del__(self) -> None:
        """Let no forgotten thread wait for ever."""
        self._pipe.stop()


class _Producer(Generic[T]):
    """What the thread runs; knows the pipe alone, so that an `Ahead` that is forgotten can go."""

    def __init__(self, make: Callable[[], Iterator[T]], pipe: Pipe[T]) -> None:
        self._make, self._pipe = make, pipe

    def __call__(self) -> None:
        """Pass all items on."""
        error: BaseException | None = None
        try:
            iterator = self._make()
            try:
                for item in iterator:
                    if not self._pipe.put(item):
                        break
                    del item
            finally:
                close = getattr(iterator, "close", None)
                if close is not None:
                    close()
        except BaseException as raised:
            error = raised
        self._pipe.end(error)


def interruptibly(work: Callable[[], Any]) -> Any:
    """What `work` gives; Ctrl-C ends the waiting even where the work itself cannot be interrupted."""

    def once() -> Iterator[Any]:
        yield work()

    with Ahead(once) as ahead:
        return next(ahead)
