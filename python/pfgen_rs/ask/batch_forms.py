"""How providers take batches of requests: OpenAI as uploaded files, Anthropic in one request."""

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, NamedTuple, Protocol
from urllib.parse import quote

from pfgen_rs.ask import retrying, server
from pfgen_rs.ask.wire import encoded
from pfgen_rs.errors import GenerationError

Call = Callable[..., dict[str, Any]]
"""Sends a request (method, path, content, headers), and returns the JSON object in the reply."""
Reply = Mapping[str, Any] | retrying.ErrorReply | str
"""What a batch has for a request: a reply as to a single one, an error, or why there is none."""

_PAGE = 100  # batches of a list
_NAME = 49  # characters: a name has two parts
_SLACK = 600.0  # seconds by which clocks may differ
_TAG = "pfgen_rs"
_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "rate_limit_error": 429,
}
"""Statuses that Anthropic's kinds of errors have, which batches do not tell; others are 500."""


def name_of(custom_id: str) -> str:
    """Returns the name of a request, whose `custom_id` goes on with what tells submissions apart."""
    return custom_id[:_NAME]


@dataclass
class Submission:
    """A batch that was submitted, or is about to be.

    `tag`: names it here. `ids`: the `custom_id` of each request in it. `since`: when it was noted, in seconds
    since 1970. `file`: the uploaded file. `batch`: its name at the server, once known.
    """

    tag: str
    base_url: str
    ids: Sequence[str]
    since: float
    file: str | None = None
    batch: str | None = None


class State(NamedTuple):
    """What the server says of a batch.

    `done` of `total` requests. `refused`: why the server took none of it. `results`: paths of its results.
    """

    batch: str
    status: str
    ended: bool
    done: int
    total: int
    refused: str = ""
    results: tuple[str, ...] = ()


class BatchForm(Protocol):
    """How a provider takes batches. `most` requests, and `most_bytes`: limits of a batch."""

    most: ClassVar[int]
    most_bytes: ClassVar[int]
    missing: ClassVar[Mapping[str, str]]
    """Why requests have no result, by the status of their batch."""
    is_found_by_name: ClassVar[bool]
    """Whether `found` yields nothing but the batch that is looked for."""
    place: server.Place

    def __init__(self, place: server.Place) -> None:
        self.place = place

    def text(self, reply: Mapping[str, Any], key: str) -> str:
        """Returns a name that the server gives. Raises `GenerationError` if it is none that can be noted."""
        value = reply.get(key)
        if not isinstance(value, str) or not value or not value.isprintable():
            raise GenerationError(
                f"the server's reply is not that of a batch API: {key!r} is missing or unprintable. Check "
                "that it has batches"
            )
        if self.place.is_exposed_by(value):
            raise GenerationError(
                f"the server's reply has the API key ({self.place.service.key}) in {key!r}, and is not used"
            )
        return value

    def listed(self, call: Call, path: str, cursor: str) -> Iterator[Mapping[str, Any]]:
        """Yield all batches of a list, the newest first."""
        after = ""
        while True:
            reply = call("GET", f"{path}?limit={_PAGE}{after}")
            data = reply.get("data")
            batches = (
                [each for each in data if isinstance(each, Mapping)]
                if isinstance(data, list)
                else []
            )
            yield from batches
            if not reply.get("has_more") or not batches:
                return
            after = f"&{cursor}={quote(self.text(batches[-1], 'id'), safe='')}"

    def line(self, custom_id: str, path: str, body: Mapping[str, Any]) -> bytes:
        """Returns a request as it stands in a batch."""

    def upload(self, call: Call, lines: Sequence[bytes]) -> str | None:
        """Send what can be sent before the batch is created; returns its name."""

    def creation(
        self, submission: Submission, path: str, lines: Sequence[bytes]
    ) -> tuple[str, bytes]:
        """Returns path and content of the request that creates a batch of requests to `path`."""

    def state(self, reply: Mapping[str, Any]) -> State:
        """Read what a server says of a batch. Raises `GenerationError` if that is nothing of the kind."""

    def path(self, batch: str) -> str:
        """Returns the path of a batch."""

    def found(self, call: Call, submission: Submission) -> Iterator[State]:
        """Yield the batches at the server that may be this one, whose creation was not noted."""

    def result(self, record: Mapping[str, Any]) -> tuple[str, Reply]:
        """Read a line of results. Raises `GenerationError` if it is none."""


