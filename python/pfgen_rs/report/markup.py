"""Text of unknown origin in Markdown and in the HTML within it, so that it is shown and does nothing."""

from __future__ import annotations

import html
import os
from urllib.parse import quote

__all__ = ["cell_text", "escape", "link_target", "padding"]

_SPECIAL = "_*`{}[]()#+-.!|"
_CONTROLS = {code: repr(chr(code))[1:-1].replace("\\", "&#92;") for code in range(0x20)}
_ESCAPES = {
    **_CONTROLS,
    **{ord(c): html.escape(c) for c in "&<>\"'"},
    **{ord(c): f"&#{ord(c)};" for c in "\\" + _SPECIAL},
}
# What could end a cell, a link's text, or `<code>`; names are else printed as they are.
_BREAKING = {code: text for code, text in _ESCAPES.items() if chr(code) not in "_{}()#+-.!"}
_IN_LINKS = "/@+:,=~"


def escape(text: str) -> str:
    """Text in a published `README.md`: nothing in it is Markdown or HTML."""
    return text.translate(_ESCAPES)


def cell_text(text: str) -> str:
    """A name in a heading, a table's cell or a link: as it is, but for what would break out of there."""
    return text.translate(_BREAKING)


def link_target(path: str) -> str:
    """A relative path as the target of a link."""
    return quote(os.fsencode(path), safe=_IN_LINKS)


def padding(heading: str, cells: list[str]) -> str:
    """What makes a heading as wide as its widest cell, counting characters beyond ASCII as two."""
    widest = max(map(_width, cells), default=0)
    return "&nbsp;" * max(0, widest - _width(heading))


def _width(text: str) -> int:
    return sum(1 if c.isascii() else 2 for c in text)
