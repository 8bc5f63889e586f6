"""Work on some items side by side, of which only a few are in memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

__all__ = ["worked_ahead"]

_Item = TypeVar("_Item")
_Found = TypeVar("_Found")


def worked_ahead(
    work: Callable[[_Item], _Found], items: Iterable[_Item], jobs: int
) -> Iterator[_Found]:
    """Yield what `work` returns for each item, in order, working on up to `jobs` at a time.

    An item is taken only when fewer than `jobs` wait or are worked on, and is dropped once it is done.
    """
    waiting: deque[Future[_Found]] = deque()
    pool = ThreadPoolExecutor(jobs)
    try:
        for item in items:
            waiting.append(pool.submit(work, item))
            del item
            if len(waiting) >= jobs:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
