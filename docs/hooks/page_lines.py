"""Joins the lines of Japanese paragraphs: browsers show a line break as a space, which Japanese has not.

The space after bold text that ends with 。, which Markdown elsewhere needs, goes for the same reason.
"""

from __future__ import annotations

import re
from typing import Any

__all__ = ["joined", "on_page_markdown"]

_FENCE = re.compile(r"\s*(?:`{3}|~{3})")
_MARK = re.compile(r"\s*(?:$|[-+*] |\d+[.)] |[#>|<]|!!!|\?{3}|===)")
"""What begins a block of its own: a list's item, a heading, a row of a table, …"""
_ONE_LINE = re.compile(r"\s*[#|<]")
_PUNCTUATION = re.compile(r"[、。，．：；！？）」』】〉》]\**$")
_AFTER_BOLD = re.compile(r"(?<=[。！？]\*\*) (?=\S)")
_ENDS, _BEGINS = re.compile(r"[　-ヿ㐀-鿿々！-～]\**$"), re.compile(r"\s*[　-ヿ㐀-鿿々！-～]")


def joined(markdown: str) -> str:
    """The text without line breaks beside Japanese characters within a paragraph, or spaces after `。**`."""
    lines: list[str] = []
    fenced = False
    for written in markdown.split("\n"):
        fence = _FENCE.match(written) is not None
        line = written if fenced or fence else _AFTER_BOLD.sub("", written)
        if not (fenced or fence or _MARK.match(line)) and lines and _runs_on(lines[-1], line):
            lines[-1] += line.lstrip()
        else:
            lines.append(line)
        fenced ^= fence
    return "\n".join(lines)


def _runs_on(line: str, following: str) -> bool:
    if _ONE_LINE.match(line) or _FENCE.match(line):
        return False
    inner = _ENDS.search(line) and _BEGINS.match(following)
    return bool(_PUNCTUATION.search(line) or inner)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Joins the lines of a Japanese page."""
    return joined(markdown) if page.file.src_uri.endswith(".ja.md") else markdown
