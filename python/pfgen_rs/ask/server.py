"""A server's address, and its API key, which is never shown."""

import ipaddress
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from pfgen_rs.errors import GenerationError, SettingsError

SAMPLING = ("seed", "stop", "max_tokens", "temperature", "top_p")
OPTIONS = (*SAMPLING, "logprobs")
"""Options of a request, by their names in this package."""


class Service(NamedTuple):
    """A protocol's servers: the variables of the environment with address and key, and the usual address.

    `hint`: what to know of addresses, for messages.
    """

    base_url: str
    key: str
    default: str
    hint: str


OPENAI = Service(
    "OPENAI_BASE_URL",
    "OPENAI_API_KEY",
    "https://api.openai.com/v1",
    "whose path is /v1 for most servers",
)
_NO_KEY = "none"
_REDACTED = 8
"""Number of characters of a key, counted from its beginning, that no message shows."""
_SECRET = 16
"""Minimum length of keys that cannot occur in an answer by chance."""
_LOCAL = (".local", ".localhost", ".internal", ".lan")
_SHOWN = 300
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def option_names(setting: str, given: object, choices: Sequence[str]) -> frozenset[str]:
    """Returns the options that a setting of an engine names, one or a list. Raises `SettingsError`."""
    listed = [given] if isinstance(given, str) else given
    if not isinstance(listed, Sequence):
        raise SettingsError(f"{setting} must be a list of names, not {given!r:.60}")
    for name in listed:
        if name not in choices:
            expected = f"expected one of {', '.join(choices)}"
            raise SettingsError(f"{setting}: invalid option {name!r:.60}: {expected}")
    return frozenset(listed)


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
    service: Service = OPENAI

    @property
    def sent_key(self) -> str:
        """The key to send; the client requires one even if the server does not."""
        return self.key or _NO_KEY

    @property
    def is_openai(self) -> bool:
        """Whether this is OpenAI's own server."""
        return urlsplit(self.url).hostname == urlsplit(OPENAI.default).hostname

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


def find_place(
    base_url: str | None = None, key: str | None = None, service: Service = OPENAI
) -> Place:
    """Returns the server: by argument, else by the variables of the environment, else the usual one.

    Raises `SettingsError` for an address that is invalid or contains secrets, and for a key that cannot be
    sent; raises `GenerationError` if a server outside the local network has no key.
    """
    url = find_address(base_url, service)
    key = (key or os.environ.get(service.key) or "").strip() or None
    parts = _parts(url, service)
    if key is None and not _is_local(parts.hostname or ""):
        raise GenerationError(
            f"{parts.hostname} needs an API key: set {service.key} in the environment"
        )
    if key is not None and not (key.isascii() and key.isprintable()):
        raise SettingsError(
            f"the API key ({service.key}, not shown) contains characters that cannot be sent"
        )
    return Place(url, key, service)


def find_address(base_url: str | None = None, service: Service = OPENAI) -> str:
    """Returns the server's address as `find_place` does; raises `SettingsError` if it contains secrets."""
    url = base_url or os.environ.get(service.base_url) or service.default
    _parts(url, service)
    return url


def _parts(url: str, service: Service) -> SplitResult:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    # The address may contain a password, so it is not shown.
    if not usable or "@" in parts.netloc or parts.query or parts.fragment:
        raise SettingsError(
            f"the base URL ({service.base_url}) must be http(s)://host[:port]/path, "
            "without a user, a password or a query"
        )
    return parts


def _is_local(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "." not in host or host.endswith(_LOCAL)
    return address.is_private or address.is_loopback or address.is_link_local
