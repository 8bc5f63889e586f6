"""A server's address and its API key, which is never shown; what its errors mean, and waits for it."""

from __future__ import annotations

import ipaddress
import json
import math
import os
import re
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from random import Random
from typing import Any, NamedTuple, Self
from urllib.parse import SplitResult, urljoin, urlsplit

from pfgen_rs.ask.protocol import LOG
from pfgen_rs.errors import GenerationError, SettingsError

SAMPLING = ("seed", "stop", "max_tokens", "temperature", "top_p")
OPTIONS = (*SAMPLING, "logprobs")
"""Options of a request, by their names in this package."""
BASE_URL = "OPENAI_BASE_URL"
KEY = "OPENAI_API_KEY"

_DEFAULT = "https://api.openai.com/v1"
_NO_KEY = "none"
_REDACTED = 8
"""Number of characters of a key, counted from its beginning, that no message shows."""
_SECRET = 16
"""Minimum length of keys that cannot occur in an answer by chance."""
_LOCAL = (".local", ".localhost", ".internal", ".lan")
_SHOWN = 300
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def redacted(text: str, key: str | None) -> str:
    """Remove a key from an error or log message, and what is left of it where it was cut.

    Short placeholders such as `none` or `1` for local servers also occur in ordinary text, and are kept.
    """
    if key is None or len(key) < _REDACTED:
        return text
    parts, end = [], 0
    while (at := text.find(key[:_REDACTED], end)) >= 0:
        parts.append(text[end:at])
        end = at + _REDACTED
        while end - at < len(key) and text[end : end + 1] == key[end - at]:
            end += 1
    return "***".join([*parts, text[end:]])


def in_short(words: object, key: str | None = None) -> str:
    """Shorten a server's message to one line of bounded length without control characters and the key."""
    # The key is removed first: of one that is cut, too little may be left to be recognised.
    line = " ".join(redacted(str(words), key).split())
    shown = line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"
    return "".join(c if c.isprintable() else _REPLACEMENT for c in shown)


@dataclass(frozen=True, slots=True)
class Place:
    """A server's base URL and its API key (`None`: no key needed)."""

    url: str
    key: str | None = field(repr=False)

    @property
    def sent_key(self) -> str:
        """The key to send; the client requires one even if the server does not."""
        return self.key or _NO_KEY

    @property
    def is_openai(self) -> bool:
        """Whether this is OpenAI's own server."""
        return urlsplit(self.url).hostname == urlsplit(_DEFAULT).hostname

    def is_exposed_by(self, answer: str) -> bool:
        """Whether an answer contains the key, or is cut within it, and so must be rejected.

        Answers are never edited.
        """
        if self.secret is None:
            return False
        at = answer.rfind(self.secret[:_SECRET])
        return at >= 0 and (self.secret in answer or self.secret.startswith(answer[at:]))

    @property
    def secret(self) -> str | None:
        """The key if it is long enough not to occur in an answer by chance."""
        return self.key if self.key is not None and len(self.key) >= _SECRET else None


def find_place(base_url: str | None = None, key: str | None = None) -> Place:
    """Returns the server: by argument, else by `OPENAI_BASE_URL` and `OPENAI_API_KEY`, else OpenAI's.

    Raises `SettingsError` for an address that is invalid or contains secrets, and for a key that cannot be
    sent; raises `GenerationError` if a server outside the local network has no key.
    """
    url = find_address(base_url)
    key = (key or os.environ.get(KEY) or "").strip() or None
    parts = _parts(url)
    if key is None and not _is_local(parts.hostname or ""):
        raise GenerationError(f"{parts.hostname} needs an API key: set {KEY} in the environment")
    if key is not None and not (key.isascii() and key.isprintable()):
        raise SettingsError(
            f"the API key ({KEY}, not shown) contains characters that cannot be sent"
        )
    return Place(url, key)


def find_address(base_url: str | None = None) -> str:
    """Returns the server's address as `find_place` does; raises `SettingsError` if it contains secrets."""
    url = base_url or os.environ.get(BASE_URL) or _DEFAULT
    _parts(url)
    return url


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    # The address may contain a password, so it is not shown.
    if not usable or "@" in parts.netloc or parts.query or parts.fragment:
        raise SettingsError(
            f"the base URL ({BASE_URL}) must be http(s)://host[:port]/path, "
            "without a user, a password or a query"
        )
    return parts


def _is_local(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "." not in host or host.endswith(_LOCAL)
    return address.is_private or address.is_loopback or address.is_link_local


# Error replies: retry, leave a parameter out, fail the task, or fail the run.


_UNSUPPORTED = ("unsupported_parameter", "unsupported_value")
_USED_UP = "insufficient_quota"
_PASSING = (408, 409, 425, 429)


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

    `after`: seconds that the server asks to wait. `answered`: whether it sent any response.
    """

    reason: str
    after: float | None = None
    answered: bool = True


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


def refusal(error: ErrorReply, model: str, key: str | None) -> Again | Refused | Hopeless:
    """Classify a response with another status than 2xx; `key`: the API key, which no reason shows."""
    words = described(error, key)
    if 300 <= error.status < 400:
        return Hopeless(f"{words}{_redirected(error, key)}")
    if error.status in (401, 403):
        return Hopeless(f"{words}. Check the API key ({KEY}) and its permissions")
    if error.status == 404:
        return Hopeless(f"{words}. Check the model {model!r} and the base URL ({BASE_URL})")
    if error.code == _USED_UP:
        return Hopeless(words)
    if error.status in _PASSING or error.status >= 500:
        return Again(words, retry_after(error.headers))
    return _option_refusal(error, words)


def _redirected(error: ErrorReply, key: str | None) -> str:
    """Returns where a redirect leads; it is not followed, since key and prompts are for this server."""
    target = urljoin(error.url, error.headers.get("location", ""))
    shown = in_short(urlsplit(target)._replace(query="", fragment="").geturl(), key)
    return f" and leads to {shown}, where nothing is sent: check the base URL ({BASE_URL})"


def described(error: ErrorReply, key: str | None) -> str:
    """Returns the status and the message of an error response in one short line without the API key."""
    shown = f": {in_short(error.words, key)}" if error.words else ""
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
    if error.param in OPTIONS:
        return error.param
    named = [name for name in OPTIONS if name in words]
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
        self._names = _optional_names(names)
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
        for option in sent:
            self._refusals[option] = 0
        for option, reason in refused:
            self._refusals[option] += 1
            if self._refusals[option] >= _ENOUGH and option not in self.left_out:
                self.left_out |= {option}
                LOG.warning("%s is not sent from now on, since %s", option, reason)


def _optional_names(names: object) -> frozenset[str]:
    listed = [names] if isinstance(names, str) else names
    if not isinstance(listed, Sequence):
        raise SettingsError(f"optional must be a list of names, not {names!r:.60}")
    for name in listed:
        if name not in DISPENSABLE:
            expected = ", ".join(DISPENSABLE)
            raise SettingsError(f"{name!r:.60} cannot be optional: expected one of {expected}")
    return frozenset(listed)


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
    """Logs long waits as warnings, at a limited rate because many requests may be waiting."""

    def __init__(self) -> None:
        self._next = 0.0

    def report(self, reason: str, seconds: float, asked: float | None) -> None:
        """Report a wait of `seconds` that begins now; `asked`: seconds the server asked for."""
        now = time.monotonic()
        if max(seconds, asked or 0) < _LONG or now < self._next:
            return
        self._next = now + _EVERY
        requested = "" if asked is None else f" (server asked for {asked:,.0f} s)"
        LOG.warning("waiting %.0f s: %s%s", seconds, reason, requested)


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
