"""Reading a judge's rating of a single answer from its text or its tokens."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from pfgen_rs.errors import SettingsError
from pfgen_rs.judge.thoughts import answer_tokens, without_thoughts
from pfgen_rs.judge.tokens import Token, TokenText, listed, probability_of, spelling

__all__ = ["expected_rating", "read_rating"]

_NUMBER = re.compile(r"(?<![\d.\-])\d+(?:\.\d+)?(?!\.?\d)")
_DOUBLE = re.compile(r"\[\[(\d+(?:\.\d+)?)\]\]")
_SINGLE = re.compile(r"\[(\d+(?:\.\d+)?)\]")


def read_rating(text: str, low: float, high: float, brackets: bool = False) -> float | None:
    """Returns the rating in a judge's text, or `None` if there is none on the scale from `low` to `high`.

    Without `brackets`, for prompts that ask for the number only: the first number on the scale. With
    `brackets`: the last `[[n]]` or, only if there is none, the last `[n]`; a number off the scale is invalid.
    Full-width digits count (NFKC); thoughts up to the last `</think>` do not. Linear in the text.

    Raises `SettingsError` if `low` is not below `high`.

    >>> read_rating("評価: ８", 1, 10)
    8.0
    """
    found = _rating_match(
        unicodedata.normalize("NFKC", without_thoughts(text)), low, high, brackets
    )
    return None if found is None else float(found.group(found.re.groups))


def expected_rating(
    text: str, tokens: Sequence[Token] | None, low: int, high: int, brackets: bool = False
) -> float | None:
    """Returns Σ s·p(s) / Σ p(s) over the integers s of a scale, at the token of the rating in `text`.

    `None` if the probabilities are unknown, if the rating is not a token of its own or, on scales with
    numbers of two digits, if the largest number is not among the listed tokens: it may then be two tokens.
    """
    content = without_thoughts(text)
    answer = answer_tokens(tokens, content) if tokens else None
    entries = _rating_entries(TokenText(answer), low, high, brackets) if answer else None
    if entries is None:
        return None
    sums: dict[int, float] = {}
    for entry in entries:
        number = _rating_number(spelling(entry))
        if number is not None and low <= number <= high:
            sums[number] = sums.get(number, 0.0) + probability_of(entry.get("logprob"))
    total = sum(sums.values())
    if not total or (high >= 10 and high not in sums):
        return None
    return sum(number * p for number, p in sorted(sums.items())) / total


def _rating_match(normal: str, low: float, high: float, brackets: bool) -> re.Match[str] | None:
    if not low < high:
        raise SettingsError(
            f"invalid scale from {low:g} to {high:g}: expected two increasing numbers"
        )
    if not brackets:
        numbers = _NUMBER.finditer(normal)
        return next((match for match in numbers if low <= float(match.group()) <= high), None)
    found = list(_DOUBLE.finditer(normal)) or list(_SINGLE.finditer(normal))
    return found[-1] if found and low <= float(found[-1].group(1)) <= high else None


def _rating_entries(joined: TokenText, low: int, high: int, brackets: bool) -> list[Token] | None:
    """Returns the listed tokens at the place of the rating, if the rating is one token."""
    match = _rating_match(joined.text, low, high, brackets)  # full-width digits keep their places
    if match is None:
        return None
    token = joined.tokens[joined.holder(match.start(match.re.groups))]
    rating = _rating_number(spelling(token))
    return listed(token) if rating == float(match.group(match.re.groups)) else None


def _rating_number(token: str) -> int | None:
    """Returns the integer that a token is, without white space and punctuation around it."""
    text = unicodedata.normalize("NFKC", token).strip()
    digits = text.strip("[]().,:;*\"'「」。、 ")
    return int(digits) if digits.isdecimal() and len(digits) < 4 else None
