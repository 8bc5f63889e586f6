"""Asks web servers, and the Hugging Face hub for addresses and lists of files.

Redirect by redirect, so that what is secret reaches the origin that it is for alone.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import ssl
import string
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple, cast
from urllib.parse import quote, urljoin, urlsplit

from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io.remote.urls import MAGIC, WEB, shown_url

FAILED = (OSError, http.client.HTTPException, ValueError)
"""What is raised where a server cannot be asked."""
_PATIENCE = 60.0  # seconds
_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_REDIRECTS = 10
_DURATION = re.compile(r"(\d+) ?(ms|s|m)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0}


class RedirectError(ValueError):
    """A redirect or link of `url` that is not followed."""

    def __init__(self, url: str, problem: str) -> None:
        self.problem = problem
        super().__init__(f"{shown_url(url)}: {problem}")


def asked(
    url: str,
    secret: Mapping[str, str] | None = None,
    *,
    of: str | None = None,
    headers: Mapping[str, str] | None = None,
    timeout: float = _PATIENCE,
    client: Mapping[str, Any] | None = None,
    visited: list[str] | None = None,
) -> http.client.HTTPResponse:
    """Returns the answer to a GET, after redirects, whose addresses are added to `visited`.

    `secret`: headers that only scheme, host and port of the address `of` get (default: of `url`). `client`:
    options of connections, named as obstore names them. Raises `RedirectError` for redirects to other schemes
    than http and https, from https to http, or without end; `HTTPError` for other answers than files.
    """
    own = of or url
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
            url = followed(url, target)
        if visited is not None:
            visited.append(url)
    raise RedirectError(own, "redirects in an infinite loop")


def followed(url: str, target: str) -> str:
    """Returns the address that a redirect or link of `url` leads to. Raises `RedirectError`."""
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
    visited = [_without_user(url)]
    first_byte = {"Range": "bytes=0-0"}
    wait = min(_PATIENCE, _web_seconds(client.get("timeout")))
    try:
        asked(
            visited[0], secret, headers=first_byte, timeout=wait, client=client, visited=visited
        ).close()
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
    return (
        parts.scheme,
        parts.hostname,
        parts.port or {"http": 80, "https": 443}.get(parts.scheme),
    )


def _without_user(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


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


# Repositories of the Hugging Face hub.


_HUB = "https://huggingface.co"
_PATTERN = re.compile(
    r"hf://(?:(datasets|spaces)/)?([^/@]+/[^/@]+)(?:@([^/]+))?/(.*)", re.IGNORECASE | re.DOTALL
)
_NEXT = re.compile(r'<([^>]+)>;\s*rel="next"')
_MOST_PAGES = 10_000  # of a thousand files each
_LARGEST_PAGE = 64 << 20
_HUB_URL = "expected hf://datasets/USER/NAME/PATH, or hf://datasets/USER/NAME@REVISION/PATH"


class Repository(NamedTuple):
    """A repository: `datasets`, `spaces` or `models`, its name, a revision, and the URL's beginning."""

    kind: str
    name: str
    revision: str
    begin: str


def hub_repository(url: str) -> tuple[Repository, str]:
    """Returns the repository of a URL, and the path in it. Raises `InputError`."""
    match = _PATTERN.fullmatch(url)
    if match is None:
        raise InputError(f"invalid address: {_HUB_URL}", path=shown_url(url))
    kind, name, revision, path = match.groups()
    begin = url[: len(url) - len(path)]
    if MAGIC.intersection(begin):
        raise InputError("the repository must be named, not matched", path=shown_url(url))
    return Repository((kind or "models").lower(), name, revision or "main", begin), path


def hub_address(url: str) -> str:
    """Returns the web address of a file."""
    found, path = hub_repository(url)
    kind = "" if found.kind == "models" else f"{found.kind}/"
    revision = quote(found.revision, safe="%")
    return f"{_hub_endpoint()}/{kind}{found.name}/resolve/{revision}/{quote(path)}"


