"""The server that takes batches: what is sent to it besides tasks, and the results that it has."""

import time
from collections.abc import Iterator, Mapping
from typing import IO, Any

from pfgen_rs.ask import retrying, server, wire
from pfgen_rs.ask.batch_forms import BatchForm, Reply, State
from pfgen_rs.ask.client import Call, CallResult, Calls
from pfgen_rs.ask.gathering import Gathered
from pfgen_rs.ask.protocol import LOG
from pfgen_rs.ask.retrying import Again
from pfgen_rs.ask.server_engine import ServerEngine
from pfgen_rs.ask.window import Window
from pfgen_rs.errors import GenerationError
from pfgen_rs.io import atomic
from pfgen_rs.io.text import counted

_DOWNLOADS = 2
"""How often results are fetched if lines of them are damaged."""
_BETWEEN = 1.0  # seconds
_START = 40


class LostError(GenerationError):
    """A batch or its results are not at the server."""


class Damage:
    """What was wrong with the results of a batch. `lines`: damaged ones, the first of them `first`."""

    def __init__(self) -> None:
        self.strangers: set[str] = set()
        self.begin()

    def begin(self) -> None:
        """Begin to read the results, possibly once more."""
        self.lines, self.first = 0, b""

    def note(self, custom_id: str, *, is_known: bool) -> None:
        """Note a result for which no request is open: a second one, or of a request that was never sent."""
        if not is_known:
            self.strangers.add(custom_id)

    @property
    def told(self) -> str:
        """The damaged lines, as part of a reason."""
        return f" ({self.lines:,} damaged lines in its results)" if self.lines else ""

    def warn(self, batch: str, key: str | None) -> None:
        """Warn of what was ignored, without the API key."""
        if self.strangers:
            LOG.warning(
                "batch %s has results of %s that were not in it, which are ignored, such as %r",
                batch,
                counted(len(self.strangers), "request"),
                server.in_short(min(self.strangers), key)[:_START],
            )


class BatchServer:
    """The server of an engine. Raises `GenerationError` with its words, never with the API key."""

    def __init__(self, engine: ServerEngine) -> None:
        self._engine, self.place = engine, engine.place
        self.form: BatchForm = engine.batch_form(engine.place)

    def records(self, state: State, damage: Damage) -> Iterator[tuple[str, Reply]]:
        """Yield each request in the results of a batch; from the start again if lines are damaged."""
        for attempt in range(_DOWNLOADS):
            damage.begin()
            for path in state.results:
                with atomic.temporary_copy(".jsonl") as file:
                    reply = self.reply(Call("GET", path, into=file))
                    self.content(reply, f"the results of batch {state.batch} are")
                    yield from self._lines(file, damage, state.batch)
            if not damage.lines:
                return
            if attempt + 1 < _DOWNLOADS:
                time.sleep(_BETWEEN)

    def _lines(self, file: IO[bytes], damage: Damage, batch: str) -> Iterator[tuple[str, Reply]]:
        file.seek(0)
        found = 0
        for line in file:
            if not line.strip():
                continue
            try:
                custom_id, reply = self.form.result(wire.read_reply(line))
            except (ValueError, GenerationError):
                damage.lines += 1
                damage.first = damage.first or line[:_START]
                continue
            found += 1
            yield custom_id, reply
        if damage.lines and not found:
            start = server.in_short(damage.first.decode(errors="replace"), self.place.key)
            raise LostError(
                f"the results of batch {batch} are no JSON lines; they begin with {start!r}"
            )

    def reply(self, call: Call, retries: int | None = None) -> CallResult:
        """Send something, and return what comes of it."""
        settings = self._engine.connection
        if retries is not None:
            settings["retries"] = retries
        [reply] = Gathered([call], lambda: Calls(**settings), Window(1))
        return reply

    def json(
        self,
        method: str,
        path: str,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Returns the JSON object in the reply. Raises `GenerationError` if there is none."""
        return self.content(self.reply(Call(method, path, content, headers)))

    def content(self, reply: CallResult, what: str = "") -> dict[str, Any]:
        """Returns what was sent for. Raises `GenerationError`; `LostError` if that is gone, and named."""
        if isinstance(reply, Again):
            raise self.unanswered(reply)
        if not isinstance(reply, retrying.ErrorReply):
            return reply
        if what and reply.status in (404, 410):
            raise LostError(f"{what} not found: {retrying.described(reply, self.place.key)}")
        raise self.refused(reply)

    def refused(self, reply: retrying.ErrorReply) -> GenerationError:
        """Returns the error to raise for a refusal."""
        verdict = retrying.refusal(reply, self._engine.form.model, self.place)
        return GenerationError(server.redacted(verdict.reason, self.place.key))

    def unanswered(self, last: Again) -> GenerationError:
        """Returns the error to raise if nothing but passing failures came back."""
        reason = server.redacted(last.reason, self.place.key)
        return GenerationError(
            f"{self.place.url}: {reason}. Check that the server is running, and its address"
        )
