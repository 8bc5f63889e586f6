"""A program that exchanges lines, written and read by threads so that neither side blocks the other."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterable, Sequence
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import IO, cast

from pfgen_rs.errors import GenerationError
from pfgen_rs.io.ahead import THREADS, Pipe

__all__ = ["Program"]

_LONGEST = 4 << 20  # bytes of a line
_LINES = 16  # read ahead
_GRACE = 5.0  # seconds for a program to exit by itself


class Program:
    """A running program in its own process group; its standard error is passed through.

    Raises `GenerationError` if it cannot be started. Messages name only the program, not its arguments, which
    may contain keys.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self.name = command[0]
        try:
            # In its own session, it does not receive Ctrl-C directly, and is stopped with its children.
            self._process = subprocess.Popen(  # noqa: S603 - the user's own command
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=os.name == "posix",
            )
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise GenerationError(f"{self.name!r} cannot be started: {reason}") from error
        self._to_write: SimpleQueue[Iterable[bytes] | None] = SimpleQueue()
        self._lines = Pipe[bytes](_LINES)
        for target in (self._write, self._read):
            Thread(target=target, name=THREADS, daemon=True).start()

    def send(self, lines: Iterable[bytes]) -> None:
        """Queue lines for writing; returns immediately."""
        self._to_write.put(lines)

    def next_line(self, seconds: float | None) -> bytes | None:
        """Returns the next line of the program's output, or `None` at its end.

        Raises `TimeoutError` if there is none within `seconds`, and `GenerationError` for too long a line.
        """
        try:
            return self._lines.take(seconds)
        except StopIteration:
            return None

    def _write(self) -> None:
        stdin = cast("IO[bytes]", self._process.stdin)
        with suppress(OSError, ValueError), stdin:  # an exited program is noticed when reading
            for lines in iter(self._to_write.get, None):
                stdin.writelines(lines)
                stdin.flush()

    def _read(self) -> None:
        stdout = cast("IO[bytes]", self._process.stdout)
        with suppress(OSError, ValueError), stdout:
            while line := stdout.readline(_LONGEST + 1):
                if len(line) > _LONGEST:
                    self._lines.end(
                        GenerationError(f"{self.name!r} wrote a line of more than {_LONGEST} bytes")
                    )
                    return
                if not self._lines.put(line):
                    return
        self._lines.end()

    def ending(self) -> str:
        """Describe how the program ended, for a message; waits briefly for it."""
        try:
            code = self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            return "closed its output"
        return f"exited with code {code}" if code >= 0 else f"was killed by signal {-code}"

    def close(self) -> None:
        """Close the program's input, and stop it if it does not exit by itself."""
        self._to_write.put(None)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_GRACE)
        self.stop()

    def stop(self) -> None:
        """Stop the program now. May be called twice."""
        self._lines.stop()
        self._to_write.put(None)
        for ending in (self._terminate, self._kill):
            if self._process.poll() is None:
                with suppress(ProcessLookupError):
                    ending()
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(_GRACE)

    def _terminate(self) -> None:
        if os.name == "posix":
            os.killpg(self._process.pid, signal.SIGTERM)
        else:
            self._process.terminate()

    def _kill(self) -> None:
        if os.name == "posix":
            os.killpg(self._process.pid, signal.SIGKILL)
        else:
            self._process.kill()
