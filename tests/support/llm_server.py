"""The server of `make test-llm`, watched: if it ends, what waits for it ends at once."""

from __future__ import annotations

import http.client
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

_TICK = 0.2
"""Seconds between two looks at the server."""
_STARTING = 120.0
_LAST = 20  # lines of the log


class Server:
    """A process that serves at `port`, and its log."""

    def __init__(self, process: subprocess.Popen[bytes], port: int, log: Path) -> None:
        self.port = port
        self._process = process
        self._log = log

    def check(self) -> None:
        """Exit with the end of the log if the server has ended."""
        code = self._process.poll()
        if code is None:
            return
        how = f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
        lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines()[-_LAST:]
        raise SystemExit(
            "\n".join([f"failed: the server ended ({how}); the end of its log:", *lines])
        )

    def wait(self, done: Callable[[], bool], seconds: float, otherwise: str) -> None:
        """Wait until something is done; exits if that takes too long or the server has ended."""
        end = time.monotonic() + seconds
        while not done():
            self.check()
            if time.monotonic() > end:
                raise SystemExit(f"failed: {otherwise} within {seconds:g} seconds")
            time.sleep(_TICK)

    def run(
        self, command: Sequence[str], seconds: float, env: Mapping[str, str]
    ) -> tuple[int, str]:
        """Run a client of the server to its end. Returns its exit code and output."""
        with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as client:
            try:
                return self._output(client, seconds)
            finally:
                client.kill()

    def _output(self, client: subprocess.Popen[str], seconds: float) -> tuple[int, str]:
        end = time.monotonic() + seconds
        while True:
            try:
                output, _ = client.communicate(timeout=_TICK)
            except subprocess.TimeoutExpired:
                self.check()
                if time.monotonic() > end:
                    raise SystemExit(f"failed: a client took {seconds:g} seconds") from None
            else:
                return client.returncode, output

    def is_ready(self) -> bool:
        """Whether it answers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", "/v1/models")
            return connection.getresponse().status == http.client.OK
        except OSError:
            return False
        finally:
            connection.close()


@contextmanager
def served(command: Sequence[str], port: int, log: Path) -> Iterator[Server]:
    """Start a server and wait until it answers; it is killed at the end of the block."""
    with log.open("wb") as file, subprocess.Popen(command, stdout=file, stderr=file) as process:
        try:
            server = Server(process, port, log)
            server.wait(server.is_ready, _STARTING, "the server did not answer")
            yield server
        finally:
            process.kill()
