"""Asks web servers, and knows the addresses of files on the Hugging Face hub.

Redirect by redirect, so that what is secret reaches the origin that it is for alone.
"""

from __future__ import annotations

import http.client
import os
import re
import ssl
import string
import urllib.error
import urllib.request
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote, urljoin, urlsplit

from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io.remote.urls import WEB, shown_url

FAILED = (OSError, http.client.HTTPException, ValueError)
"""What is raised where a server cannot be asked."""
_PATIENCE = 60.0  # seconds
_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_REDIRECTS = 10
_DURATION = re.compile(r"(\d+) ?(ms|s|m)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0}


class RedirectError(ValueError):
    """A redirect of `url` that is not followed."""

    def __init__(self, url: str, problem: str) -> None:
        self.problem = problem
        super().__init__(f"{shown_url(url)}: {problem}")


def asked(
    url: str,
    secret: Mapping[str, str] | None = None,
    *,
    headers: Mapping[str, str] | None = None,
    timeout: float = _PATIENCE,
    client: Mapping[str, Any] | None = None,
    visited: list[str] | None = None,
) -> http.client.HTTPResponse:
    """Returns the answer to a GET, after redirects, whose addresses are added to `visited`.

    `secret`: headers that only scheme, host and port of `url` get. `client`: options of connections, named as
    obstore names them. Raises `RedirectError` for redirects to other schemes
    than http and https, from https to http, or without end; `HTTPError` for other answers than files.
    """
    own = url
    opener = _web_opener(client or {})
    for _ in range(_MOST_REDIRECTS):
        known = secret if secret and same_origin(url, own) else {}
        sent = {"User-Agent": "pfgen_rs", **(headers or {}), **known}
        request = urllib.request.Request(url, headers=sent)  # noqa: S310 - the opener knows the web alone
        try:
            return cast("http.client.HTTPResponse", opener.open(request, timeout=timeout))
        except urllib.error.HTTPError as error:
            target = error.headers.get("Location") if error.code in _REDIRECTS else None
            if target is None:
                raise
            error.close()
            url = _followed(url, target)
        if visited is not None:
            visited.append(url)
    raise RedirectError(own, "redirects in an infinite loop")


def _followed(url: str, target: str) -> str:
    """Returns the address that a redirect of `url` leads to. Raises `RedirectError`."""
    try:
        following = urljoin(url, quote(target, safe=string.punctuation))
        scheme, shown = urlsplit(following).scheme, shown_url(following)
    except ValueError as error:
        raise RedirectError(url, f"redirects to an invalid address: {error}") from None
    if scheme not in WEB:
        raise RedirectError(url, f"redirects to {shown!r}, which is not allowed: expected https")
    if scheme == "http" and urlsplit(url).scheme == "https":
        problem = f"redirects from https to {shown!r}, which is not encrypted"
        raise RedirectError(url, f"{problem}: expected a redirect to https")
    return following


def final_address(url: str, secret: Mapping[str, str] | None, client: Mapping[str, Any]) -> str:
    """Returns the address that has the file, or the first that cannot be asked; never one with a query.

    Raises `RedirectError`, and, for a query that another client would tell when it is redirected, what is
    in `FAILED`.
    """
    parts = urlsplit(url)
    visited = [parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()]
    how: dict[str, Any] = {"headers": {"Range": "bytes=0-0"}, "client": client, "visited": visited}
    wait = min(_PATIENCE, _web_seconds(client.get("timeout")))
    try:
        asked(visited[0], secret, timeout=wait, **how).close()
    except urllib.error.HTTPError as error:
        error.close()
    except RedirectError:
        raise
    except FAILED:
        if urlsplit(visited[-1]).query:
            raise
    return visited[-1]


def same_origin(one: str, other: str) -> bool:
    """Whether two addresses have the same scheme, host and port."""
    return _web_origin(one) == _web_origin(other)


def _web_origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, parts.hostname, port


def _web_opener(client: Mapping[str, Any]) -> urllib.request.OpenerDirector:
    """Returns what opens http and https; the stock opener also knows file:, ftp: and data: URLs."""
    proxy, certificate = client.get("proxy_url"), client.get("root_certificate")
    context = ssl.create_default_context()
    if certificate:
        context.load_verify_locations(
            cadata=certificate if isinstance(certificate, str) else certificate.decode()
        )
    if str(client.get("allow_invalid_certificates")).lower() == "true":
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler({"http": proxy, "https": proxy} if proxy else None),
        urllib.request.UnknownHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(context=context),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    return opener


def _web_seconds(duration: Any) -> float:
    if isinstance(duration, timedelta):
        return duration.total_seconds()
    found = _DURATION.match(str(duration))
    return int(found[1]) * _SECONDS[found[2]] if found else _PATIENCE


# Files on the Hugging Face hub.


_HUB = "https://huggingface.co"
_PATTERN = re.compile(
    r"hf://(?:(datasets|spaces)/)?([^/@]+/[^/@]+)(?:@([^/]+))?/(.+)", re.IGNORECASE | re.DOTALL
)
_HUB_URL = "expected hf://datasets/USER/NAME/PATH, or hf://datasets/USER/NAME@REVISION/PATH"


def hub_address(url: str) -> str:
    """Returns the web address of a file. Raises `InputError`."""
    match = _PATTERN.fullmatch(url)
    if match is None:
        raise InputError(f"invalid address: {_HUB_URL}", path=shown_url(url))
    kind, name, revision, path = match.groups()
    folder = f"{kind.lower()}/{name}" if kind else name
    endpoint = (os.environ.get("HF_ENDPOINT") or _HUB).rstrip("/")
    if re.match("https?://[^/]", endpoint, re.IGNORECASE) is None:
        raise SettingsError("invalid HF_ENDPOINT: expected an address that begins with https://")
    return f"{endpoint}/{folder}/resolve/{quote(revision or 'main', safe='%')}/{quote(path)}"


def hub_headers() -> dict[str, str]:
    """Returns the header with the user's token, if there is one."""
    token = (os.environ.get("HF_TOKEN") or "").strip() or _stored_token()
    if re.fullmatch("[!-~]*", token) is None:  # and it is not shown
        raise SettingsError(
            "invalid token for the hub: HF_TOKEN, or the stored one, is not one word"
        )
    return {"authorization": f"Bearer {token}"} if token else {}


def _stored_token() -> str:
    """Returns the token that `hf auth login` has stored."""
    home = os.environ.get("HF_HOME") or Path("~/.cache/huggingface").expanduser()
    path = Path(os.environ.get("HF_TOKEN_PATH") or Path(home, "token"))
    try:
        return path.read_text("utf-8").strip()
    except (OSError, ValueError):
        return ""
