"""Where a server is, and the key to it, which is never shown."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

from pfgen_rs.errors import GenerationError, SettingsError

__all__ = ["BASE_URL", "KEY", "Place", "find_place"]

BASE_URL = "OPENAI_BASE_URL"
KEY = "OPENAI_API_KEY"

_DEFAULT = "https://api.openai.com/v1"
_NO_KEY = "none"
_REDACTED = 8
"""Keys of at least so many characters are removed from messages."""
_SECRET = 16
"""Keys of at least so many characters are secrets that no answer holds by chance."""
_LOCAL = (".local", ".localhost", ".internal", ".lan")


@dataclass(frozen=True, slots=True)
class Place:
    """A server's base URL and its key (None: it needs none)."""

    url: str
    key: str | None = field(repr=False)

    @property
    def sent_key(self) -> str:
        """What is sent as the key: the protocol has no way of sending none."""
        return self.key or _NO_KEY

    def redact(self, text: str) -> str:
        """An error message or a line of the log, without the key.

        Placeholders such as `none` or `1`, which local servers take, occur in ordinary words and stay.
        """
        return text.replace(self.key, "***") if self.key and len(self.key) >= _REDACTED else text

    def is_exposed_by(self, answer: str) -> bool:
        """Whether an answer holds the key, and so must not be kept; it is never edited."""
        return self.key is not None and len(self.key) >= _SECRET and self.key in answer


def find_place(base_url: str | None = None, key: str | None = None) -> Place:
    """The server of these, else of the environment (`OPENAI_BASE_URL`, `OPENAI_API_KEY`), else OpenAI's.

    Raises `SettingsError` for an address that is none or holds secrets, and for a key that cannot be sent;
    `GenerationError` where a server outside the local network has no key.
    """
    url = base_url or os.environ.get(BASE_URL) or _DEFAULT
    key = (key or os.environ.get(KEY) or "").strip() or None
    parts = _parts(url)
    if key is None and not _is_local(parts.hostname or ""):
        raise GenerationError(f"{parts.hostname} needs an API key: set {KEY} in the environment")
    if key is not None and not (key.isascii() and key.isprintable()):
        raise SettingsError(
            f"the API key ({KEY}) has characters that cannot be sent; it is not shown"
        )
    return Place(url, key)


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    # What follows may be a password, so the address is not shown.
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
