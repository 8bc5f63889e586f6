"""Escapes text of unknown origin for Markdown, and for HTML within it."""

import html
import os
import re
from urllib.parse import quote

from pfgen_rs.io.text import escaped

_SPECIAL = "_*`{}[]()#+-.!|"
_CONTROLS = {code: escaped(chr(code)).replace("\\", "&#92;") for code in range(0x20)}
ESCAPES = {
    **_CONTROLS,
    **{ord(c): html.escape(c) for c in "&<>\"'"},
    **{ord(c): f"&#{ord(c)};" for c in "\\" + _SPECIAL},
}
"""What `escape` replaces, by code point: ASCII only."""
_NEEDS_ESCAPE = re.compile("[" + re.escape("".join(map(chr, ESCAPES))) + "]")
# What could end a cell, the text of a link, or `<code>`; names are otherwise printed unchanged.
_BREAKING = {code: text for code, text in ESCAPES.items() if chr(code) not in "_{}()#+-.!"}
_IN_LINKS = "/@+:,=~"


def escape(text: str) -> str:
    """Escape text for a published `README.md`: nothing in it is Markdown or HTML."""
    if _NEEDS_ESCAPE.search(text) is None:  # as usual in Japanese, and much faster
        return text
    return text.translate(ESCAPES)


def cell_text(text: str) -> str:
    """Escape a name in a heading, a table cell or a link: only what would break out of it."""
    return text.translate(_BREAKING)


def link_target(path: str) -> str:
    """Returns a relative path as the target of a link."""
    return quote(os.fsencode(path), safe=_IN_LINKS)


def padding(heading: str, cells: list[str]) -> str:
    """Returns spaces that make a heading as wide as its widest cell; non-ASCII characters count as two."""
    widest = max(map(_width, cells), default=0)
    return "&nbsp;" * max(0, widest - _width(heading))


def _width(text: str) -> int:
    return sum(1 if c.isascii() else 2 for c in text)
