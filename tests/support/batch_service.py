"""A small server that takes batches as OpenAI and Anthropic do, and fails as it is told."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

Edit = Callable[[list[bytes]], list[bytes]]
KEY = "sk-0123456789-very-secret"


class HangUpError(Exception):
    """The connection is closed without a reply."""


class StatusError(Exception):
    """The reply is an error with this status."""


@dataclass
class Plan:
    """What becomes of a batch.

    `looks`: how many looks find it in progress. `drop`: what becomes of a request, by its number: `expired`,
    `canceled` or the message of an error with its parameter; `None`: an answer. `edit`: changes the lines of
    results. `refused`: the server's words on the whole of it. `final`: the status in which it ends.
    """

    looks: int = 1
    drop: Callable[[int, Mapping[str, Any]], str | tuple[str, str] | None] = lambda _n, _body: None
    edit: Edit = lambda lines: lines
    refused: Sequence[str] = ()
    final: str = "completed"
    model: str = "served-1"


@dataclass
class Batch:
    """A batch at the server."""

    name: str
    requests: list[tuple[str, dict[str, Any]]]
    plan: Plan
    metadata: Mapping[str, str]
    file: str | None = None
    looked: int = 0
    created: float = field(default_factory=time.time)

    @property
    def has_ended(self) -> bool:
        return self.looked > self.plan.looks


def prompt_of(body: Mapping[str, Any]) -> str:
    """The prompt of a request, or its last message."""
    return str(body["prompt"] if "prompt" in body else body["messages"][-1]["content"])


def said(body: Mapping[str, Any]) -> str:
    """What the server says: a number, a text and a letter, by prompt and seed."""
    content = f"{prompt_of(body)} {body.get('seed')}"
    number = int(hashlib.sha256(content.encode()).hexdigest(), 16)
    reason = "".join("アイウエオカキクケコ"[int(digit)] for digit in str(number)[:12])
    return f"{reason}。\n[[{number % 10 + 1}]]\n{'ABC'[number % 3]}"


class BatchService:
    """Listens on a free port of 127.0.0.1 until its block ends; speaks both protocols.

    `plans`: for the batches in the order of their creation, then `Plan()`. `hooks`: called before a reply, by
    what was asked (`upload`, `before create`, `create`, `look`, `results`, `list`, `single`); they may kill
    the `client`, or raise `HangUpError` or `StatusError`. `asked` counts what was to be answered, by prompt
    and seed. `calls`: all requests.
    """

    def __init__(self, *plans: Plan) -> None:
        self.plans = list(plans)
        self.hooks: dict[str, Callable[[], object]] = {}
        self.asked: Counter[tuple[str, Any]] = Counter()
        self.calls: list[tuple[str, str]] = []
        self.headers: list[dict[str, str]] = []
        self.batches: list[Batch] = []
        self.files: dict[str, bytes] = {}
        self.says: Callable[[Mapping[str, Any]], str] = said
        self.has_metadata = True
        self.client: subprocess.Popen[Any] | None = None
        self.lock = threading.RLock()
        self._listener = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._listener.daemon_threads = True
        self._listener.owner = self  # type: ignore[attr-defined]

    @property
    def root(self) -> str:
        """The address."""
        return f"http://127.0.0.1:{self._listener.server_port}"

    @property
    def url(self) -> str:
        """The base URL of OpenAI's protocol."""
        return f"{self.root}/v1"

    @property
    def environment(self) -> dict[str, str]:
        """Variables with both addresses and a key for each."""
        return {
            "OPENAI_BASE_URL": self.url,
            "ANTHROPIC_BASE_URL": self.root,
            "OPENAI_API_KEY": KEY,
            "ANTHROPIC_API_KEY": KEY,
        }

    def kill_client(self) -> None:
        """Kill the client, and wait until it is gone."""
        while self.client is None:
            time.sleep(0.01)
        os.kill(self.client.pid, signal.SIGKILL)
        self.client.wait()
        raise HangUpError

    def __enter__(self) -> Self:
        """Begin to listen."""
        threading.Thread(target=self._listener.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_reason: object) -> None:
        """End."""
        self._listener.shutdown()
        self._listener.server_close()

    def hook(self, what: str) -> None:
        """Do what the test wants at this point."""
        self.hooks.get(what, lambda: None)()

    def create(
        self, requests: list[tuple[str, dict[str, Any]]], metadata: Any = None, file: Any = None
    ) -> Batch:
        """Take a batch."""
        with self.lock:
            plan = self.plans.pop(0) if self.plans else Plan()
            name = f"batch_{len(self.batches)}"
            batch = Batch(name, requests, plan, metadata or {}, file)
            self.batches.append(batch)
            if not plan.refused:
                self.asked.update((prompt_of(body), body.get("seed")) for _, body in requests)
        return batch

    def named(self, name: str) -> Batch | None:
        return next((batch for batch in self.batches if batch.name == name), None)


