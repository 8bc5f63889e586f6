"""Locks between processes that share a folder, released when their holder exits for any reason."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pfgen_rs.io.atomic import writing_failed

try:
    import fcntl
except ImportError:  # not on Windows, where only one process may use a folder
    fcntl = None  # type: ignore[assignment]

__all__ = ["alone_with", "lock", "locked", "unlock"]


def lock(handle: int) -> bool:
    """Lock an open file until it is closed; returns false if another process has locked it.

    On systems without file locks, this always succeeds.
    """
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def unlock(handle: int) -> None:
    """Unlock a file that is about to be closed; forked processes may keep it open."""
    if fcntl is not None:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_UN)


@contextmanager
def alone_with(path: Path) -> Iterator[bool]:
    """Lock the file `path`, which exists for the duration of the context alone; its folder must exist.

    Yields false at once if another process has locked it, and true if none has or locks are not possible.
    The file is opened for writing, without which network file systems may not lock it.
    """
    handle = None if fcntl is None else _opened_for_lock(path)
    is_alone = True
    try:
        if handle is not None:
            is_alone = lock(handle) and _is_lock_at(path, handle)
        yield is_alone
    finally:
        if handle is not None:
            if is_alone:
                with suppress(OSError):
                    path.unlink()
                unlock(handle)
            os.close(handle)


def _opened_for_lock(path: Path) -> int | None:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:  # nobody can write here, or what prevents it will say so when files are written
        return None


def _is_lock_at(path: Path, handle: int) -> bool:
    """Whether the open file is still there: its last holder removes it."""
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except OSError:
        return False


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a folder for the duration of the context, waiting until it is free."""
    if fcntl is None:
        yield
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise writing_failed(folder, error) from error
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        unlock(handle)
        os.close(handle)
