"""Text of unknown origin in a page: characters that act rather than show are written out.

Scripts do the same to what they show (`assets/text.js`).
"""

from __future__ import annotations

from markupsafe import Markup

from pfgen_rs.io.safe_text import acts

__all__ = ["plain", "shown"]

_BOX = Markup('<span class="control">{}</span>')


def plain(text: str) -> str:
    """`text` with acting characters as `⟨U+202E⟩`: for titles, attributes and wherever else no box fits.

    What pages show goes through this unless it is markup, so that no name can reorder a page or break its
    encoding (lone surrogates).
    """
    if text.isprintable():
        return text
    return "".join(f"⟨{_code(c)}⟩" if acts(c) else c for c in text)


def shown(text: str) -> Markup:
    """`text` as markup, acting characters in small boxes, apart from the direction of what is around it."""
    if text.isprintable():
        return Markup("<bdi>{}</bdi>").format(text)
    parts = [_BOX.format(_code(c)) if acts(c) else c for c in text]
    return Markup("<bdi>{}</bdi>").format(Markup("").join(parts))


def _code(character: str) -> str:
    return f"U+{ord(character):04X}"
