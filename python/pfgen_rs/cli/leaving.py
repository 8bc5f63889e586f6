"""The end of the process, whatever its threads are doing."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from typing import NoReturn

__all__ = ["leave"]


def leave(code: int) -> NoReturn:
    """End the process, at once even where threads hang in a read or in native code."""
    if any(thread.daemon and thread.is_alive() for thread in threading.enumerate()):
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
    sys.exit(code)
