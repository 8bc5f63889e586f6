"""The server of `make test-llm`, watched and recorded: if it ends, what waits for it ends at once."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

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


# A server in front of another that passes requests on and keeps them.


_TIMEOUT = 600.0


def _asked_text(body: dict[str, Any]) -> str:
    """The prompt or the messages of a request, to compare requests by."""
    return json.dumps(body.get("messages", body.get("prompt")), ensure_ascii=False)


def _said_text(reply: dict[str, Any]) -> str:
    """The text of a reply; empty if it has none."""
    [choice] = reply.get("choices") or [{}]
    return str(choice.get("text") or choice.get("message", {}).get("content") or "")


class Recorder:
    """Listens on a free port of 127.0.0.1 and asks the server at `port`, until its block ends.

    `asked`: what was asked for since `forget`; `said`: the texts of the replies that were passed on.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self.asked: list[str] = []
        self.said: list[str] = []
        self._listener = _Listener(("127.0.0.1", 0), _Handler)
        self._listener.recorder = self

    @property
    def url(self) -> str:
        """Its base URL."""
        return f"http://127.0.0.1:{self._listener.server_port}/v1"

    @property
    def answered(self) -> int:
        """How many requests were answered."""
        return len(self.said)

    def forget(self) -> None:
        """Begin anew with nothing asked."""
        self.asked, self.said = [], []

    def forward(self, path: str, content: bytes) -> tuple[int, bytes]:
        """What the server behind says."""
        self.asked.append(_asked_text(json.loads(content)))
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_TIMEOUT)
        try:
            connection.request("POST", path, content, {"content-type": "application/json"})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def __enter__(self) -> Self:
        """Begin to listen."""
        threading.Thread(target=self._listener.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_reason: object) -> None:
        """End."""
        self._listener.shutdown()
        self._listener.server_close()


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    recorder: Recorder

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that was killed is no error."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    server: _Listener

    def do_POST(self) -> None:
        """Pass a request on."""
        content = self.rfile.read(int(self.headers["content-length"]))
        status, answer = self.server.recorder.forward(self.path, content)
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)
        self.wfile.flush()
        self.server.recorder.said.append(_said_text(json.loads(answer)))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""
