"""Shows text of unknown origin without letting it act: which characters act, and how they are written out."""

from __future__ import annotations

import unicodedata

__all__ = ["ACTING", "acts", "escaped", "escaped_json", "shortened", "visible"]

ACTING = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""General categories of what a terminal, a page or a table would obey rather than show.

Controls; formatting such as bidirectional overrides; surrogates; line and paragraph separators. The scripts
of pages use the same ones (`assets/text.js`).
"""


def acts(character: str) -> bool:
    """Whether a character acts rather than shows."""
    return unicodedata.category(character) in ACTING


def visible(text: str) -> str:
    """`text` in one line, with acting characters as escapes."""
    if text.isprintable():
        return text
    return "".join(escaped(c) if acts(c) else c for c in text)


def shortened(text: str, most: int = 60) -> str:
    """At most `most` characters of a text, and an ellipsis where it is longer."""
    return text if len(text) <= most else text[: most - 1] + "…"


def escaped_json(text: str) -> str:
    """JSON with acting characters escaped inside its strings; line ends between them stay."""
    if text.replace("\n", "").isprintable():
        return text
    return "".join(_json_escaped(c) if c != "\n" and acts(c) else c for c in text)


def escaped(character: str) -> str:
    r"""A character as an escape in Python's notation, such as `\n` or `\u202e`."""
    # repr knows the short forms of line ends and tabs, but keeps some characters as they are.
    short = repr(character)[1:-1]
    if short != character:
        return short
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escaped(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))
