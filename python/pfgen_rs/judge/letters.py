"""Verdict letters (A, B, C) in tokens and in text (judging 3.2)."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

__all__ = ["LETTERS", "SWAPPED", "Letter", "is_beside_word", "letter_of", "letters_alone"]

Letter = Literal["A", "B", "C"]
LETTERS: tuple[Letter, ...] = ("A", "B", "C")
"""A: the first answer is better; B: the second one is; C: a tie."""
SWAPPED: dict[Letter, Letter] = {"A": "B", "B": "A", "C": "C"}
"""Letters as shown in one order, as they read in the other."""


@lru_cache(maxsize=1 << 16)
def letter_of(token: str) -> Letter | None:
    """Returns the letter that a token is after NFKC, without white space and punctuation around it."""
    if len(token) > _LONGEST:
        return None
    stripped = _stripped_of_marks(unicodedata.normalize("NFKC", token))
    return stripped if stripped in ("A", "B", "C") else None  # type: ignore[return-value]


_LONGEST = 256  # longer tokens do not exist, but answers of a megabyte may be passed off as one


def _stripped_of_marks(text: str) -> str:
    start, end = 0, len(text)
    while start < end and _is_mark(text[start]):
        start += 1
    while start < end and _is_mark(text[end - 1]):
        end -= 1
    return text[start:end]


def _is_mark(character: str) -> bool:
    return character.isspace() or unicodedata.category(character).startswith("P")


def is_beside_word(before: str, letter: str, after: str) -> bool:
    """Whether a letter has a Latin letter or a digit right before or after it.

    `before` and `after`: the text around the letter; only the nearest characters count.
    """
    left = unicodedata.normalize("NFKC", before[-1:])
    if left and _is_word_character(left[-1]):
        return True
    right = unicodedata.normalize("NFKC", letter + after[:1])
    # A combining character makes the letter another one.
    return right[:1] != letter or (len(right) > 1 and _is_word_character(right[1]))


@lru_cache(maxsize=4096)
def _is_word_character(character: str) -> bool:
    if character.isascii():
        return character.isalnum()
    category = unicodedata.category(character)
    return category == "Nd" or (
        category.startswith("L") and unicodedata.name(character, "").startswith("LATIN")
    )


def letters_alone(text: str) -> Iterator[tuple[int, Letter]]:
    """Yield position and letter of each A, B and C in `text` (after NFKC) that stands alone."""
    for position, character in enumerate(text):
        if character in "ABC" and not is_beside_word(
            text[max(position - 1, 0) : position], character, text[position + 1 : position + 2]
        ):
            yield position, character  # type: ignore[misc]
