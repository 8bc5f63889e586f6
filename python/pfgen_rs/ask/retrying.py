"""What is asked again after an error, such as HTTP 429, and how long that waits; what else errors mean.

A request that a server refuses is sent again, sent again without an optional parameter, a failed task, or
the end of the run.
"""

import json
import math
import re
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from random import Random
from typing import Any, NamedTuple, Self
from urllib.parse import urljoin, urlsplit

from pfgen_rs.ask import protocol, server

_UNSUPPORTED = ("unsupported_parameter", "unsupported_value")
_USED_UP = "insufficient_quota"
_PASSING = (408, 409, 425, 429)
_BUSY = (429, 503, 529)


@dataclass(frozen=True, slots=True)
class ErrorReply:
    """A reply with another status than 2xx.

    `headers`: found by names in lower case. `body`: the `error` in its JSON, else all of it, else its text.
    """

    status: int
    headers: Mapping[str, str]
    url: str
    body: Any

    @classmethod
    def read(cls, status: int, headers: Mapping[str, str], url: str, content: bytes) -> Self:
        """Read the content of a reply."""
        text = content.decode(errors="replace").strip()
        try:
            body = json.loads(text)
        except (ValueError, RecursionError):
            body = text
        return cls(
            status, headers, url, body.get("error", body) if isinstance(body, dict) else body
        )

    @property
    def code(self) -> str | None:
        """The error's name, such as `insufficient_quota`."""
        code = self._field("code")
        return None if code is None else str(code)

    @property
    def param(self) -> str | None:
        """The name of the parameter that the error is about."""
        param = self._field("param")
        return param if isinstance(param, str) else None

    @property
    def words(self) -> object:
        """What the server says of the error."""
        if isinstance(self.body, dict):
            return self.body.get("message") or self.body.get("detail")
        return self.body

    def _field(self, name: str) -> object:
        return self.body.get(name) if isinstance(self.body, dict) else None


class Again(NamedTuple):
    """A temporary failure.

    `after`: seconds that the server asks to wait. `answered`: whether it sent any response. `busy`: in a
    word, that the server has too much to do, if that is the reason.
    """

    reason: str
    after: float | None = None
    answered: bool = True
    busy: str = ""


class Refused(NamedTuple):
    """A failure of one task.

    `option`: the option that the server rejects, if it names one. `individual`: as in `Failed`.
    """

    reason: str
    option: str | None = None
    individual: bool = False


class Hopeless(NamedTuple):
    """A failure that affects every task."""

    reason: str


def refusal(error: ErrorReply, model: str, place: server.Place) -> Again | Refused | Hopeless:
    """Classify a response with another status than 2xx; no reason shows the API key."""
    words, service = described(error, place.key), place.service
    if 300 <= error.status < 400:
        return Hopeless(f"{words}{_redirected(error, place)}")
    if error.status in (401, 403):
        return Hopeless(f"{words}. Check the API key ({service.key}) and its permissions")
    if error.status == 404:
        where = f"the base URL ({service.base_url})"
        return Hopeless(f"{words}. Check the model {model!r} and {where}")
    if error.code == _USED_UP:
        return Hopeless(words)
    if error.status in _PASSING or error.status >= 500:
        busy = str(error.status) if error.status in _BUSY else ""
        return Again(words, retry_after(error.headers), busy=busy)
    return _option_refusal(error, words)


def _redirected(error: ErrorReply, place: server.Place) -> str:
    """Returns where a redirect leads; it is not followed, since key and prompts are for this server."""
    target = urljoin(error.url, error.headers.get("location", ""))
    shown = server.in_short(urlsplit(target)._replace(query="", fragment="").geturl(), place.key)
    return f" and leads to {shown}, where nothing is sent: check the base URL ({place.service.base_url})"


def described(error: ErrorReply, key: str | None) -> str:
    """Returns the status and the message of an error response in one short line without the API key."""
    shown = f": {server.in_short(error.words, key).rstrip('.')}" if error.words else ""
    return f"the server answered {error.status}{shown}"


def _option_refusal(error: ErrorReply, words: str) -> Refused | Hopeless:
    option = _option(error, words)
    if option is None:
        return Refused(words, individual=True)
    named = f"{words}. It rejects the option {option}"
    # Other errors, such as too long a prompt, may concern only this task.
    if error.code not in _UNSUPPORTED:
        return Refused(named, option, individual=True)
    return Hopeless(f"{named}: {cure(option)}")


def cure(option: str) -> str:
    """Returns advice for a server that rejects an option."""
    omit = f"omit it with --set 'omit=[\"{option}\"]'"
    if option != "max_tokens":
        return omit
    return f"rename it with --set max_tokens_name=max_completion_tokens, or {omit}"


def _option(error: ErrorReply, words: str) -> str | None:
    """Returns the option an error is about: its `param`, else the only option named in its message."""
    if error.param in server.OPTIONS:
        return error.param
    named = [name for name in server.OPTIONS if name in words]
    return named[0] if len(named) == 1 else None


