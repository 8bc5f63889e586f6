"""Memory of threads, where the C library lets it be set."""

from __future__ import annotations

import ctypes

__all__ = ["share_heap"]

_ARENA_MAX = -8  # M_ARENA_MAX of glibc's malloc.h


def share_heap() -> bool:
    """Let new threads share one heap; returns whether the C library can (glibc).

    By default glibc gives each thread its own, and keeps what is freed there: threads that come and go with
    large pieces of work then hold a fifth more.
    """
    try:
        return bool(ctypes.CDLL(None).mallopt(_ARENA_MAX, 1))
    except (AttributeError, OSError, TypeError):  # another C library
        return False
