"""Ending at once, and tidily, when asked to by a signal."""

from __future__ import annotations

import signal
import sys
from types import FrameType

__all__ = ["end_tidily", "interrupt_reads"]


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