DISPENSABLE = ("logprobs", "seed", "temperature", "top_p")
"""Options that may be declared optional."""

_REFUSALS = (400, 403, 422)
_UNABLE = (500, 501)
"""What some servers answer that cannot report log probabilities."""
_ENOUGH = 2
_NAMED = re.compile(rf"(?<![a-z])(?:{'|'.join(DISPENSABLE)})(?![a-z])")


class Unwanted(NamedTuple):
    """A request refused because of an optional parameter; `reason`: the server's, without secrets."""

    option: str
    reason: str


class OptionalParameters:
    """The optional parameters of an engine, and which of them its server refuses.

    `names`: one of `DISPENSABLE` or a list of them. Raises `SettingsError` for others.
    """

    def __init__(self, names: str | Sequence[str] = ()) -> None:
        self._names = server.option_names("optional", names, DISPENSABLE)
        self.left_out: frozenset[str] = frozenset()
        self._refusals: Counter[str] = Counter()  # in a row

    def unwanted(self, error: ErrorReply, sent: Set[str]) -> str | None:
        """Returns the optional parameter that an error response is about, out of those `sent`, or `None`."""
        option = _option_in_refusal(error)
        if option not in self._names or option not in sent:
            return None
        if error.status in _REFUSALS:
            return option
        return option if option == "logprobs" and error.status in _UNABLE else None

    def accept(self, refused: Sequence[Unwanted], sent: Iterable[str]) -> None:
        """Note that a request was answered with the options `sent`, after others had been refused.

        What two requests in a row were refused for is left out from now on, and logged once: a single
        refusal may be one of many servers behind an address, or a passing fault.
        """
        for option in sent if self._refusals else ():
            self._refusals[option] = 0
        for option, reason in refused:
            self._refusals[option] += 1
            if self._refusals[option] >= _ENOUGH and option not in self.left_out:
                self.left_out |= {option}
                protocol.LOG.warning("%s is not sent from now on, since %s", option, reason)


def _option_in_refusal(error: ErrorReply) -> str | None:
    """Returns the option that `param` names, else `code`, else the message, if it names no other."""
    if error.param:
        return _only_option_in(error.param)
    return _only_option_in(error.code) or _only_option_in(error.words)


def _only_option_in(words: object) -> str | None:
    found = set(_NAMED.findall(str(words).lower()))
    return found.pop() if len(found) == 1 else None


# Waits: how long before a request is retried, and telling why a run stalls.


_LONG = 5.0
"""Minimum wait to log, in seconds."""
_EVERY = 30.0
"""Seconds between log messages."""


class Waits:
    """Counts waits, and logs long ones as warnings, at a limited rate because many requests may be waiting.

    `count`: their number; `seconds`: their sum.
    """

    def __init__(self) -> None:
        self.count, self.seconds, self._next = 0, 0.0, 0.0

    def report(self, reason: str, seconds: float, asked: float | None) -> None:
        """Report a wait of `seconds` that begins now; `asked`: seconds the server asked for."""
        self.count, self.seconds = self.count + 1, self.seconds + seconds
        now = time.monotonic()
        if max(seconds, asked or 0) < _LONG or now < self._next:
            return
        self._next = now + _EVERY
        requested = "" if asked is None else f" (server asked for {asked:,.0f} s)"
        protocol.LOG.warning("waiting %.0f s: %s%s", seconds, reason, requested)


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential backoff, in seconds.

    After failure n (from 0), waits between half and all of `first * 2**n`, at most `longest`. If the server
    says how long to wait, waits that long, at most `patience`, plus a random time up to `first` so that
    clients do not all return at once.
    """

    first: float = 0.5
    longest: float = 30.0
    patience: float = 120.0

    def wait(self, failure: int, random: Random, asked: float | None = None) -> float:
        """Returns the seconds to wait after failure number `failure`; `asked`: as asked by the server."""
        if asked is not None:
            return min(asked, self.patience) + random.uniform(0, self.first)
        # Capped because 2.0**1024 would overflow.
        return random.uniform(0.5, 1) * min(self.longest, self.first * 2.0 ** min(failure, 60))


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Returns the wait in seconds asked by a server: `retry-after-ms`, else `retry-after` (seconds or date).

    Returns `None` if these headers are missing or invalid. `now`: the current time by default.
    """
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        seconds = _seconds(headers.get(name))
        if seconds is not None:
            return seconds * unit
    return _seconds_until(headers.get("retry-after"), now or datetime.now(UTC))


def _seconds(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 <= number < math.inf else None


def _seconds_until(text: str | None, now: datetime) -> float | None:
    try:
        date = parsedate_to_datetime(text or "")
        # A date with the offset -0000 is parsed without a time zone, and means UTC.
        return max(0.0, (date.replace(tzinfo=date.tzinfo or UTC) - now).total_seconds())
    except (ValueError, OverflowError):
        return None
