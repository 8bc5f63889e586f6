"""One of several processes, perhaps on several machines, builds an index; the others wait for it.

    CACHE/indexes/.KEY.pfgenidx.lock    locked by the process that builds KEY.pfgenidx; empty

The lock is one of the operating system's (`flock`), which Linux passes on to NFS servers. It ends with its
process, however that ends, so whoever waits for one that was killed builds in its place. On network file
systems without such locks, or whose locks hold on one machine only (Lustre with `localflock`), and after
`PATIENCE` seconds of waiting, the index is built more than once. That costs time alone: files of indexes
appear whole, and are the same whoever builds them.

Whoever is done removes the file, and one that is killed cannot. So those that waited and find it removed have
the index, or it could not be written (a full disk): then they build it side by side, not one after another.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pfgen_rs.io.locks import is_lock_at, let_go, lock, unlock

__all__ = ["PATIENCE", "alone"]

PATIENCE = 600.0
"""Seconds to wait for a process that builds, which takes some seconds for the published set."""
_EVERY = 0.1  # seconds between two attempts


@contextmanager
def alone(index: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Lock the index file `index`, which need not exist, for the duration of the context.

    Waits while another process has the lock, having called `waiting` once. Without a folder that can be
    written to there is nothing to wait for: no process can keep what it builds.
    """
    path = index.with_name(f".{index.name}.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:
        yield
        return
    try:
        _lock_index(handle, waiting)
        if not is_lock_at(path, handle):
            unlock(handle)
        yield
    finally:
        # Those that wait have opened this file, too; one that begins now and finds no file opens another, and
        # finds the index, unless that could not be written.
        let_go(handle, path if is_lock_at(path, handle) else None)


def _lock_index(handle: int, waiting: Callable[[], None]) -> None:
    """Wait for the lock. Polls, so that Ctrl-C ends it in any thread, and a lock that hangs does not."""
    if lock(handle):
        return
    waiting()
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and not lock(handle):
        time.sleep(_EVERY)
