"""URLs in place of paths: recognised, taken apart, and shown without what is secret in them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from pfgen_rs.errors import InputError, SettingsError

BUCKETS = ("s3", "s3a", "gs", "az", "azure", "abfs", "abfss")
"""Schemes of object storage, which is read, listed and written."""
WEB = ("http", "https")
"""Schemes of web servers, whose files are read alone."""
_KNOWN = (*BUCKETS, "hf", *WEB)
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_COLLAPSED = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/(?=[^/])")
_BUCKET = re.compile(r"[\w.@$-]+", re.ASCII)
_PORT = re.compile(r"(?:[^:]*@)?(?:\[[^\]]*\]?|[^:]*)(?::\d*)?")
_QUERY = re.compile(r"\?[^/]*=.*", re.DOTALL)
MAGIC = frozenset("*?[")
"""What makes a path or URL a glob."""
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
    if not is_url(text):
        return text
    scheme, _, rest = text.partition("://")
    authority = re.split("[/?#]", rest, maxsplit=1)[0]
    if scheme.lower() in WEB:
        place = re.split("[?#]", rest, maxsplit=1)[0].removeprefix(authority)
        authority = authority.rpartition("@")[2]
    else:
        place = _QUERY.sub("", rest.removeprefix(authority))
    return (
        f"{scheme}://…"
        if _has_credentials(scheme.lower(), authority)
        else f"{scheme}://{authority}{place}"
    )


def _has_credentials(scheme: str, authority: str) -> bool:
    """Whether there may be a user or password before the path; passwords may contain slashes."""
    if scheme in WEB or scheme not in _KNOWN:
        return "@" in authority or _PORT.fullmatch(authority) is None
    return ":" in authority or (scheme in ("s3", "s3a", "gs") and "@" in authority)


def split_url(url: str) -> Place:
    """Take a URL apart. Raises `InputError` for schemes that are not read, and for secrets in URLs."""
    scheme, _, rest = url.partition("://")
    scheme = scheme.lower()
    if scheme == "file":
        raise InputError("is a file on this machine: write its path alone", path=shown_url(url))
    if scheme not in _KNOWN:
        raise InputError(f"unknown scheme {scheme!r}: {_EXPECTED}", path=shown_url(url))
    if scheme in WEB:
        return _web_place(scheme, url)
    host, _, path = rest.partition("/")
    if _has_credentials(scheme, host) or _QUERY.search(rest):
        raise InputError(
            "credentials in a URL are not used: set them in the environment or as storage options",
            path=shown_url(url),
        )
    problem = _problem_of_bucket(host)
    if problem:
        raise InputError(problem, path=shown_url(url))
    return Place(scheme, host, path)


def _web_place(scheme: str, url: str) -> Place:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise InputError(f"invalid web address: {error}", path=shown_url(url)) from None
    return Place(scheme, parts.netloc, parts.path.lstrip("/"))


def _problem_of_bucket(name: str) -> str:
    if not name:
        return "the URL names no bucket"
    if MAGIC.intersection(name):
        return "the bucket must be named, not matched"
    return "" if _BUCKET.fullmatch(name) else f"invalid name of a bucket: {name!r}"


def identity_of_url(url: str) -> tuple[str, str, str]:
    """Returns what is equal for URLs that may stand for the same object, however they are written.

    Of Azure's containers, whose account may be named in the URL or elsewhere, only the name counts.
    Raises `InputError` as `split_url` does.
    """
    place = split_url(url)
    if place.scheme in WEB:
        return place.scheme, "", url.partition("://")[2]
    host = place.host.partition("@")[0].lower()  # "s3" and "s3a" are one, as are "az" and the like
    return place.scheme[0], host, "/".join(filter(None, place.path.split("/")))


def refused_url(path: str | os.PathLike[str], instead: str) -> InputError:
    """Returns the error for a URL where only paths of files are taken. `instead`: what to do."""
    return InputError(
        f"is a URL, and only a local path is taken here: {instead}", path=shown_url(path)
    )


# Checks options of storage, and its settings in the environment, that obstore does not report clearly.


_ENDPOINT = re.compile(r".*(?<!use_fabric_)endpoint(_url)?(_s3)?", re.IGNORECASE)
_ADDRESS = re.compile(r"https?://[^\s\[]+|https?://\[[0-9a-f:.]+\][^\s]*", re.IGNORECASE)
_OF_LINES = re.compile(r".*(certificate|service_account|credentials)", re.IGNORECASE)
"""Options whose values may have several lines."""
_IN_ENVIRONMENT = re.compile(
    r".*(ENDPOINT|ENDPOINT_URL|ENDPOINT_URL_S3|_KEY|_KEY_ID|_TOKEN|REGION)"
)


def parsed_options(texts: Iterable[str]) -> dict[str, str]:
    """Returns options written as `KEY=VALUE`. Raises `SettingsError` for others."""
    options = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise SettingsError("invalid storage option: expected KEY=VALUE")
        options[name] = value
    return options


def checked_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options. Raises `SettingsError` without showing values that obstore fails with."""
    for name, value in options.items():
        if isinstance(value, str):
            _check_text(f"storage option {name!r}", name, value)
        elif not isinstance(value, bool | timedelta):
            kind = type(value).__name__
            raise SettingsError(f"invalid storage option {name!r}: expected a string, not {kind}")
    return dict(options)


def check_environment(scheme: str) -> None:
    """Raise `SettingsError` for settings in the environment that obstore fails with."""
    prefix = {"s": "AWS_", "a": "AZURE_"}.get(scheme[0])
    for name, value in os.environ.items():
        if prefix and value and name.startswith(prefix) and _IN_ENVIRONMENT.fullmatch(name):
            _check_text(name, name, value)


def _check_text(shown: str, name: str, value: str) -> None:
    if not ((value.isascii() and value.isprintable()) or _OF_LINES.match(name)):
        raise SettingsError(f"invalid {shown}: it has other characters than printable ASCII")
    if _ENDPOINT.fullmatch(name) and _ADDRESS.fullmatch(value) is None:
        raise SettingsError(
            f"invalid {shown}: expected an address that begins with https:// or http://"
        )
