"""Addresses of files in repositories of the Hugging Face hub, and lists of their files."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io.remote.urls import MAGIC, shown_url

_ENDPOINT = "https://huggingface.co"
_PATTERN = re.compile(
    r"hf://(?:(datasets|spaces)/)?([^/@]+/[^/@]+)(?:@([^/]+))?/(.*)", re.IGNORECASE | re.DOTALL
)
_NEXT = re.compile(r'<([^>]+)>;\s*rel="next"')
_MOST_PAGES = 10_000  # of a thousand files each
_LARGEST_PAGE = 64 << 20
_EXPECTED = "expected hf://datasets/USER/NAME/PATH, or hf://datasets/USER/NAME@REVISION/PATH"


class Repository(NamedTuple):
    """A repository: `datasets`, `spaces` or `models`, its name, a revision, and the URL's beginning."""

    kind: str
    name: str
    revision: str
    begin: str


def repository(url: str) -> tuple[Repository, str]:
    """Returns the repository of a URL, and the path in it. Raises `InputError`."""
    match = _PATTERN.fullmatch(url)
    if match is None:
        raise InputError(f"invalid address: {_EXPECTED}", path=shown_url(url))
    kind, name, revision, path = match.groups()
    begin = url[: len(url) - len(path)]
    if MAGIC.intersection(begin):
        raise InputError("the repository must be named, not matched", path=shown_url(url))
    return Repository((kind or "models").lower(), name, revision or "main", begin), path


def address(url: str) -> str:
    """Returns the web address of a file."""
    found, path = repository(url)
    kind = "" if found.kind == "models" else f"{found.kind}/"
    revision = quote(found.revision, safe="%")
    return f"{_endpoint()}/{kind}{found.name}/resolve/{revision}/{quote(path)}"


def headers() -> dict[str, str]:
    """Returns the header with the user's token, if there is one."""
    token = (os.environ.get("HF_TOKEN") or "").strip() or _stored_token()
    if re.fullmatch("[!-~]*", token) is None:  # and it is not shown
        raise SettingsError(
            "invalid token for the hub: HF_TOKEN, or the stored one, is not one word"
        )
    return {"authorization": f"Bearer {token}"} if token else {}


def files_below(url: str, client: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield path and size of all files below a folder of a repository, recursively.

    `client`: options of connections.
    """
    found, folder = repository(url)
    revision = quote(found.revision, safe="%")
    tree = f"{_endpoint()}/api/{found.kind}/{found.name}/tree/{revision}/{quote(folder.strip('/'))}"
    page: str | None = f"{tree.rstrip('/')}?recursive=true"
    seen: set[str] = set()
    while page is not None:
        if page in seen or len(seen) == _MOST_PAGES:
            raise InputError("the hub's list of files does not end", path=shown_url(url))
        seen.add(page)
        entries, page = _page(page, url, client)
        yield from entries


def _endpoint() -> str:
    endpoint = (os.environ.get("HF_ENDPOINT") or _ENDPOINT).rstrip("/")
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


def _page(
    page: str, url: str, client: Mapping[str, Any]
) -> tuple[list[tuple[str, int]], str | None]:
    """Returns path and size of the files of a page, and the address of the next page."""
    content, following = _answer(page, url, client)
    try:
        return list(_files(json.loads(content))), following
    except (ValueError, TypeError, KeyError, RecursionError):
        raise InputError("the hub's answer is not a list of files", path=shown_url(url)) from None


def _files(entries: Any) -> Iterator[tuple[str, int]]:
    if not isinstance(entries, list):
        raise TypeError
    for entry in entries:
        if entry["type"] == "file":
            path, size = entry["path"], entry.get("size", 0)
            if not (isinstance(path, str) and isinstance(size, int)):
                raise TypeError
            yield path, size


def _answer(page: str, url: str, client: Mapping[str, Any]) -> tuple[bytes, str | None]:
    from http.client import HTTPException  # which takes a while, and few files are on the hub
    from urllib.error import HTTPError, URLError

    from pfgen_rs.io.remote.web import RedirectError, asked, followed

    known = headers()
    try:
        with asked(page, known, of=_endpoint(), client=client) as answer:
            content = answer.read(_LARGEST_PAGE)
            if answer.length:
                raise HTTPException
            link = _NEXT.search(answer.headers.get("Link") or "")
            return content, followed(answer.url, link[1]) if link else None
    except RedirectError as error:
        raise InputError(f"the hub {error.problem}", path=shown_url(url)) from None
    except HTTPError as error:
        hint = ": check HF_TOKEN" if error.code in (401, 403) else ""
        problem = f"the hub answered {error.code} {error.reason}{hint}"
        raise InputError(problem, path=shown_url(url)) from None
    except HTTPException as error:
        problem = f"the hub's answer is cut short, too long or not HTTP ({type(error).__name__})"
        raise InputError(problem, path=shown_url(url)) from None
    except ValueError as error:  # which may quote headers
        problem = f"the hub cannot be asked ({type(error).__name__}): check HF_ENDPOINT"
        raise InputError(problem, path=shown_url(url)) from None
    except (URLError, OSError) as error:
        reason = getattr(error, "reason", error)
        raise InputError(f"the hub cannot be reached: {reason}", path=shown_url(url)) from None
