"""Regular expressions that only Python can match, with a time limit.

Python's `re` cannot be interrupted by other threads, since it holds the interpreter's lock while it
searches. So it searches in a process of its own, one for all threads, which is started when first needed,
ends with this process, and is not shared with forks of it.
"""

from __future__ import annotations

import atexit
import marshal
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, cast

from pfgen_rs._native import UNKNOWN
from pfgen_rs.errors import BenchmarkError
from pfgen_rs.io.text import shortened
from pfgen_rs.lazy import NDArray, np

TIME_LIMIT = 5.0
"""Seconds that compiling and the search of one text may take; they end a tenth later or earlier."""

_SCRIPT = Path(__file__).with_name("expression_worker.py")
_OUT_OF_TIME = 1
_SLICE = 1024  # texts in one request


class OutOfTimeError(Exception):
    """Compiling or a search took longer than the limit."""


class _EndedError(Exception):
    """The other process has ended."""


class _Worker:
    """The other process."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603 (our own script)
            [sys.executable, "-I", "-S", str(_SCRIPT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,  # a fork must not write what is left in a buffer
        )
        self._requests = cast("IO[bytes]", self._process.stdin)
        self._answers = cast("IO[bytes]", self._process.stdout)
        if os.name == "posix":
            self._poll = select.poll()
            self._poll.register(self._answers, select.POLLIN)

    def ends(self, pattern: str, texts: Sequence[str]) -> NDArray[np.int64]:
        request = marshal.dumps((TIME_LIMIT, pattern, list(texts)))
        started = time.monotonic()
        try:
            self._send(len(request).to_bytes(8, "little") + request)
            return np.frombuffer(self._receive(8 * len(texts)), np.int64)
        except OSError:
            status = self.close()
            # Python exits with the same status if it cannot start.
            if status == _OUT_OF_TIME and time.monotonic() - started > TIME_LIMIT / 2:
                raise OutOfTimeError from None
            raise _EndedError(f"exit status {status}") from None

    def close(self) -> int:
        """Wait for the end of the process, which has no more requests, and return its exit status."""
        self._requests.close()
        try:
            self._process.wait(1)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._answers.close()
        return self._process.wait()

    def kill(self) -> None:
        """End the process while it works."""
        self._process.kill()
        self.close()

    def disown(self) -> None:
        """Leave the process to the one that has forked this one."""
        self._requests.close()
        self._answers.close()
        self._process.returncode = 0

    def _send(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[self._requests.write(rest) :]

    def _receive(self, size: int) -> bytes:
        parts = []
        while size:
            if os.name == "posix":
                # Reading goes on after Ctrl-C where a library has set a handler of its own, polling does not.
                self._poll.poll()
            part = self._answers.read(size)
            if not part:
                raise BrokenPipeError
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


class _Workers:
    """The process, if it runs, and the lock around it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._worker: _Worker | None = None

    def ends(self, pattern: str, texts: Sequence[str]) -> NDArray[np.int64]:
        with self._lock:
            if (worker := self._worker) is not None:
                # It may have been killed since it was last used.
                with suppress(_EndedError):
                    return self._asked(worker, pattern, texts)
            try:
                return self._asked(_Worker(), pattern, texts)
            except (_EndedError, OSError) as error:
                raise BenchmarkError(
                    f"cannot match the regular expression {shortened(repr(pattern))}: the Python process "
                    f"that matches it ({sys.executable}) failed: {error}"
                ) from None

    def close(self) -> None:
        with self._lock:
            if self._worker is not None:
                self._worker.close()
                self._worker = None

    def forget(self) -> None:
        """Start anew in a forked process."""
        self._lock = threading.Lock()
        if self._worker is not None:
            self._worker.disown()
            self._worker = None

    def _asked(self, worker: _Worker, pattern: str, texts: Sequence[str]) -> NDArray[np.int64]:
        self._worker = None
        try:
            found = worker.ends(pattern, texts)
        except (OutOfTimeError, _EndedError):
            raise
        except BaseException:  # Ctrl-C between request and answer
            worker.kill()
            raise
        self._worker = worker
        return found


_workers = _Workers()
atexit.register(_workers.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_workers.forget)


def limited_ends(pattern: str, texts: Sequence[str]) -> NDArray[np.uint32]:
    """Returns the end of the first match in each text in code points, or `UNKNOWN`; uint32, shape (texts,).

    Raises `OutOfTimeError` if the search of one text takes longer than `TIME_LIMIT`, and `BenchmarkError` in
    programs that embed Python or are frozen, which have no interpreter to start.
    """
    if "python" not in Path(sys.executable or "").name.lower() or getattr(sys, "frozen", False):
        raise BenchmarkError(
            f"cannot match the regular expression {shortened(repr(pattern))}: this needs a process of its "
            f"own, but {sys.executable!r} is not a Python interpreter: write it without flags, "
            "lookaround, \\b and backreferences"
        )
    parts = [
        _workers.ends(pattern, texts[start : start + _SLICE])
        for start in range(0, len(texts), _SLICE)
    ]
    found = np.concatenate([np.empty(0, np.int64), *parts])
    return np.where(found < 0, UNKNOWN, found).astype(np.uint32)
