"""How the process ends: at once and tidily, by itself or by a signal."""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import suppress
from types import FrameType
from typing import NoReturn

__all__ = ["end_tidily", "interrupt_reads", "leave"]


def end_tidily() -> None:
    """Make a termination signal unwind the stack, so that unfinished files are removed."""
    signal.signal(signal.SIGTERM, _terminate)


def interrupt_reads() -> None:
    """Let Ctrl-C end a read that waits, as for standard input.

    To be called before every such read: polars installs a handler of its own when it first works,
    with which waiting reads are taken up again as if nothing had happened.
    """
    if hasattr(signal, "siginterrupt"):
        signal.siginterrupt(signal.SIGINT, True)


def _terminate(signum: int, _: FrameType | None) -> None:
    sys.exit(128 + signum)


def leave(code: int) -> NoReturn:
    """End the process, at once even where threads hang in a read or in native code."""
    if any(thread.daemon and thread.is_alive() for thread in threading.enumerate()):
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
    sys.exit(code)
