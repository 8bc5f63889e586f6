"""What a group of processes takes, and ending one of them on the way."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

EVERY = 0.25
"""Seconds between two looks, at least."""
APART = 50
"""Times what a look takes: the kernel counts every page of every process, which would slow them down."""


@dataclass
class Usage:
    """Of a process and all below it: seconds of wall and CPU time, and the peak of memory in bytes."""

    wall: float = 0.0
    cpu: float = 0.0
    peak: int = 0

    def __str__(self) -> str:
        return f"{self.wall:.1f} s, {self.cpu:.1f} s of CPU time, peak {self.peak / 2**20:,.0f} MiB"


@contextlib.contextmanager
def watched() -> Iterator[Usage]:
    """Measure this process and those below it; shared memory counts once."""
    psutil = pytest.importorskip("psutil")
    found, stop = Usage(), threading.Event()
    first: dict[int, float] = {}
    last: dict[int, float] = {}

    def look() -> None:
        own, memory = psutil.Process(), 0
        for process in [own, *own.children(recursive=True)]:
            with contextlib.suppress(psutil.Error):
                times = process.cpu_times()
                seconds = times.user + times.system
                new = process.create_time() > begun
                first.setdefault(process.pid, 0.0 if new else seconds)
                last[process.pid] = seconds
                memory += process.memory_full_info().pss
        found.peak = max(found.peak, memory)

    def keep_looking() -> None:
        took = 0.0
        while not stop.wait(max(EVERY, APART * took)):
            since = time.thread_time()
            look()
            took = time.thread_time() - since

    begun = time.time()
    look()
    thread = threading.Thread(target=keep_looking)
    thread.start()
    try:
        yield found
    finally:
        stop.set()
        thread.join()
        look()
        found.wall = time.time() - begun
        found.cpu = sum(last[pid] - first[pid] for pid in last)


@contextlib.contextmanager
def one_killed(
    is_worker: Callable[[Any], bool], is_time: Callable[[], bool]
) -> Iterator[list[int]]:
    """Kill -9 the first process below this one that is a worker, as soon as it is time. Yields its id."""
    psutil = pytest.importorskip("psutil")
    killed: list[int] = []
    stop = threading.Event()

    def wait() -> None:
        while not stop.wait(0.02):
            if is_time():
                for process in psutil.Process().children(recursive=True):
                    with contextlib.suppress(psutil.Error):
                        if is_worker(process):
                            process.send_signal(signal.SIGKILL)
                            killed.append(process.pid)
                            return

    thread = threading.Thread(target=wait)
    thread.start()
    try:
        yield killed
    finally:
        stop.set()
        thread.join()
