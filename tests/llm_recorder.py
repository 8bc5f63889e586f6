"""A server in front of another that passes requests on and keeps them."""

from __future__ import annotations

import http.client
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

__all__ = ["Recorder", "asked_text"]

TIMEOUT = 600.0


def asked_text(body: dict[str, Any]) -> str:
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
        self.asked.append(asked_text(json.loads(content)))
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT)
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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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
