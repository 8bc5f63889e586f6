"""Memory that threads share and that is given back, where the C library can (glibc)."""

from __future__ import annotations

import ctypes

__all__ = ["return_large_pieces", "share_heap", "trim_heap"]

# M_TRIM_THRESHOLD, M_MMAP_THRESHOLD and M_ARENA_MAX of glibc's malloc.h
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_LARGE = 4 << 20  # bytes; smaller pieces are used again faster than the system clears others


def share_heap() -> bool:
    """Let new threads share one heap; returns whether the C library can.

    By default glibc gives each thread its own, and keeps what is freed there: threads that come and go with
    large pieces of work hold more the longer they run.
    """
    return _called("mallopt", _ARENA_MAX, 1)


def return_large_pieces() -> bool:
    """Return large pieces of memory to the system when they are freed; returns whether the C library can.

    By default glibc keeps pieces of up to 32 MiB once one of that size has been freed.
    """
    return all(_called("mallopt", kind, _LARGE) for kind in (_TRIM_THRESHOLD, _MMAP_THRESHOLD))


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