class OpenAIBatches(BatchForm):
    """`POST /files` and `/batches`; the tag of a batch is in its metadata."""

    most = 50_000
    most_bytes = 200_000_000
    is_found_by_name = True
    missing: ClassVar = {
        "expired": "the batch expired before it was answered",
        "cancelled": "the batch was cancelled before it was answered",
    }
    _ENDED = ("completed", "failed", "expired", "cancelled")

    def line(self, custom_id: str, path: str, body: Mapping[str, Any]) -> bytes:
        """Returns a request as a JSON line."""
        return encoded(
            {"custom_id": custom_id, "method": "POST", "url": f"/v1{path}", "body": body}
        )

    def upload(self, call: Call, lines: Sequence[bytes]) -> str | None:
        """Upload a file, and return its id."""
        mark = uuid.uuid4().hex
        parts = (
            f'--{mark}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
            f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="requests.jsonl"\r\n'
            "Content-Type: application/jsonl\r\n\r\n"
        ).encode()
        content = b"".join(
            [parts, *(line + b"\n" for line in lines), f"\r\n--{mark}--\r\n".encode()]
        )
        headers = {"Content-Type": f"multipart/form-data; boundary={mark}"}
        return self.text(call("POST", "/files", content, headers), "id")

    def creation(
        self, submission: Submission, path: str, _lines: Sequence[bytes]
    ) -> tuple[str, bytes]:
        """Returns path and content of the request that creates the batch."""
        body = {
            "input_file_id": submission.file,
            "endpoint": f"/v1{path}",
            "completion_window": "24h",
            "metadata": {_TAG: submission.tag},
        }
        return "/batches", encoded(body)

    def state(self, reply: Mapping[str, Any]) -> State:
        """Read a batch."""
        status, counts = self.text(reply, "status"), _mapping(reply.get("request_counts"))
        done, failed = (_number(counts, key) for key in ("completed", "failed"))
        files = (f"{kind}_file_id" for kind in ("output", "error"))
        return State(
            self.text(reply, "id"),
            status,
            status in self._ENDED,
            done + failed,
            _number(counts, "total"),
            _refusals(reply.get("errors")) if status == "failed" else "",
            tuple(
                f"/files/{quote(self.text(reply, key), safe='')}/content"
                for key in files
                if reply.get(key)
            ),
        )

    def path(self, batch: str) -> str:
        """Returns the path of a batch."""
        return f"/batches/{quote(batch, safe='')}"

    def found(self, call: Call, submission: Submission) -> Iterator[State]:
        """Yield the batch with the tag or, from servers without metadata, with the file."""
        for reply in self.listed(call, "/batches", "after"):
            created = reply.get("created_at")
            if isinstance(created, int) and created < submission.since - 86400:
                return
            tag = _mapping(reply.get("metadata")).get(_TAG)
            if tag == submission.tag or reply.get("input_file_id") == submission.file:
                yield self.state(reply)

    def result(self, record: Mapping[str, Any]) -> tuple[str, Reply]:
        """Read a line of results or errors."""
        custom_id, response = self.text(record, "custom_id"), record.get("response")
        if not isinstance(response, Mapping):
            error = _mapping(record.get("error"))
            return custom_id, str(error.get("message") or error.get("code") or "no response")
        body, status = _mapping(response.get("body")), response.get("status_code", 200)
        if status == 200:
            return custom_id, body
        status = status if isinstance(status, int) else 500
        return custom_id, retrying.ErrorReply(status, {}, "", body.get("error", body))


class AnthropicBatches(BatchForm):
    """`POST /v1/messages/batches`, which has no place for a tag: a batch is known by its requests."""

    most = 100_000
    most_bytes = 256_000_000
    is_found_by_name = False
    missing: ClassVar[Mapping[str, str]] = {}
    _PATH = "/v1/messages/batches"

    def line(self, custom_id: str, _path: str, body: Mapping[str, Any]) -> bytes:
        """Returns a request as JSON."""
        return encoded({"custom_id": custom_id, "params": body})

    def upload(self, _call: Call, _lines: Sequence[bytes]) -> str | None:
        """Returns nothing: there are no files."""
        return None

    def creation(
        self, _submission: Submission, _path: str, lines: Sequence[bytes]
    ) -> tuple[str, bytes]:
        """Returns path and content of the request that creates the batch."""
        return self._PATH, b'{"requests":[' + b",".join(lines) + b"]}"

    def state(self, reply: Mapping[str, Any]) -> State:
        """Read a batch."""
        batch, status = self.text(reply, "id"), self.text(reply, "processing_status")
        counts = _mapping(reply.get("request_counts"))
        kinds = ("succeeded", "errored", "canceled", "expired")
        done = sum(_number(counts, kind) for kind in kinds)
        total = done + _number(counts, "processing")
        ended = status == "ended"
        results = (f"{self.path(batch)}/results",) if ended else ()
        return State(batch, status, ended, done, total, "", results)

    def path(self, batch: str) -> str:
        """Returns the path of a batch."""
        return f"{self._PATH}/{quote(batch, safe='')}"

    def found(self, call: Call, submission: Submission) -> Iterator[State]:
        """Yield batches of as many requests that were created since."""
        for reply in self.listed(call, self._PATH, "after_id"):
            if _seconds(reply.get("created_at")) < submission.since - _SLACK:
                return
            state = self.state(reply)
            if state.total == len(submission.ids):
                yield state

    def result(self, record: Mapping[str, Any]) -> tuple[str, Reply]:
        """Read a line of results."""
        custom_id, found = self.text(record, "custom_id"), _mapping(record.get("result"))
        kind = self.text(found, "type")
        if kind == "succeeded":
            return custom_id, _mapping(found.get("message"))
        if kind != "errored":
            what = "expired" if kind == "expired" else "was cancelled"
            return custom_id, f"the batch {what} before it was answered"
        error = _mapping(found.get("error"))
        error = _mapping(error.get("error", error))
        status = _STATUS.get(str(error.get("type")), 500)
        return custom_id, retrying.ErrorReply(status, {}, "", error)


def _refusals(errors: object) -> str:
    """Returns the server's words on a file that it refuses, at most three of them."""
    data = _mapping(errors).get("data")
    listed = [each for each in data if isinstance(each, Mapping)] if isinstance(data, list) else []
    words = []
    for each in listed[:3]:
        line = each.get("line")
        where = "" if line is None else f"line {line}: "
        words.append(f"{where}{each.get('message') or each.get('code')}")
    more = f" (and {len(listed) - 3} more)" if len(listed) > 3 else ""
    return "; ".join(words) + more or "no reason was given"


def _number(counts: Mapping[str, Any], key: str) -> int:
    value = counts.get(key)
    return value if type(value) is int and value >= 0 else 0


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _seconds(time: object) -> float:
    """Returns a time in seconds since 1970; infinity if it is none."""
    try:
        return datetime.fromisoformat(str(time)).timestamp()
    except ValueError:
        return float("inf")
