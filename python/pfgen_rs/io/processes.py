"""Programs in process groups of their own, which are stopped with the children in them."""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from typing import Any

GRACE = 5.0
"""Seconds in which a program may end by itself before it is killed."""
_TICK = 0.02


class ProcessGroup:
    """A running program, started without a shell. `streams`: arguments of `subprocess.Popen`.

    In its own session it does not receive Ctrl-C directly. Raises `OSError` and `ValueError` if it cannot be
    started.
    """

    def __init__(self, command: Sequence[str], **streams: Any) -> None:
        self.process: subprocess.Popen[bytes] = subprocess.Popen(  # noqa: S603 - the user's own command
            list(command), start_new_session=os.name == "posix", **streams
        )

    @property
    def ending(self) -> str | None:
        """Describes how the program ended, for a message; `None` while it is running."""
        code = self.process.poll()
        if code is None:
            return None
        return f"exited with code {code}" if code >= 0 else f"was killed by signal {-code}"

    def stop(self) -> None:
        """End the program and its children, by force after 5 seconds. May be called twice.

        Children that have made a process group of their own (`setsid`) are not reached.
        """
        for number in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
            if not self._send(number):
                return
            end = time.monotonic() + GRACE
            while self._send(0) and time.monotonic() < end:
                time.sleep(_TICK)

    def _send(self, number: int) -> bool:
        """Send a signal to all processes of the group, 0 to none; returns whether there are any."""
        is_running = self.process.poll() is None
        if os.name != "posix":
            if is_running and number:
                self.process.terminate()
            return is_running
        try:
            os.killpg(self.process.pid, number)
        except (ProcessLookupError, PermissionError):
            return False  # macOS says the second of a group that has ended
        return True
