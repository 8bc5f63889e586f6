"""Taking tasks from a lazy iterator; see `RollingEngine`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TypeVar

__all__ = ["available"]

T = TypeVar("T")


def available(items: Iterator[T | None], most: int | None = None) -> list[T]:
    """Take the items that are available now: up to the next `None` or the end, and at most `most`."""
    found: list[T] = []
    for item in islice(items, most):
        if item is None:
            break
        found.append(item)
    return found
