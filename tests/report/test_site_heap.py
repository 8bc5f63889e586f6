"""One heap for all threads, where the C library has several."""

from __future__ import annotations

import ctypes
import platform
import subprocess
import sys

import pytest

from pfgen_rs.report.site.heap import share_heap

THREADS = """
import ctypes, re, sys, threading
if sys.argv[1] == "shared":
    from pfgen_rs.report.site.heap import share_heap
    assert share_heap()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
gate = threading.Barrier(5)
def work():
    gate.wait()
    for _ in range(1000):
        libc.malloc(1000)
    gate.wait()
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
gate.wait(); gate.wait()
libc.malloc_stats()
"""


def arenas(how: str) -> int:
    """How many heaps a process with four threads has."""
    done = subprocess.run(
        [sys.executable, "-c", THREADS, how], capture_output=True, text=True, check=True
    )
    return done.stderr.count("Arena ")


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_threads_share_a_heap() -> None:
    assert arenas("shared") == 1 < arenas("apart")


def test_other_c_libraries_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    assert not share_heap()
