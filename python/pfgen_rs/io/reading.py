"""Reads several files of responses concurrently, in chunks, ahead of their use."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, cast

from pfgen_rs import lazy
from pfgen_rs.errors import InputError, SettingsError, unreadable
from pfgen_rs.io.chunk import Chunk, Kept, Options
from pfgen_rs.io.cleaning import Census, Mode, clean_column, cleaning_mode, stated_mode
from pfgen_rs.io.csv import csv_chunks
from pfgen_rs.io.lines import line_chunks
from pfgen_rs.io.source import DELIMITED, Closing, Source
from pfgen_rs.io.tables import is_table, table_chunks

if TYPE_CHECKING:
    import polars as pl
else:
    pl = lazy.module("polars")


_AT_ONCE = 4  # maximum number of files decoded concurrently, given as many cores
_USED = 1  # files that are still used when the next one is asked for


class Reading:
    """One file being read.

    From the first chunk on, `config` is its `config.json`, and `clean` the mode for which its answers are
    cleaned. After the last chunk, `input_hash` is the SHA-1 of its bytes on disk.
    """

    def __init__(self, source: Source, options: Options) -> None:
        self.source, self.options = source, options
        self.config: dict[str, Any] | None = None
        self.clean: Mode | None = None
        self._census = Census()
        self.input_hash = ""
        self._ahead: Ahead[Chunk] | None = None

    def start(self) -> None:
        """Start reading in a thread."""
        self._ahead = Ahead(self.chunks, room_first=True)

    def __iter__(self) -> Iterator[Chunk]:
        """Yield the chunks in order, from the thread if it was started."""
        return self.chunks() if self._ahead is None else self._ahead

    def close(self) -> None:
        """Stop reading."""
        if self._ahead is not None:
            self._ahead.close()

    def chunks(self) -> Iterator[Chunk]:
        """Read in this thread."""
        if self.options.clean and self.options.tokens:
            raise SettingsError("cannot clean token ids: only text answers can be cleaned")
        for chunk in self._read():
            yield self._prepared(chunk)
            del chunk  # before the next one is read

    def _prepared(self, chunk: Chunk) -> Chunk:
        named = chunk if self.options.run is None else self._named(chunk, self.options.run)
        return named if self.options.tokens else self._cleaned(named)

    def _named(self, chunk: Chunk, run: Kept) -> Chunk:
        """Returns the responses that name their run."""
        names = cast("pl.DataFrame", chunk.kept).get_column(run.name).to_frame("name")
        named = names.select((pl.col("name") != "").fill_null(value=False)).to_series().to_numpy()
        for line in chunk.lines[~named].tolist():
            problem = f"missing value of {run.key!r}, which names the run"
            error = InputError(problem, path=self.source.path, line=line, item=chunk.item)
            if not self.options.skip_bad_lines:
                raise error
            chunk.problems.append(error)
        return chunk if named.all() else chunk.where(named)

    def _cleaned(self, chunk: Chunk) -> Chunk:
        if self.options.check:
            mode = self.clean or stated_mode(self.config)
            chunk = replace(chunk, unclean=self._census.count(chunk.texts, mode))
        if self.clean is None:
            return chunk
        answers, identity = clean_column(chunk.answers, self.clean), chunk.identity
        return replace(chunk, answered=answers, identity=lambda: f"{identity()}:{self.clean}")

    def _read(self) -> Iterator[Chunk]:
        source = self.source
        try:
            self.config = source.config()
            self.clean = cleaning_mode(self.options.clean, self.config)
            if is_table(source):
                try:
                    yield from table_chunks(source, self.options)
                    with source.open() as raw:
                        self.input_hash = raw.drain()
                finally:
                    source.release()
                return
            with source.open() as raw:
                chunks = csv_chunks if source.suffix in DELIMITED else line_chunks
                yield from chunks(source, raw, self.options)
                self.input_hash = raw.drain()
        except InputError as error:
            if error.path is not None:
                raise
            raise type(error)(
                error.problem,
                path=source.path,
                line=error.line,
                question=error.question,
                item=error.item,
            ) from None
        except OSError as error:
            raise InputError(unreadable(error), path=source.path) from error


@contextmanager
def read_ahead(sources: Sequence[Source], options: Options) -> Iterator[Iterator[Reading]]:
    """Yield a reading for each source, in order; the next ones are read while one is used.

    So may be the one after it, if it was asked for. Those before are closed.
    """
    started: deque[Reading] = deque()
    used: deque[Reading] = deque()
    waiting = deque(sources)
    at_once = max(1, min(_AT_ONCE, os.cpu_count() or 1))

    def readings() -> Iterator[Reading]:
        while waiting or started:
            while waiting and len(started) < at_once:
                started.append(Reading(waiting.popleft(), options))
                started[-1].start()
            used.append(started.popleft())
            yield used[-1]
            if len(used) > _USED:
                used.popleft().close()

    try:
        yield readings()
    finally:
        for reading in (*used, *started):
            reading.close()


# Runs work in a thread, ahead of its consumer or behind its producer.


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
            while len(self._items) >= self._depth and not self._stopped:
                self._changed.wait(_TICK)
            if not self._stopped:
                self._items.append(item)
                self._changed.notify_all()
            return not self._stopped

    def has_room(self) -> bool:
        """Wait until an item could be added. Returns false if the pipe was stopped."""
        with self._changed:
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
        target = _Producer(make, self._pipe, room_first)
        self._thread = threading.Thread(target=target, name=THREADS, daemon=True)
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


class _Producer(Generic[T]):
    """What the thread runs. It refers only to the pipe, so that an unused `Ahead` can be freed."""

    def __init__(self, make: Callable[[], Iterator[T]], pipe: Pipe[T], room_first: bool) -> None:
        self._make, self._pipe, self._room_first = make, pipe, room_first

    def __call__(self) -> None:
        """Put all items into the pipe."""
        error: BaseException | None = None
        try:
            iterator = self._make()
            try:
                for item in iterator:
                    if not self._pipe.put(item):
                        break
                    del item
                    if self._room_first and not self._pipe.has_room():
                        break
            finally:
                close = getattr(iterator, "close", None)
                if close is not None:
                    close()
        except BaseException as raised:
            error = raised
        self._pipe.end(error)


def begun(work: Callable[[], T]) -> Ahead[T]:
    """Starts work in a thread; `next` waits for what it returns."""

    def once() -> Iterator[T]:
        yield work()

    return Ahead(once)


def interruptibly(work: Callable[[], Any]) -> Any:
    """Returns what `work` returns; Ctrl-C ends the wait even if the work itself cannot be interrupted."""
    with begun(work) as ahead:
        return next(ahead)
