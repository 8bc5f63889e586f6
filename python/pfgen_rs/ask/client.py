"""Requests to a server: sending, retrying, giving up; imports aiohttp."""

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from random import Random
from typing import IO, Any, NamedTuple, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

from pfgen_rs.ask import retrying, server, wire
from pfgen_rs.ask.protocol import LOG, Answered, Details, Failed, Outcome, Parameters, Task, Usage
from pfgen_rs.ask.retrying import Again, Hopeless, Refused, Unwanted
from pfgen_rs.ask.window import Gate, Window
from pfgen_rs.errors import GenerationError

_CONNECTING = 10.0
"""Seconds to wait for a connection."""
_SILENT = 8
"""Number of tasks in a row without any response after which the server is considered down."""
_REFUSED = 8
"""Number of tasks rejected for one option, with none answered, after which it counts as unsupported."""

_FOREIGN = 3
"""Number of replies in a row, before any that is JSON, after which the address counts as wrong."""
_START = 40
"""Characters of such a reply to show."""
_BEGINNING = 1000
"""Bytes of it that are looked at, in which the key is found whole."""

T = TypeVar("T")
CallResult = dict[str, Any] | retrying.ErrorReply | Again
_Verdict = Outcome | Again | Refused | Hopeless


@dataclass
class Connection:
    """Connections to one server while it is entered, and sending with patience.

    Redirects are not followed: prompts and key are for the address that was given. `timeout`: seconds for one
    attempt in total, which also limits servers that keep sending single bytes. `retries`: attempts after the
    first. Raises `GenerationError` for an unusable proxy.
    """

    place: server.Place
    form: wire.Form
    timeout: float
    retries: int
    backoff: retrying.Backoff
    waits: retrying.Waits

    def __post_init__(self) -> None:
        self._url, self._proxy = self.place.url.rstrip("/"), _proxy(self.place.url)
        self._timed_out = False

    def open(self) -> None:
        """Prepare to connect."""
        self._http = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),  # as many as there are workers
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={
                "Content-Type": "application/json",
                "User-Agent": "pfgen_rs",
                **self.form.headers(self.place.sent_key),
            },
            timeout=aiohttp.ClientTimeout(
                self.timeout,
                sock_connect=min(self.timeout, _CONNECTING),
                ceil_threshold=2 * self.timeout,  # else it rounds those above 5 s to whole seconds
            ),
        )

    async def __aexit__(self, *_reason: object) -> None:
        await self._http.close()

    async def persistently(
        self, attempt: Callable[[], Awaitable[T | Again]], seed: str
    ) -> T | Again:
        """Returns what an attempt comes to, or the last of those that failed for the time being.

        Each attempt and the wait after it take a turn, so as many fewer are under way as there are waiting.
        `seed`: from which the lengths of waits are drawn, so that they do not depend on who waited before.
        """
        random = None
        for failure in itertools.count():
            async with self._turn(failure):
                result = await attempt()
                if not isinstance(result, Again) or failure == self.retries:
                    break
                random = random or Random(seed)  # noqa: S311
                seconds = self.backoff.wait(failure, random, result.after)
                self.waits.report(result.reason, seconds, result.after)
                await asyncio.sleep(seconds)
        return result

    def _turn(self, _failures: int) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    async def send(
        self,
        method: str,
        path: str,
        data: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        into: IO[bytes] | None = None,
    ) -> bytes | retrying.ErrorReply | Again:
        """Returns the content of a successful reply, or what was answered with another status than 2xx.

        `into`: a file that takes the content, in place of what it has. Without a response, `Again`.
        """
        try:
            async with self._http.request(
                method,
                self._url + path,
                data=data,
                headers=headers,
                proxy=self._proxy,
                allow_redirects=False,
            ) as reply:
                if into is None or not 200 <= reply.status < 300:
                    content = await reply.read()
                else:
                    content = b""
                    into.seek(0)
                    into.truncate()
                    async for part in reply.content.iter_any():
                        into.write(part)
        except (aiohttp.ClientError, OSError) as error:
            busy = "timeout" if isinstance(error, TimeoutError) else ""
            return Again(self._trouble(error), answered=False, busy=busy)
        if 200 <= reply.status < 300:
            return content
        return retrying.ErrorReply.read(reply.status, reply.headers, str(reply.url), content)

    def _trouble(self, error: BaseException) -> str:
        """Describe a failure by its innermost error, since the outer ones may be misleading."""
        if isinstance(error, TimeoutError):
            reason = f"no answer within {self.timeout:g} seconds"
            if isinstance(error, aiohttp.ServerTimeoutError):
                reason = f"no connection within {min(self.timeout, _CONNECTING):g} seconds"
            if not self._timed_out:
                self._timed_out = True
                LOG.warning("a request timed out: %s (--set timeout=…, retries=…)", reason)
            return reason
        while error.__cause__ is not None:
            error = error.__cause__
        # aiohttp's text for a truncated body begins with 400, though no server sent that status.
        words = getattr(error, "message", "") or error
        return f"the connection failed: {server.in_short(words, self.place.key) or type(error).__name__}"