def openai_reply(body: Mapping[str, Any], text: str, model: str) -> dict[str, Any]:
    choice: dict[str, Any] = {"index": 0, "finish_reason": "stop"}
    if "prompt" in body:
        choice["text"] = text
    else:
        choice["message"] = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 100, "completion_tokens": 10}
    usage["prompt_tokens_details"] = {"cached_tokens": 40}  # type: ignore[assignment]
    return {"model": model, "choices": [choice], "usage": usage}


def anthropic_reply(text: str, model: str) -> dict[str, Any]:
    blocks = [{"type": "thinking", "thinking": "えーと"}, {"type": "text", "text": text}]
    usage = {"input_tokens": 60, "cache_read_input_tokens": 40, "output_tokens": 10}
    return {"model": model, "content": blocks, "stop_reason": "end_turn", "usage": usage}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    @property
    def owner(self) -> BatchService:
        return self.server.owner  # type: ignore[attr-defined,no-any-return]

    def do_GET(self) -> None:
        self._answer("GET", b"")

    def do_POST(self) -> None:
        self._answer("POST", self.rfile.read(int(self.headers.get("content-length") or 0)))

    def _answer(self, method: str, content: bytes) -> None:
        owner = self.owner
        path = self.path.split("?")[0]
        owner.calls.append((method, self.path))
        owner.headers.append({key.lower(): value for key, value in self.headers.items()})
        try:
            status, reply = self._result(method, path, content)
        except HangUpError:
            self.close_connection = True
            return
        except StatusError as error:
            status, reply = error.args[0], {"error": {"message": "not today."}}
        sent = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
        try:
            self.send_response(status)
            self.send_header("content-length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)
            self.wfile.flush()
        except OSError:
            self.close_connection = True

    def _result(self, method: str, path: str, content: bytes) -> tuple[int, Any]:
        for expected, pattern, handle in _ROUTES:
            found = re.fullmatch(pattern, path)
            if found and method == expected:
                return handle(self, *found.groups()) if method == "GET" else handle(self, content)
        return 404, {"error": {"message": "no such path"}}

    def upload(self, content: bytes) -> tuple[int, Any]:
        owner = self.owner
        name = f"file-{len(owner.files)}"
        boundary = self.headers["content-type"].partition("boundary=")[2].encode()
        parts = content.split(b"--" + boundary)
        assert b'name="purpose"\r\n\r\nbatch\r\n' in parts[1]
        owner.files[name] = parts[2].partition(b"\r\n\r\n")[2].removesuffix(b"\r\n")
        owner.hook("upload")
        return 200, {"id": name}

    def create_openai(self, content: bytes) -> tuple[int, Any]:
        owner, asked = self.owner, json.loads(content)
        owner.hook("before create")
        lines = [json.loads(line) for line in owner.files[asked["input_file_id"]].splitlines()]
        assert {line["url"] for line in lines} == {asked["endpoint"]}
        metadata = asked["metadata"] if owner.has_metadata else None
        requests = [(line["custom_id"], line["body"]) for line in lines]
        batch = owner.create(requests, metadata, asked["input_file_id"])
        owner.hook("create")
        return 200, self.openai(batch)

    def create_anthropic(self, content: bytes) -> tuple[int, Any]:
        owner, lines = self.owner, json.loads(content)["requests"]
        owner.hook("before create")
        batch = owner.create([(line["custom_id"], line["params"]) for line in lines])
        if batch.plan.refused:
            owner.batches.remove(batch)
            return 400, _error("invalid_request_error", batch.plan.refused[0])
        owner.hook("create")
        return 200, self.anthropic(batch)

    def list_openai(self) -> tuple[int, Any]:
        self.owner.hook("list")
        return self._page(self.openai, "after")

    def list_anthropic(self) -> tuple[int, Any]:
        self.owner.hook("list")
        return self._page(self.anthropic, "after_id")

    def _page(self, shown: Callable[[Batch], Any], cursor: str) -> tuple[int, Any]:
        """Two batches at a time."""
        names = [batch.name for batch in self.owner.batches[::-1]]
        after = parse_qs(urlsplit(self.path).query).get(cursor)
        start = names.index(after[0]) + 1 if after else 0
        page = [shown(batch) for batch in self.owner.batches[::-1][start : start + 2]]
        return 200, {"data": page, "has_more": start + 2 < len(names)}

    def look_openai(self, name: str) -> tuple[int, Any]:
        return self._looked(self.owner.named(name), self.openai)

    def look_anthropic(self, name: str) -> tuple[int, Any]:
        return self._looked(self.owner.named(name), self.anthropic)

    def results_openai(self, name: str) -> tuple[int, Any]:
        kind, _, batch = name.partition("-")
        return self._results(batch, lambda found: self._openai_lines(found, kind))

    def results_anthropic(self, name: str) -> tuple[int, Any]:
        return self._results(name, self._anthropic_lines)

    def _results(self, name: str, lines: Callable[[Batch], list[bytes]]) -> tuple[int, Any]:
        self.owner.hook("results")
        found = self.owner.named(name)
        assert found is not None
        return 200, b"\n".join(found.plan.edit(lines(found)))

    def message(self, content: bytes) -> tuple[int, Any]:
        body = self._single(content)
        return 200, anthropic_reply(self.owner.says(body), "served-1")

    def completion(self, content: bytes) -> tuple[int, Any]:
        body = self._single(content)
        return 200, openai_reply(body, self.owner.says(body), "served-1")

    def _single(self, content: bytes) -> dict[str, Any]:
        body: dict[str, Any] = json.loads(content)
        self.owner.asked[prompt_of(body), body.get("seed")] += 1
        self.owner.hook("single")
        return body

    def _looked(self, batch: Batch | None, shown: Callable[[Batch], Any]) -> tuple[int, Any]:
        self.owner.hook("look")
        if batch is None:
            return 404, {"error": {"message": "no such batch"}}
        batch.looked += 1
        return 200, shown(batch)

    def openai(self, batch: Batch) -> dict[str, Any]:
        plan, total = batch.plan, len(batch.requests)
        ended = batch.has_ended
        status = ("failed" if plan.refused else plan.final) if ended else "in_progress"
        data = [{"code": "bad", "message": words, "line": 1} for words in plan.refused]
        files = ended and not plan.refused
        return {
            "id": batch.name,
            "object": "batch",
            "status": status,
            "created_at": int(batch.created),
            "metadata": batch.metadata or None,
            "input_file_id": batch.file,
            "errors": {"object": "list", "data": data} if ended and data else None,
            "output_file_id": f"out-{batch.name}" if files else None,
            "error_file_id": f"err-{batch.name}"
            if files and self._openai_lines(batch, "err")
            else None,
            "request_counts": {"total": total, "completed": total if ended else 0, "failed": 0},
        }

    def anthropic(self, batch: Batch) -> dict[str, Any]:
        total, ended = len(batch.requests), batch.has_ended
        counts = dict.fromkeys(("errored", "canceled", "expired"), 0)
        done = {"processing": 0 if ended else total, "succeeded": total if ended else 0}
        return {
            "id": batch.name,
            "type": "message_batch",
            "processing_status": "ended" if ended else "in_progress",
            "request_counts": {**done, **counts},
            "created_at": datetime.fromtimestamp(batch.created, UTC).isoformat(),
            "results_url": "http://elsewhere.example/results" if ended else None,
        }

    def _openai_lines(self, batch: Batch, kind: str) -> list[bytes]:
        lines = []
        for number, (custom_id, body) in enumerate(batch.requests):
            dropped = batch.plan.drop(number, body)
            if (dropped is None) != (kind == "out"):
                continue
            line: dict[str, Any] = {"id": f"r{number}", "custom_id": custom_id, "error": None}
            if dropped is None:
                reply = openai_reply(body, self.owner.says(body), batch.plan.model)
                line["response"] = {"status_code": 200, "body": reply}
            elif isinstance(dropped, tuple):
                error = {
                    "message": dropped[0],
                    "param": dropped[1],
                    "code": "unsupported_parameter",
                }
                line["response"] = {"status_code": 400, "body": {"error": error}}
            else:
                error = {"code": f"batch_{dropped}", "message": f"the batch has {dropped}"}
                line |= {"response": None, "error": error}
            lines.append(json.dumps(line, ensure_ascii=False).encode())
        return lines

    def _anthropic_lines(self, batch: Batch) -> list[bytes]:
        lines = []
        for number, (custom_id, body) in enumerate(batch.requests):
            dropped = batch.plan.drop(number, body)
            result: dict[str, Any] = {"type": dropped}
            if dropped is None:
                message = anthropic_reply(self.owner.says(body), batch.plan.model)
                result = {"type": "succeeded", "message": message}
            elif isinstance(dropped, tuple):
                error = _error("invalid_request_error", f"{dropped[1]}: {dropped[0]}")
                result = {"type": "errored", "error": error}
            line = {"custom_id": custom_id, "result": result}
            lines.append(json.dumps(line, ensure_ascii=False).encode())
        return lines

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _error(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}


_ROUTES: list[tuple[str, str, Callable[..., tuple[int, Any]]]] = [
    ("POST", "/v1/files", _Handler.upload),
    ("POST", "/v1/batches", _Handler.create_openai),
    ("POST", "/v1/messages/batches", _Handler.create_anthropic),
    ("POST", "/v1/messages", _Handler.message),
    ("POST", "/v1/(?:chat/)?completions", _Handler.completion),
    ("GET", "/v1/batches", _Handler.list_openai),
    ("GET", "/v1/messages/batches", _Handler.list_anthropic),
    ("GET", "/v1/batches/([^/]+)", _Handler.look_openai),
    ("GET", "/v1/messages/batches/([^/]+)", _Handler.look_anthropic),
    ("GET", "/v1/files/([^/]+)/content", _Handler.results_openai),
    ("GET", "/v1/messages/batches/([^/]+)/results", _Handler.results_anthropic),
]
