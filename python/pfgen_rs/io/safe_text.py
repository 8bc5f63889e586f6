"""Showing text of unknown origin on a terminal without letting it act there."""

from __future__ import annotations

import unicodedata

__all__ = ["escaped_json", "visible"]

# Controls; formatting such as bidirectional overrides; surrogates; line and paragraph separators.
_ACTING = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def visible(text: str) -> str:
    """`text` in one line, with characters that a terminal would obey written as escapes."""
    if text.isprintable():
        return text
    return "".join(_escaped(c) if unicodedata.category(c) in _ACTING else c for c in text)


def escaped_json(text: str) -> str:
    """JSON with the same characters escaped inside its strings; line ends between them stay."""
    if text.replace("\n", "").isprintable():
        return text
    return "".join(_json_escaped(c) if _acts_in_json(c) else c for c in text)


def _escaped(character: str) -> str:
    # repr knows the short forms of line ends and tabs, but keeps some characters as they are.
    short = repr(character)[1:-1]
    if short != character:
        return short
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _acts_in_json(character: str) -> bool:
    return character != "\n" and unicodedata.category(character) in _ACTING


def _json_escaped(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))
