"""A program that is spoken to in lines: written to and read from by threads, so that neither side waits."""

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
_LINES = 16  # that were read and not looked at
_GRACE = 5.0  # seconds that a program has to end by itself


class Program:
    """A running program, in a process group of its own; what it writes to standard error passes through.

    Raises `GenerationError` where it cannot be started. Messages name the program, not its arguments, which
    may hold keys.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self.name = command[0]
        try:
            # In a session of its own, Ctrl-C reaches it through us, and children of its own go with it.
            self._process = subprocess.Popen(  # noqa: S603 - it is the user's own
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
        """Have lines written; returns at once."""
        self._to_write.put(lines)

    def next_line(self, seconds: float | None) -> bytes | None:
        """The next line of its output, `None` where that has ended.

        Raises `TimeoutError` where none comes for so long, and `GenerationError` for one without an end.
        """
        try:
            return self._lines.take(seconds)
        except StopIteration:
            return None

    def _write(self) -> None:
        stdin = cast("IO[bytes]", self._process.stdin)
        with suppress(OSError, ValueError), stdin:  # that it has ended shows where it is read
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
        """How it ended, for a message; waits a moment for it."""
        try:
            code = self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            return "closed its output"
        return f"ended with exit code {code}" if code >= 0 else f"was ended by signal {-code}"

    def close(self) -> None:
        """Close its input and let it end; end it where it does not."""
        self._to_write.put(None)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_GRACE)
        self.stop()

    def stop(self) -> None:
        """End it now. May be called twice."""
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