def hub_headers() -> dict[str, str]:
    """Returns the header with the user's token, if there is one."""
    token = (os.environ.get("HF_TOKEN") or "").strip() or _stored_token()
    if re.fullmatch("[!-~]*", token) is None:  # and it is not shown
        raise SettingsError(
            "invalid token for the hub: HF_TOKEN, or the stored one, is not one word"
        )
    return {"authorization": f"Bearer {token}"} if token else {}


def hub_files(url: str, client: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield path and size of all files below a folder of a repository, recursively.

    `client`: options of connections.
    """
    found, folder = hub_repository(url)
    revision = quote(found.revision, safe="%")
    tree = f"{_hub_endpoint()}/api/{found.kind}/{found.name}/tree/{revision}/{quote(folder.strip('/'))}"
    page: str | None = f"{tree.rstrip('/')}?recursive=true"
    seen: set[str] = set()
    while page is not None:
        if page in seen or len(seen) == _MOST_PAGES:
            raise InputError("the hub's list of files does not end", path=shown_url(url))
        seen.add(page)
        entries, page = _hub_page(page, url, client)
        yield from entries


def _hub_endpoint() -> str:
    endpoint = (os.environ.get("HF_ENDPOINT") or _HUB).rstrip("/")
    if re.match("https?://[^/]", endpoint, re.IGNORECASE) is None:
        raise SettingsError("invalid HF_ENDPOINT: expected an address that begins with https://")
    return endpoint


def _stored_token() -> str:
    """Returns the token that `hf auth login` has stored."""
    home = os.environ.get("HF_HOME") or Path("~/.cache/huggingface").expanduser()
    try:
        return (
            Path(os.environ.get("HF_TOKEN_PATH") or Path(home, "token")).read_text("utf-8").strip()
        )
    except (OSError, ValueError):
        return ""


def _hub_page(
    page: str, url: str, client: Mapping[str, Any]
) -> tuple[list[tuple[str, int]], str | None]:
    """Returns path and size of the files of a page, and the address of the next page."""
    content, following = _hub_answer(page, url, client)
    try:
        return list(_files_of_page(json.loads(content))), following
    except (ValueError, TypeError, KeyError, RecursionError):
        raise InputError("the hub's answer is not a list of files", path=shown_url(url)) from None


def _files_of_page(entries: Any) -> Iterator[tuple[str, int]]:
    if not isinstance(entries, list):
        raise TypeError
    for entry in entries:
        if entry["type"] == "file":
            path, size = entry["path"], entry.get("size", 0)
            if not (isinstance(path, str) and isinstance(size, int)):
                raise TypeError
            yield path, size


def _hub_answer(page: str, url: str, client: Mapping[str, Any]) -> tuple[bytes, str | None]:
    known = hub_headers()
    try:
        with asked(page, known, of=_hub_endpoint(), client=client) as answer:
            content = answer.read(_LARGEST_PAGE)
            if answer.length:
                raise http.client.HTTPException
            link = _NEXT.search(answer.headers.get("Link") or "")
            return content, followed(answer.url, link[1]) if link else None
    except RedirectError as error:
        raise InputError(f"the hub {error.problem}", path=shown_url(url)) from None
    except urllib.error.HTTPError as error:
        hint = ": check HF_TOKEN" if error.code in (401, 403) else ""
        problem = f"the hub answered {error.code} {error.reason}{hint}"
        raise InputError(problem, path=shown_url(url)) from None
    except http.client.HTTPException as error:
        problem = f"the hub's answer is cut short, too long or not HTTP ({type(error).__name__})"
        raise InputError(problem, path=shown_url(url)) from None
    except ValueError as error:  # which may quote headers
        problem = f"the hub cannot be asked ({type(error).__name__}): check HF_ENDPOINT"
        raise InputError(problem, path=shown_url(url)) from None
    except (urllib.error.URLError, OSError) as error:
        reason = getattr(error, "reason", error)
        raise InputError(f"the hub cannot be reached: {reason}", path=shown_url(url)) from None
