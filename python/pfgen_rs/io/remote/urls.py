"""URLs in place of paths: recognised, taken apart, and shown without what is secret in them."""

from __future__ import annotations

import os
import re
from typing import NamedTuple
from urllib.parse import urlsplit

from pfgen_rs.errors import InputError

__all__ = [
    "BUCKETS",
    "COPY_FIRST",
    "Place",
    "is_url",
    "refused_url",
    "shown_url",
    "split_url",
    "url_text",
    "without_web_addresses",
]

BUCKETS = ("s3", "s3a", "gs", "az", "azure", "abfs", "abfss")
"""Schemes of object storage, which is read, listed and written."""
_WEB = ("http", "https")
_KNOWN = (*BUCKETS, "hf", *_WEB)
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_COLLAPSED = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/(?=[^/])")
_SECRET = re.compile(r"://[^/@]*:[^/@]*@|\?[^/]*=[^/]*$")
_ANYWHERE = re.compile(r"\bhttps?://[^\s\"'<>]+")
COPY_FIRST = (
    "copy the file first; only scoring reads URLs (pfgen-rs score, scan, score_file, score_runs)"
)
"""What to do instead of reading a URL."""
_EXPECTED = "expected a path, or a URL that begins with s3://, gs://, az://, hf:// or https://"


class Place(NamedTuple):
    """A URL's lower-case scheme, its bucket, container or host, and the path in there."""

    scheme: str
    host: str
    path: str


def is_url(path: str | os.PathLike[str]) -> bool:
    """Whether this is a URL rather than a path."""
    return _URL.match(url_text(path)) is not None


def url_text(path: str | os.PathLike[str]) -> str:
    """Returns a path or URL as text; a URL that was made a `Path` gets back the slash that it lost."""
    text = os.fsdecode(path)
    found = _COLLAPSED.match(text)
    if found is None or (found[1].lower() not in _KNOWN and os.path.isdir(f"{found[1]}:")):  # noqa: PTH112
        return text
    return text.replace(":/", "://", 1)


def shown_url(path: str | os.PathLike[str]) -> str:
    """Returns a URL as it may be shown: without password, and a web address without its query."""
    text = url_text(path)
    if is_url(text):
        if text.lower().startswith(_WEB):
            text = re.sub(r"://[^/?#]*@", "://", text.partition("#")[0].partition("?")[0], count=1)
        else:
            text = re.sub(r"\?[^/]*=[^/]*$", "", re.sub(r"://[^/@]*:[^/@]*@", "://", text, count=1))
    return text


def without_web_addresses(text: str) -> str:
    """Returns a message of another library without web addresses, which may be signed."""
    return _ANYWHERE.sub("…", text)


def split_url(url: str) -> Place:
    """Take a URL apart. Raises `InputError` for schemes that are not read, and for secrets in URLs."""
    scheme, _, rest = url.partition("://")
    scheme = scheme.lower()
    if scheme == "file":
        raise InputError("is a file on this machine: write its path alone", path=shown_url(url))
    if scheme not in _KNOWN:
        raise InputError(f"unknown scheme {scheme!r}: {_EXPECTED}", path=shown_url(url))
    if scheme in _WEB:
        parts = urlsplit(url)
        return Place(scheme, parts.netloc, parts.path.lstrip("/"))
    if _SECRET.search(url):
        raise InputError(
            "credentials in a URL are not used: set them in the environment or as storage options",
            path=shown_url(url),
        )
    host, _, path = rest.partition("/")
    if not host:
        raise InputError("the URL names no bucket", path=url)
    return Place(scheme, host, path)


def refused_url(path: str | os.PathLike[str], instead: str) -> InputError:
    """Returns the error for a URL where only paths of files are taken. `instead`: what to do."""
    return InputError(
        f"is a URL, and only a local path is taken here: {instead}", path=shown_url(path)
    )
