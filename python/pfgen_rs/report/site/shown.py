"""Text of unknown origin in pages: control characters are written out.

Scripts do the same (`assets/text.js`).
"""

from __future__ import annotations

from markupsafe import Markup

from pfgen_rs.io.safe_text import acts

__all__ = ["plain", "shown"]

_BOX = Markup('<span class="control">{}</span>')


def plain(text: str) -> str:
    """Returns text with control characters as `⟨U+202E⟩`, for titles, attributes and other plain text.

    Everything in pages other than markup goes through this, so no name can reorder a page or break its
    encoding (lone surrogates).
    """
    if text.isprintable():
        return text
    return "".join(f"⟨{_shown_code_point(c)}⟩" if acts(c) else c for c in text)


def shown(text: str) -> Markup:
    """Returns text as markup, isolated from the surrounding direction, with control characters in boxes."""
    if text.isprintable():
        return Markup("<bdi>{}</bdi>").format(text)
    parts = [_BOX.format(_shown_code_point(c)) if acts(c) else c for c in text]
    return Markup("<bdi>{}</bdi>").format(Markup("").join(parts))


def _shown_code_point(character: str) -> str:
    return f"U+{ord(character):04X}"
