"""A small server that speaks OpenAI's protocol and fails as it is told, request by request."""

from __future__ import annotations

import json
import selectors
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

DEADLINE = 20.0
"""Seconds after which whatever is waited for is taken not to come."""


@dataclass
class Asked:
    """A request as it came in. `at`: seconds of the monotonic clock."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    at: float = field(default_factory=time.monotonic)

    @property
    def prompt(self) -> str:
        """The prompt, or the last message."""
        last = self.body.get("messages", [{}])[-1]
        return str(self.body.get("prompt", last.get("content")))


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    # Head and body in one packet: the second would wait for the client's receipt of the first.
    wbufsize = -1
    server: _Listener

    def setup(self) -> None:
        """Count the connection."""
        super().setup()
        self.server.owner.connected()

    def do_POST(self) -> None:
        """Behave as the script says."""
        length = int(self.headers.get("content-length") or 0)
        headers = {key.lower(): value for key, value in self.headers.items()}
        asked = Asked(self.path, headers, json.loads(self.rfile.read(length)))
        if self.server.owner.over.is_set():
            self.close_connection = True
            return
        behaviour = self.server.owner.begun(asked)
        try:
            behaviour(self, asked)
            self.wfile.flush()
        except OSError:
            self.close_connection = True
        finally:
            self.server.owner.ended()

    def reply(self, code: int, content: bytes, headers: Mapping[str, str] | None = None) -> None:
        """Send a whole response."""
        self.send_response(code)
        for key, value in {"content-type": "application/json", **(headers or {})}.items():
            self.send_header(key, value)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        # Counted as ended before the client can know: what it asks next does not overlap.
        self.server.owner.replied()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256
    owner: FaultServer

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that leave are no errors here."""


Behaviour = Callable[[Handler, Asked], None]


class FaultServer:
    """Listens on a free port of 127.0.0.1 until its block ends.

    `script`: for each prompt what becomes of its first, second, … request; the rest is as `default` says.
    `asked` has all requests in the order in which they came.
    """

    def __init__(
        self,
        script: Mapping[str, Sequence[Behaviour]] | None = None,
        default: Behaviour | None = None,
    ) -> None:
        self.asked: list[Asked] = []
        self.most_at_once = self.connections = 0
        self.left = threading.Semaphore(0)
        """Released for each client that went away while it was left hanging."""
        self.over = threading.Event()
        self._script = {prompt: list(steps) for prompt, steps in (script or {}).items()}
        self._default = default or answer()
        self._attempts: dict[str, int] = defaultdict(int)
        self._now = 0
        self._lock = threading.Lock()
        self._counted = threading.local()
        self._listener = _Listener(("127.0.0.1", 0), Handler)
        self._listener.owner = self

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self._listener.server_port}/v1"

    def attempts(self, prompt: str) -> list[Asked]:
        """The requests of a prompt, in order."""
        return [asked for asked in self.asked if asked.prompt == prompt]

    def connected(self) -> None:
        """Count a connection."""
        with self._lock:
            self.connections += 1

    def begun(self, asked: Asked) -> Behaviour:
        """Count a request; what becomes of it."""
        with self._lock:
            self.asked.append(asked)
            self._now += 1
            self._counted.on = True
            self.most_at_once = max(self.most_at_once, self._now)
            steps = self._script.get(asked.prompt, [])
            number = self._attempts[asked.prompt]
            self._attempts[asked.prompt] += 1
        return steps[number] if number < len(steps) else self._default

    def replied(self) -> None:
        """The request of this thread is no longer under way."""
        with self._lock:
            self._now -= self._counted.on
            self._counted.on = False

    ended = replied

    def __enter__(self) -> Self:
        """Begin to listen."""
        threading.Thread(target=self._listener.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_reason: object) -> None:
        """End, and let go whoever hangs."""
        self.stop()

    def stop(self) -> None:
        """Answer nobody from now on, and refuse connections."""
        self.over.set()
        self._listener.shutdown()
        self._listener.server_close()


def body(text: object, chat: bool = False, **more: Any) -> bytes:
    """A response with one choice."""
    message = {"message": {"role": "assistant", "content": text}} if chat else {"text": text}
    choice = {"index": 0, "finish_reason": "stop", **message, **more}
    return json.dumps({"id": "x", "object": "text_completion", "choices": [choice]}).encode()


def _is_chat(asked: Asked) -> bool:
    return asked.path.endswith("/chat/completions")


def answer(text: str | None = None) -> Behaviour:
    """A good answer: this text, else one that names the prompt and the seed."""

    def behave(handler: Handler, asked: Asked) -> None:
        said = f"{asked.prompt}/{asked.body.get('seed')}" if text is None else text
        handler.reply(200, body(said, _is_chat(asked)))

    return behave


def raw(content: bytes, code: int = 200, headers: Mapping[str, str] | None = None) -> Behaviour:
    """A whole response with this body."""
    return lambda handler, _: handler.reply(code, content, headers)


def status(
    code: int, message: str = "no", headers: Mapping[str, str] | None = None, /, **error: Any
) -> Behaviour:
    """A refusal, worded as OpenAI does."""
    content = json.dumps({"error": {"message": message, **error}}).encode()
    return raw(content, code, headers)


def echo_key(code: int) -> Behaviour:
    """A response that gives away the key that it was sent."""

    def behave(handler: Handler, asked: Asked) -> None:
        said = f"your key is {asked.headers['authorization']}"
        if code == 200:
            handler.reply(200, body(said, _is_chat(asked)))
        else:
            status(code, said, {"x-key": asked.headers["authorization"]})(handler, asked)

    return behave


def cut(after: int = 20) -> Behaviour:
    """A body that ends early, and the connection with it."""

    def behave(handler: Handler, asked: Asked) -> None:
        content = body("answer", _is_chat(asked))
        handler.send_response(200)
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content[:after])
        handler.close_connection = True

    return behave


def bytes_alone(content: bytes) -> Behaviour:
    """These bytes instead of a response; then the connection is closed."""

    def behave(handler: Handler, asked: Asked) -> None:
        handler.wfile.write(content)
        handler.close_connection = True

    return behave


def close() -> Behaviour:
    """No response at all."""
    return bytes_alone(b"")


def hang() -> Behaviour:
    """Nothing until the client leaves, or the server ends."""

    def behave(handler: Handler, asked: Asked) -> None:
        server = handler.server.owner
        with selectors.DefaultSelector() as selector:
            selector.register(handler.connection, selectors.EVENT_READ)
            while not server.over.is_set():
                if selector.select(0.02):
                    server.left.release()
                    break
        handler.close_connection = True

    return behave


def trickle() -> Behaviour:
    """A header that never ends, a byte now and then."""

    def behave(handler: Handler, asked: Asked) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nx-slow: ")
        while not handler.server.owner.over.wait(0.02):
            handler.wfile.write(b"x")
            handler.wfile.flush()

    return behave


def meet(count: int) -> Behaviour:
    """A good answer once `count` requests are there at the same time."""
    barrier = threading.Barrier(count)

    def behave(handler: Handler, asked: Asked) -> None:
        barrier.wait(DEADLINE)
        answer()(handler, asked)

    return behave