@dataclass
class Session(Connection):
    """A connection whose context returns the function that answers a task.

    `count` is called with the usage of each request and reply. `window`: how many are under way at once.
    """

    parameters: Parameters
    count: Callable[[Usage], None]
    window: Window
    optional: retrying.OptionalParameters = field(default_factory=retrying.OptionalParameters)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._gate, self._under_way = Gate(self.window), 0
        self._understood = self._heard = self._answered = False
        self._foreign = self._silent = 0
        self._refused: Counter[str] = Counter()

    async def __aenter__(self) -> Callable[[Task], Awaitable[Outcome]]:
        self.open()
        return self._outcome

    def _turn(self, failures: int) -> AbstractAsyncContextManager[None]:
        return self._gate.turn(again=failures > 0)

    async def _outcome(self, task: Task) -> Outcome:
        """Returns the answer to a task or its failure; raises `GenerationError` if all tasks are affected."""
        verdict = self._judged(await self._persistently(task))
        if isinstance(verdict, Answered):
            self._answered = True
            return without_key(verdict, self.place)
        reason = server.redacted(verdict.reason, self.place.key)
        if isinstance(verdict, Hopeless):
            raise GenerationError(reason)
        if isinstance(verdict, Failed):
            return verdict._replace(reason=reason)
        return Failed(task, reason, individual=verdict.individual)

    def _judged(self, verdict: Outcome | Refused | Hopeless) -> Outcome | Refused | Hopeless:
        """Generalise a rejection to all tasks if only one option was rejected so far and nothing answered."""
        if self._answered or not isinstance(verdict, Refused) or verdict.option is None:
            return verdict
        # Servers report too long prompts as too large max_tokens, with different numbers each time.
        what = verdict.reason if verdict.option == "max_tokens" else verdict.option
        self._refused[what] += 1
        if self._refused[what] < _REFUSED or len(self._refused) > 1:
            return verdict
        return Hopeless(f"{verdict.reason}: {self.form.cure(verdict.option)}")

    async def _persistently(self, task: Task) -> Outcome | Refused | Hopeless:
        attempts, tries = itertools.count(1), itertools.count()
        verdict: _Verdict = await self.persistently(
            lambda: self._noted(task, attempts, next(tries)), f"{task.seed} {task.question}"
        )
        if isinstance(verdict, Again):
            return self._given_up(verdict)
        return verdict

    def _given_up(self, last: Again) -> Refused | Hopeless:
        reason = f"{last.reason} (attempts: {self.retries + 1})"
        if last.answered:
            return Refused(reason)
        self._silent += 1
        # A single task may crash a server; several in a row, or the very first, mean that it is down.
        if self._heard and self._silent < _SILENT:
            return Refused(reason)
        return Hopeless(
            f"{self.place.url}: {reason}. Check that the server is running, and its address"
        )

    async def _noted(self, task: Task, attempts: Iterator[int], before: int) -> _Verdict:
        """Attempt a task that failed so often before, and tell window and gate how that went."""
        busy, begun = self._gate.busy, time.monotonic()
        self._under_way += 1
        try:
            verdict = await self._attempt(task, attempts)
        finally:
            self._under_way -= 1
        now = time.monotonic()
        if isinstance(verdict, Answered):
            self.window.answered(begun, now, busy)
        elif isinstance(verdict, Again) and verdict.busy:
            left = self._under_way
            self.window.refused(begun, now, busy, verdict.busy, before=before, left=left)
            if verdict.after:  # those that were refused come back before others
                seconds = min(verdict.after, self.backoff.patience)
                self._gate.close(seconds + self.backoff.first)
        return verdict

    async def _attempt(self, task: Task, attempts: Iterator[int]) -> _Verdict:
        """Send a request, and again at once without each optional parameter for which it is refused.

        `attempts` numbers all requests of the task.
        """
        options = self.form.options(task, self.parameters)
        left_out = self.optional.left_out & options.keys()
        refused: list[Unwanted] = []
        while True:
            sent = {name: value for name, value in options.items() if name not in left_out}
            begun, number = time.monotonic(), next(attempts)
            verdict = await self._sent(task, sent)
            if not isinstance(verdict, Unwanted):
                break
            refused.append(verdict)
            left_out |= {verdict.option}
        if isinstance(verdict, Answered | Failed):
            self.optional.accept(refused, sent)
        if isinstance(verdict, Answered) and verdict.details is not None:
            seconds = time.monotonic() - begun
            details = replace(
                verdict.details,
                left_out=tuple(sorted(left_out)),
                seconds=seconds,
                sent=sent,
                attempts=number,
            )
            return verdict._replace(details=details)
        return verdict

    async def _sent(self, task: Task, options: Mapping[str, Any]) -> _Verdict | Unwanted:
        path, body = self.form.request(task, options)
        self.count(Usage(requests=1))
        reply = await self.send("POST", path, wire.encoded(body))
        if isinstance(reply, Again):
            return reply
        self._heard, self._silent = True, 0
        if isinstance(reply, retrying.ErrorReply):
            option = self.optional.unwanted(reply, options.keys())
            if option is None:
                return retrying.refusal(reply, self.form.model, self.place)
            return Unwanted(option, retrying.described(reply, self.place.key))
        return self._read(task, reply)

    def _read(self, task: Task, content: bytes) -> Outcome | Again | Hopeless:
        try:
            reply = wire.read_reply(content)
        except wire.CutError as error:
            return self._foreign_reply(content) or Again(str(error))
        self._understood = True
        outcome = self.form.answer(task, reply, self.place.key)
        details = outcome.details if isinstance(outcome, Answered) else None
        self.count((details and details.usage) or self.form.usage(reply))
        return outcome

    def _foreign_reply(self, content: bytes) -> Hopeless | None:
        """Give up if the first replies are something other than JSON objects, whole or truncated."""
        start = content.lstrip()[:_BEGINNING]
        self._foreign = 0 if start.startswith(b"{") else self._foreign + 1
        if self._understood or self._foreign < _FOREIGN:
            return None
        shown = server.in_short(start.decode(errors="replace"), self.place.key)[:_START]
        return Hopeless(
            f"{self.place.url}: the server's replies are not JSON; they begin with {shown!r}. Check the "
            f"base URL ({self.place.service.base_url}), {self.place.service.hint}"
        )


