"""One series of requests to a server: asking, asking again, giving up."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from random import Random

import openai

from pfgen_rs.errors import GenerationError
from pfgen_rs.generate.engines.backoff import Backoff
from pfgen_rs.generate.engines.openai_failures import Again, Hopeless, Refused, cure, refusal
from pfgen_rs.generate.engines.openai_place import KEY, Place
from pfgen_rs.generate.engines.openai_wire import CutError, Form, in_short, read_answer
from pfgen_rs.generate.engines.protocol import Answered, Failed, Outcome, Parameters
from pfgen_rs.generate.engines.waits import Waits
from pfgen_rs.generate.prompts import Task

__all__ = ["Session", "connected"]

_CONNECTING = 10.0
"""Seconds in which a connection must come about."""
_SILENT = 8
"""After so many tasks in a row without any response, the server is taken to be gone."""
_REFUSED = 8
"""After so many tasks refused for one option, and none answered, it is taken to be refused always."""

_Verdict = Outcome | Again | Refused | Hopeless


@asynccontextmanager
async def connected(place: Place, timeout: float) -> AsyncIterator[openai.AsyncOpenAI]:
    """A client of a server; closed in the end. `timeout` in seconds."""
    client = openai.AsyncOpenAI(
        base_url=place.url,
        api_key=place.sent_key,
        # The package's own retries draw from an unseeded source and cannot be timed.
        max_retries=0,
        timeout=openai.Timeout(timeout, connect=min(timeout, _CONNECTING)),
        http_client=_fast_client(),
    )
    async with client:
        yield client


class Session:
    """Asks for tasks over one client.

    `timeout`: seconds that an attempt may take in all, which also bounds servers that send a byte now and
    then. `retries`: attempts after the first.
    """

    def __init__(
        self,
        client: openai.AsyncOpenAI,
        place: Place,
        form: Form,
        parameters: Parameters,
        *,
        timeout: float,
        retries: int,
        backoff: Backoff,
    ) -> None:
        self._client = client
        self._place = place
        self._form = form
        self._parameters = parameters
        self._timeout = timeout
        self._retries = retries
        self._backoff = backoff
        self._broken = _transport_errors()
        self._waits = Waits()
        self._heard = False
        self._silent = 0
        self._answered = False
        self._refused: Counter[str] = Counter()

    async def outcome(self, task: Task) -> Outcome:
        """The answer to a task, or why there is none; raises `GenerationError` for what concerns all."""
        verdict = self._judged(await self._persistently(task))
        if isinstance(verdict, Answered):
            self._answered = True
            return self._without_key(verdict)
        reason = self._place.redact(verdict.reason)
        if isinstance(verdict, Hopeless):
            raise GenerationError(reason)
        return Failed(task, reason)

    def _without_key(self, outcome: Answered) -> Outcome:
        """The answer as the server sent it or, if it holds the key, a failure: answers are never edited."""
        if self._place.is_exposed_by(outcome.text):
            return Failed(outcome.task, f"the answer contains the API key ({KEY}); it was not kept")
        return outcome

    def _judged(self, verdict: Outcome | Refused | Hopeless) -> Outcome | Refused | Hopeless:
        """The verdict, or that it holds for all: one option was refused so far, and nothing answered."""
        if self._answered or not isinstance(verdict, Refused) or verdict.option is None:
            return verdict
        # Prompts that are too long are said to leave too few tokens, each in its own words.
        what = verdict.reason if verdict.option == "max_tokens" else verdict.option
        self._refused[what] += 1
        if self._refused[what] < _REFUSED or len(self._refused) > 1:
            return verdict
        return Hopeless(f"{verdict.reason}: {cure(verdict.option)}")

    async def _persistently(self, task: Task) -> Outcome | Refused | Hopeless:
        verdict = await self._attempt(task)
        if not isinstance(verdict, Again):
            return verdict
        # A source for each task, so that waits do not depend on which task failed first.
        random = Random(f"{task.seed} {task.question}")  # noqa: S311
        for failure in range(self._retries):
            seconds = self._backoff.wait(failure, random, verdict.after)
            self._waits.tell(self._place.redact(verdict.reason), seconds, verdict.after)
            await asyncio.sleep(seconds)
            verdict = await self._attempt(task)
            if not isinstance(verdict, Again):
                return verdict
        return self._given_up(verdict)

    def _given_up(self, last: Again) -> Refused | Hopeless:
        reason = f"{last.reason} (attempts: {self._retries + 1})"
        if last.answered:
            return Refused(reason)
        self._silent += 1
        # One task may break a server; several in a row, or the very first, say that there is none.
        if self._heard and self._silent < _SILENT:
            return Refused(reason)
        return Hopeless(f"{self._place.url}: {reason}. Check that the server runs, and its address")

    async def _attempt(self, task: Task) -> _Verdict:
        path, body = self._form.request(task, self._parameters)
        try:
            async with asyncio.timeout(self._timeout):
                content = await self._client.post(path, cast_to=bytes, body=body)
        except openai.APIStatusError as error:
            verdict: _Verdict = refusal(error, self._form.model)
        except self._broken as error:
            return Again(self._trouble(error), answered=False)
        else:
            verdict = _read(task, content)
        self._heard, self._silent = True, 0
        return verdict

    def _trouble(self, error: BaseException) -> str:
        """What went wrong, by the innermost error: what wraps it may call anything a time-out."""
        causes = list(_chain(error))
        if any(isinstance(cause, TimeoutError) for cause in causes):
            return f"no answer in time, of {self._timeout:g} seconds at most"
        # aiohttp's words for a body that was cut begin with 400, which no server said.
        words = getattr(causes[-1], "message", "") or causes[-1]
        return f"the connection failed: {in_short(words) or type(causes[-1]).__name__}"


def _read(task: Task, content: bytes) -> Outcome | Again:
    try:
        return read_answer(task, content)
    except CutError as error:
        return Again(str(error))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _fast_client() -> openai.DefaultAsyncHttpxClient | None:
    """The client over aiohttp, which takes half the time, where it is installed; None: the default one."""
    try:
        return openai.DefaultAioHttpClient()
    except (AttributeError, RuntimeError):
        return None


def _transport_errors() -> tuple[type[Exception], ...]:
    """What a failed transfer raises; aiohttp's errors are not all translated."""
    try:
        from aiohttp import ClientError
    except ImportError:
        return (openai.APIError, OSError)
    return (openai.APIError, OSError, ClientError)
