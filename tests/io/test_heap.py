"""One heap for all threads, and freed memory that is given back, where the C library can."""

from __future__ import annotations

import ctypes
import platform
import subprocess
import sys

import pytest

from pfgen_rs.io.heap import return_large_pieces, share_heap, trim_heap

glibc = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
THREADS = """
import ctypes, re, sys, threading
if sys.argv[1] == "shared":
    from pfgen_rs.io.heap import share_heap
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


HELD = """
import ctypes, sys
def held():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1])
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.memset.argtypes = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t
libc.free.argtypes = (ctypes.c_void_p,)
"""
HOLES = """
from pfgen_rs.io.heap import trim_heap
blocks = [libc.malloc(20_000) for _ in range(5_000)]
for block in blocks:
    libc.memset(block, 1, 20_000)
for block in blocks[:-1]:  # the last one keeps the others within the heap
    libc.free(block)
before = held()
assert trim_heap()
print(before - held())
"""

LARGE = """
if sys.argv[1] == "returned":
    from pfgen_rs.io.heap import return_large_pieces
    assert return_large_pieces()
libc.free(libc.malloc(24_000_000))  # from now on, this is no large piece to glibc
large, behind = libc.malloc(20_000_000), libc.malloc(100_000)
libc.memset(large, 1, 20_000_000)
before = held()
libc.free(large)
print(before - held())
"""


@glibc
def test_threads_share_a_heap() -> None:
    assert arenas("shared") == 1 < arenas("apart")


@glibc
@pytest.mark.skipif(sys.platform != "linux", reason="no /proc")
def test_freed_memory_is_given_back() -> None:
    done = subprocess.run(
        [sys.executable, "-c", HELD + HOLES], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) > 10_000  # pages; 24,000 of 4 KiB were freed


@glibc
@pytest.mark.skipif(sys.platform != "linux", reason="no /proc")
def test_large_pieces_are_given_back_at_once() -> None:
    given_back = {
        how: int(subprocess.check_output([sys.executable, "-c", HELD + LARGE, how], text=True))
        for how in ("kept", "returned")
    }
    assert given_back["kept"] < 500 < 4_000 < given_back["returned"]  # pages


def test_other_c_libraries_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    assert not share_heap()
    assert not trim_heap()
    assert not return_large_pieces()