class Call(NamedTuple):
    """A request besides those of tasks; the arguments of `Connection.send`."""

    method: str
    path: str
    data: bytes | None = None
    headers: Mapping[str, str] | None = None
    into: IO[bytes] | None = None


@dataclass
class Calls(Connection):
    """A connection whose context returns the function that makes a call.

    That returns the JSON object in the reply (empty with `into`), the server's refusal, or the last of
    several failures for the time being.
    """

    async def __aenter__(self) -> Callable[[Call], Awaitable[CallResult]]:
        self.open()
        return self._called

    async def _called(self, call: Call) -> CallResult:
        return await self.persistently(lambda: self._attempt(call), call.path)

    async def _attempt(self, call: Call) -> CallResult:
        reply = await self.send(*call)
        if isinstance(reply, Again):
            return reply
        if isinstance(reply, retrying.ErrorReply):
            verdict = retrying.refusal(reply, self.form.model, self.place)
            return verdict if isinstance(verdict, Again) else reply
        try:
            return {} if call.into is not None else wire.read_reply(reply)
        except wire.CutError as error:
            return Again(str(error))


def without_key(outcome: Answered, place: server.Place) -> Outcome:
    """Turn an answer that contains the key into a failure, since answers are never edited."""
    if place.secret and any(map(place.is_exposed_by, _texts(outcome))):
        reason = f"the answer contains the API key ({place.service.key}) and was discarded"
        return Failed(outcome.task, reason)
    return outcome


def _texts(answered: Answered) -> Iterator[str]:
    """Yield all texts in an answer that come from the server."""
    details = answered.details or Details()
    yield from (answered.text, details.reasoning or "")
    yield from wire.texts_in_tokens(details.tokens or ())


def _proxy(url: str) -> str | None:
    """Returns the proxy that the environment names for an address.

    Not left to aiohttp, which would look for it, and for another key in `~/.netrc`, at every request.
    """
    parts, proxies = urlsplit(url), getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(parts.netloc):
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    if urlsplit(proxy).scheme not in ("http", "https"):  # not shown: it may contain a password
        raise GenerationError(
            f"the proxy that the environment names for {parts.scheme} is not supported: expected http://host:port"
        )
    return proxy
