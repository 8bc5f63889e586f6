"""Words in plain Python: the rules of UAX #29 as they are written, for the characters of a small table.

Rules and properties are named as there (WB1 … WB999). Emoji, flags and Hebrew, which have rules of their
own, are left out.
"""

from __future__ import annotations

import re
import string
import unicodedata
from itertools import pairwise

SPACES = " \u2003\u3000"
LINES = "\n\v\f\r\x85\u2028\u2029"
_NEVER_A_WORD = frozenset(SPACES + LINES + "\t\u00a0")
_KINDS = {
    "MidLetter": ":·",
    "MidNum": ",;",
    "MidNumLet": ".\u2019",
    "Quote": "'",
    "ExtendNumLet": "_",
    "Space": SPACES,
    "Newline": LINES,
    "Extend": "\u0301\u3099\u200d",
    "Numeric": string.digits,
}
_KIND_OF = {character: kind for kind, characters in _KINDS.items() for character in characters}
_KATAKANA = re.compile("[ァ-ヺー]")
_WORDLIKE = {"Letter", "Numeric", "Katakana", "ExtendNumLet"}


def kind_of(character: str) -> str:
    """Its Word_Break property, as far as the rules here need it."""
    if character in _KIND_OF:
        return _KIND_OF[character]
    if _KATAKANA.match(character):
        return "Katakana"
    name = unicodedata.name(character, "")
    is_letter = character.isalpha() and not name.startswith(("CJK", "HIRAGANA"))
    return "Letter" if is_letter else "Other"


def is_boundary(text: str, i: int) -> bool:
    """Whether words end between characters i - 1 and i."""
    kinds = [kind_of(character) for character in text]
    before, after = kinds[i - 1], kinds[i]
    if text[i - 1 : i + 1] == "\r\n":
        return False  # WB3
    if "Newline" in (before, after):
        return True  # WB3a, WB3b
    if before == after == "Space":
        return False  # WB3d
    if after == "Extend":
        return False  # WB4
    left = [
        k for j, k in enumerate(kinds[:i]) if k != "Extend" or j == 0 or kinds[j - 1] == "Newline"
    ]
    right = [k for k in kinds[i:] if k != "Extend"] + ["End"]
    return not _joined(["Start", *left], right)


def _joined(left: list[str], right: list[str]) -> bool:
    """WB5 to WB13b."""
    (two_before, before), (after, two_after) = (
        ["", *left][-2:],
        right[:2] if right[1:] else [*right, ""],
    )
    for kind, middle in (("Letter", "MidLetter"), ("Numeric", "MidNum")):
        middles = (middle, "MidNumLet", "Quote")
        if before == kind and after in middles and two_after == kind:
            return True  # WB6, WB12
        if two_before == kind and before in middles and after == kind:
            return True  # WB7, WB11
    if {before, after} <= {"Letter", "Numeric"}:
        return True  # WB5, WB8, WB9, WB10
    if before == after == "Katakana":
        return True  # WB13
    return "ExtendNumLet" in (before, after) and {before, after} <= _WORDLIKE  # WB13a, WB13b


def spans(text: str) -> list[tuple[int, int]]:
    """Where each word begins and ends; what is white space alone is no word."""
    cuts = [0, *(i for i in range(1, len(text)) if is_boundary(text, i)), len(text)]
    return [(a, b) for a, b in pairwise(cuts) if not _NEVER_A_WORD.issuperset(text[a:b])]


class Words(tuple[str, ...]):
    """The words of a text, which is kept."""

    text: str
    spans: list[tuple[int, int]]

    def __new__(cls, text: str) -> Words:
        found = spans(text)
        self = super().__new__(cls, (text[start:end] for start, end in found))
        self.text, self.spans = text, found
        return self

    def read(self, limit: int | None) -> str:
        """The text up to the end of the word with this number; all of it where there is no more to read."""
        if limit is None or limit >= len(self):
            return self.text
        return self.text[: self.spans[limit - 1][1]]

    def words_to(self, end: int) -> int:
        """How many words it takes to hold what ends at this character."""
        return sum(start < end for start, _ in self.spans)
