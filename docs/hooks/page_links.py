"""Links of pages: those that leave docs/ lead to the repository; anchors of Japanese pages are the site's."""

from __future__ import annotations

import os.path
import re
import tomllib
from pathlib import Path, PurePosixPath
from typing import Any

from page_anchors import anchors

__all__ = ["on_page_markdown", "relinked", "repository"]

_ROOT = Path(__file__).resolve().parents[2]
_DOCS = _ROOT / "docs"
_LINK = re.compile(r"(?<!!)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<to>[^()\s]+)\)")
_CODE = re.compile(r"^( {0,3})(`{3,}|~{3,}).*?^\1\2|(`+)[^`].*?\3", re.DOTALL | re.MULTILINE)


def repository() -> str | None:
    """The address of the repository that pyproject.toml names, without a slash at its end."""
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    urls = {name.lower(): url for name, url in project.get("urls", {}).items()}
    found = urls.get("repository") or urls.get("source")
    return found.rstrip("/") if found else None


def relinked(markdown: str, page: str, address: str | None) -> str:
    """A page's text with the links that the site needs. `page`: its path within docs/."""

    def link(found: re.Match[str]) -> str:
        target = _target(found["to"], PurePosixPath(page), address)
        return found["text"] if target is None else f"[{found['text']}]({target})"

    pieces, end = [], 0
    for code in _CODE.finditer(markdown):
        pieces += [_LINK.sub(link, markdown[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*pieces, _LINK.sub(link, markdown[end:])])


def _target(to: str, page: PurePosixPath, address: str | None) -> str | None:
    path, _, anchor = to.partition("#")
    if not path or ":" in path:
        return to
    place = os.path.normpath(Path("docs") / page.parent / path)
    if not place.startswith("docs" + os.sep):
        return _outside(Path(place).as_posix(), anchor, address)
    if path.endswith(".ja.md") and anchor:
        return f"{path}#{_english_anchor(_ROOT / place, anchor)}"
    return to


def _outside(place: str, anchor: str, address: str | None) -> str | None:
    if address is None:
        return None
    kind = "tree" if (_ROOT / place).is_dir() else "blob"
    return f"{address}/{kind}/main/{place}" + (f"#{anchor}" if anchor else "")


def _english_anchor(path: Path, anchor: str) -> str:
    """The anchor on the site of a Japanese page's heading, which pages call by what GitHub makes of it."""
    english = path.with_name(path.name.replace(".ja.md", ".md"))
    if not (path.exists() and english.exists()):
        return anchor
    names = dict(
        zip(anchors(path.read_text("utf-8")), anchors(english.read_text("utf-8")), strict=False)
    )
    return names.get(anchor, anchor)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Changes the links of a page."""
    return relinked(markdown, page.file.src_uri, repository())
