"""Ends the process promptly and cleanly, by itself or after a signal."""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import suppress
from types import FrameType
from typing import NoReturn

from pfgen_rs.io.atomic import remove_temporary_files

_POLARS_HEAP = "_RJEM_MALLOC_CONF"  # jemalloc's, to which polars adds its own when it is loaded
_BLAS_THREADS = "OPENBLAS_NUM_THREADS"


def end_tidily() -> None:
    """Make signals that end the process unwind the stack, so that unfinished files are removed.

    They are SIGTERM and, where the system has it, SIGHUP (a closed terminal), unless `nohup` has it ignored.
    """
    signal.signal(signal.SIGTERM, _end_by_signal)
    hang_up = getattr(signal, "SIGHUP", None)
    if hang_up is not None and signal.getsignal(hang_up) == signal.SIG_DFL:
        signal.signal(hang_up, _end_by_signal)


def restrain_libraries() -> None:
    """Keep libraries that are loaded from now on from memory and threads that scoring has no use for.

    The heap of polars has four parts for each core, which keep what is freed there; numpy's OpenBLAS
    starts a thread for each core, and they spin at first. Variables that the user has set are respected.
    """
    heap = os.environ.get(_POLARS_HEAP, "")  # in a process started by one with polars, that one's
    if "narenas" not in heap:
        os.environ[_POLARS_HEAP] = ",".join(filter(None, [heap, "narenas:1"]))
    os.environ.setdefault(_BLAS_THREADS, "1")


def interrupt_reads() -> None:
    """Let Ctrl-C interrupt a blocking read, such as from standard input.

    Must be called before every such read: polars installs its own handler on first use, after which
    interrupted reads are restarted.
    """
    if hasattr(signal, "siginterrupt"):
        signal.siginterrupt(signal.SIGINT, True)


def _end_by_signal(signum: int, _: FrameType | None) -> None:
    sys.exit(128 + signum)


def leave(code: int) -> NoReturn:
    """End the process immediately, even if threads are blocked in a read or in native code."""
    if any(thread.daemon and thread.is_alive() for thread in threading.enumerate()):
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        remove_temporary_files()
        os._exit(code)
    sys.exit(code)
