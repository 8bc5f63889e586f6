"""Links of pages that leave docs/ lead to the repository."""

from __future__ import annotations

import os.path
import re
import tomllib
from pathlib import Path, PurePosixPath
from typing import Any

__all__ = ["on_page_markdown", "relinked", "repository"]

_ROOT = Path(__file__).resolve().parents[2]
_FENCED = r"^(?P<indent> *)(?P<fence>`{3,}|~{3,}).*?^(?P=indent)(?P=fence)"
_LINK = r"(?<!!)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<to>[^()\s]+)\)"
_CODE = r"(?P<ticks>`+)[^`].*?(?P=ticks)"
_LINK_OR_CODE = re.compile(f"{_FENCED}|{_LINK}|{_CODE}", re.DOTALL | re.MULTILINE)


def repository() -> str | None:
    """The address of the repository that pyproject.toml names, without a slash at its end."""
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    urls = {name.lower(): url for name, url in project.get("urls", {}).items()}
    found = urls.get("repository") or urls.get("source")
    return found.rstrip("/") if found else None


def relinked(markdown: str, page: str, address: str | None) -> str:
    """A page's text with links out of docs/ as addresses; without an address their text stays.

    `page`: the page's path within docs/.
    """

    def link(found: re.Match[str]) -> str:
        if found["to"] is None:
            return found[0]
        target = _target(found["to"], PurePosixPath(page), address)
        return found["text"] if target is None else f"[{found['text']}]({target})"

    return _LINK_OR_CODE.sub(link, markdown)


def _target(to: str, page: PurePosixPath, address: str | None) -> str | None:
    path, _, anchor = to.partition("#")
    if not path or ":" in path:
        return to
    place = os.path.normpath(Path("docs") / page.parent / path)
    if not place.startswith("docs" + os.sep):
        return _outside(Path(place).as_posix(), anchor, address)
    return to


def _outside(place: str, anchor: str, address: str | None) -> str | None:
    if address is None:
        return None
    kind = "tree" if (_ROOT / place).is_dir() else "blob"
    return f"{address}/{kind}/main/{place}" + (f"#{anchor}" if anchor else "")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Changes the links of a page."""
    return relinked(markdown, page.file.src_uri, repository())
