"""Taking tasks from a lazy iterator, and outcomes from an engine's; see `RollingEngine`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import TypeVar

__all__ = ["available", "closing_outcomes"]

T = TypeVar("T")


def available(items: Iterator[T | None], most: int | None = None) -> list[T]:
    """Take the items that are available now: up to the next `None` or the end, and at most `most`."""
    found: list[T] = []
    for item in islice(items, most):
        if item is None:
            break
        found.append(item)
    return found


@contextmanager
def closing_outcomes(outcomes: Iterator[T]) -> Iterator[Iterator[T]]:
    """Close the iterator at the end, if it can be closed, which stops the engine's work."""
    try:
        yield outcomes
    finally:
        close = getattr(outcomes, "close", None)
        if close is not None:
            close()
