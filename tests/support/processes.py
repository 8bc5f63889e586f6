"""Ending one of a group of processes on the way."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest


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
