"""Shows untrusted text safely by escaping characters that have an effect, such as control characters."""

from __future__ import annotations

import re
import unicodedata

ACTING = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""General categories of characters that a terminal, a page or a table would obey rather than show.

Control characters, formatting such as bidirectional overrides, surrogates, and line and paragraph separators.
The scripts of pages use the same list (`assets/text.js`).
"""


FORMULA, NUMBER = r"(?s)^[=+\-@\t\r].", r"^[+-]?\d[\d.,]*(e[+-]?\d+)?%?$"
"""What begins a cell that spreadsheets run, and which such cells are but numbers."""

# Includes what the published format leaves alone: addresses, mentions, formulas. Text does not begin a line,
# so what acts only there may stay, and so may ends of sentences.
_ACTIVE = re.compile(r"[\\`*_{}\[\]<>#!|~@$&]|:(?! )|\.(?![0-9 ]|$)")


def cell_text(text: str) -> str:
    """Returns the text of a cell of a CSV file, after a quotation mark (') if spreadsheets would run it."""
    return f"'{text}" if re.search(FORMULA, text) and not re.search(NUMBER, text) else text


def acts(character: str) -> bool:
    """Whether a character has an effect rather than being shown."""
    return unicodedata.category(character) in ACTING


def visible(text: str) -> str:
    """Returns `text` on one line, with all characters in `ACTING` escaped."""
    if text.isprintable():
        return text
    return "".join(escaped(c) if acts(c) else c for c in text)


def inert(text: str) -> str:
    """Escape text within a line or cell of our own Markdown: Markdown, HTML and control characters."""
    return _ACTIVE.sub(lambda found: f"&#{ord(found[0])};", visible(text))


def shortened(text: str, most: int = 60) -> str:
    """Returns a text shortened to at most `most` characters, the last one an ellipsis."""
    return text if len(text) <= most else text[: most - 1] + "…"


def escaped_json(text: str) -> str:
    """Returns JSON with the characters in `ACTING` escaped inside its strings; newlines between them stay."""
    if text.replace("\n", "").isprintable():
        return text
    return "".join(_safe_json(c) if c != "\n" and acts(c) else c for c in text)


def escaped(character: str) -> str:
    r"""Returns a character as a Python escape, such as `\n` or `\u202e`."""
    # repr has short forms for newlines and tabs, but leaves some characters unchanged.
    short = repr(character)[1:-1]
    if short != character:
        return short
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _safe_json(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))


# Counts with their nouns, in the singular or plural.


def counted(count: int, noun: str) -> str:
    """Returns a count with its noun, whose plural ends in `s`: `1 task`, `1,200 tasks`."""
    return f"{count:,} {plural(count, noun, f'{noun}s')}"


def plural(count: int, one: str, many: str) -> str:
    """Returns the word that goes with a count: `one` for 1, else `many`."""
    return one if count == 1 else many
