"""Memory that threads share and give back, where the C library can (glibc)."""

from __future__ import annotations

import ctypes

__all__ = ["share_heap", "trim_heap"]

_ARENA_MAX = -8  # M_ARENA_MAX of glibc's malloc.h


def share_heap() -> bool:
    """Let new threads share one heap; returns whether the C library can.

    By default glibc gives each thread its own, and keeps what is freed there: threads that come and go with
    large pieces of work hold more the longer they run.
    """
    return _called("mallopt", _ARENA_MAX, 1)


def trim_heap() -> bool:
    """Give freed memory back to the system, wherever it lies in the heap; returns whether some was.

    By default glibc gives back what is free at the end alone, so a heap is as large as all that large pieces
    of work, one after the other, have left holes in.
    """
    return _called("malloc_trim", 0)


def _called(name: str, *arguments: int) -> bool:
    try:
        return bool(getattr(ctypes.CDLL(None), name)(*arguments))
    except (AttributeError, OSError, TypeError):  # another C library
        return False
