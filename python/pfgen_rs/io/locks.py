"""Locks between processes that share a folder, released when their holder exits for any reason.

All that differs between systems is here and in `atomic`. POSIX locks whole files (`flock`) and single bytes
(`lockf`), folders can be opened and locked like files, and locks bind only those who ask for them. Windows
locks ranges of bytes, which nobody else can then read or write, so bytes are locked that lie far behind what
these files contain; folders cannot be opened there, and what is open cannot be removed.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pfgen_rs.io import atomic
from pfgen_rs.io.atomic import writing_failed

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]
msvcrt: Any = None
if sys.platform == "win32":
    import msvcrt

_EVERY = 0.05  # seconds between two attempts; Windows cannot wait for long
# On Windows: the byte that stands for a whole file, and the number of others: below 2³¹, because older
# versions of the C runtime lock at offsets of 32 bits.
_WHOLE = (1 << 31) - 2
_PLACES = 1 << 30


def lock(handle: int, offset: int | None = None) -> bool:
    """Lock an open file until it is closed, or a byte, which need not exist.

    Returns false if another process has locked it. On file systems without locks, this always succeeds.
    """
    try:
        _set_lock(handle, offset, lock=True)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:  # a file system without locks
        return True
    return True


def lock_now(handle: int) -> None:
    """Lock an open file, waiting until it is free. On file systems without locks, this always succeeds."""
    if fcntl is not None:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        return
    while not lock(handle):
        time.sleep(_EVERY)


def unlock(handle: int, offset: int | None = None) -> None:
    """Unlock a file that is about to be closed (forked processes may keep it open), or a byte."""
    with suppress(OSError):
        _set_lock(handle, offset, lock=False)


def _set_lock(handle: int, offset: int | None, *, lock: bool) -> None:
    """Lock or unlock a file or one of its bytes at once. Raises `OSError`."""
    if fcntl is not None:
        how = fcntl.LOCK_EX | fcntl.LOCK_NB if lock else fcntl.LOCK_UN
        if offset is None:
            fcntl.flock(handle, how)
        else:
            fcntl.lockf(handle, how, 1, offset)
    elif msvcrt is not None:
        how = msvcrt.LK_NBLCK if lock else msvcrt.LK_UNLCK
        _lock_on_windows(handle, how, _WHOLE if offset is None else offset % _PLACES)


def _lock_on_windows(handle: int, mode: int, offset: int) -> None:
    """Lock or unlock one byte. Raises `PermissionError` if another handle has locked it."""
    before = os.lseek(handle, 0, os.SEEK_CUR)
    os.lseek(handle, offset, os.SEEK_SET)  # the function locks from the current position on
    try:
        msvcrt.locking(handle, mode, 1)
    finally:
        os.lseek(handle, before, os.SEEK_SET)


def let_go(
    handle: int, path: Path | None = None, close: Callable[[], object] | None = None
) -> None:
    """Unlock and close a file; with `path`, where it is, remove it, too. `close`: instead of `os.close`.

    POSIX removes it first, so that whoever gets the lock next sees that the file is gone. Windows removes
    nothing that is open, by another process either: then it is left to that one.
    """
    if path is not None and not atomic.WINDOWS:
        with suppress(OSError):
            path.unlink(missing_ok=True)
    unlock(handle)
    if close is None:
        os.close(handle)
    else:
        close()
    if path is not None and atomic.WINDOWS:
        with suppress(OSError):
            path.unlink(missing_ok=True)


@contextmanager
def alone_with(
    path: Path, *, patience: float = 0, waiting: Callable[[], object] | None = None
) -> Iterator[bool]:
    """Lock the file `path`, which exists for the duration of the context alone; its folder must exist.

    Waits up to `patience` seconds while another process has locked it, having called `waiting` once. Yields
    whether this process is alone with it, which is also assumed where locks are not possible. False means
    that the other one holds it still, or has removed it: those that waited go on side by side. The file is
    opened for writing, without which network file systems may not lock it.
    """
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:  # nobody can write here, or what prevents it will say so when files are written
        yield True
        return
    is_alone = False
    try:
        if _locked_in_time(handle, patience, waiting):
            is_alone = is_lock_at(path, handle)
            if not is_alone:
                unlock(handle)
        yield is_alone
    finally:
        # Those that wait have opened this file, too; one that begins now and finds none opens another.
        if is_alone:
            let_go(handle, path if is_lock_at(path, handle) else None)
        else:
            os.close(handle)


def _locked_in_time(handle: int, patience: float, waiting: Callable[[], object] | None) -> bool:
    """Wait for a lock. Polls, so that Ctrl-C ends it in any thread, and a lock that hangs does not."""
    if lock(handle):
        return True
    if waiting is not None:
        waiting()
    until = time.monotonic() + patience
    while time.monotonic() < until:
        if lock(handle):
            return True
        time.sleep(_EVERY)
    return False


def is_lock_at(path: Path, handle: int) -> bool:
    """Whether an open file is still the one at `path`: its last holder removes it."""
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except OSError:
        return False


@contextmanager
def locked(folder: Path, *, wait: bool = True) -> Iterator[bool]:
    """Lock a folder for the duration of the context. Raises `OutputError`.

    Waits until it is free and yields true, or, without `wait`, yields at once whether it was free.
    """
    handle, path = _opened_folder(folder)
    is_locked = False
    try:
        if wait:
            lock_now(handle)
        is_locked = wait or lock(handle)
        yield is_locked
    finally:
        if is_locked:
            let_go(handle, path)
        else:
            os.close(handle)


def _opened_folder(folder: Path) -> tuple[int, Path | None]:
    """Returns what to lock for a folder, opened, and the file to remove afterwards, if it is one."""
    # On Windows a file beside it, so that the folder can be removed by whoever has locked it.
    path = (
        folder.absolute().with_name(f".{folder.absolute().name}.lock") if atomic.WINDOWS else None
    )
    try:
        if path is None:
            return os.open(folder, os.O_RDONLY), None
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o666), path
    except OSError as error:
        raise writing_failed(folder, error) from error
