"""Gives headings of translated pages the anchors of the English page, so that links to them hold in both."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from mkdocs.plugins import get_plugin_logger
from pymdownx.slugs import slugify

__all__ = ["Heading", "anchors", "headings", "on_page_markdown", "with_anchors"]

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r"^(#{1,6}) +(.*?)(?: +\{ *#([\w-]+) *\})? *#*$")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_log = get_plugin_logger("pfgen_rs")
_slug = slugify(case="lower")


class Heading(NamedTuple):
    """A heading: the number of its line, its level, its text, and the anchor that it names, if any."""

    line: int
    level: int
    text: str
    anchor: str | None


def headings(markdown: str) -> Iterator[Heading]:
    """The headings outside fenced code."""
    fence = ""
    for number, line in enumerate(markdown.splitlines()):
        if opened := _FENCE.match(line):
            mark = opened[1]
            if not fence:
                fence = mark
            elif mark.startswith(fence) and not line.strip().strip(mark[0]):
                fence = ""
        elif not fence and (found := _HEADING.match(line)):
            yield Heading(number, len(found[1]), found[2], found[3])


def anchors(markdown: str) -> list[str]:
    """The anchors of a page's headings, as the site and GitHub make them."""
    found: list[str] = []
    for heading in headings(markdown):
        plain = re.sub(r"[`*]", "", _LINK.sub(r"\1", heading.text))
        slug = anchor = heading.anchor or _slug(plain, "-")
        number = 0
        while anchor in found:
            number += 1
            anchor = f"{slug}_{number}"
        found.append(anchor)
    return found


def with_anchors(translated: str, english: str) -> str | None:
    """The translated page with the anchors of the English one; None if its headings have other levels."""
    ours, theirs = list(headings(translated)), list(headings(english))
    if [h.level for h in ours] != [h.level for h in theirs]:
        return None
    lines = translated.splitlines()
    for heading, anchor in zip(ours, anchors(english), strict=True):
        lines[heading.line] = f"{'#' * heading.level} {heading.text} {{#{anchor}}}"
    return "\n".join(lines) + "\n"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Marks the headings of a page in another language than English."""
    path = Path(page.file.abs_src_path)
    english = path.with_name(f"{path.name.removesuffix('.ja.md')}.md")
    if english == path or not path.name.endswith(".ja.md") or not english.exists():
        return markdown
    marked = with_anchors(markdown, english.read_text("utf-8"))
    if marked is None:
        _log.warning("%s has not the headings of %s", page.file.src_uri, english.name)
    return marked or markdown
