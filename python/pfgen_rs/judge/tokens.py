"""Sampled tokens with their log probabilities, as OpenAI's chat API sends them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

__all__ = ["Token", "TokenText", "listed", "probability_of", "spelling"]

Token = Mapping[str, Any]
"""`token`, `logprob`, `top_logprobs`, and perhaps `bytes`; anything may be missing or malformed."""

_NEVER = -9999.0
"""Log probabilities that some servers send for tokens that are excluded."""
_UNCLEAN = ("\N{REPLACEMENT CHARACTER}", "\\x", "bytes:")
"""What stands in the text of tokens that are parts of a character."""


def spelling(token: Token) -> str:
    """Returns the text of a token, from its bytes if they are complete characters."""
    text = token.get("token")
    raw = _token_bytes(token)
    if raw is not None:
        try:
            return raw.decode()
        except UnicodeDecodeError:
            pass
    return text if isinstance(text, str) else ""


def _token_bytes(token: Token) -> bytes | None:
    values = token.get("bytes")
    if not isinstance(values, list | tuple):
        return None
    try:
        return bytes(values)
    except (TypeError, ValueError):
        return None


def probability_of(logprob: object) -> float:
    """Returns exp(logprob); 0 for anything that is not a finite number above -9999."""
    if isinstance(logprob, bool) or not isinstance(logprob, int | float):
        return 0.0
    try:
        value = float(logprob)
    except OverflowError:
        return 0.0
    if not math.isfinite(value) or value <= _NEVER:
        return 0.0
    return math.exp(min(value, 0.0))


def listed(token: Token) -> list[Token] | None:
    """Returns the most likely tokens at a position and the sampled one, which is added if it is missing.

    `None` if the list is empty or missing.
    """
    tops = token.get("top_logprobs")
    if not isinstance(tops, list | tuple):
        return None
    entries = [entry for entry in tops if isinstance(entry, Mapping)]
    if not entries:
        return None
    sampled = token.get("token")
    if any(entry.get("token") == sampled and _same_bytes(entry, token) for entry in entries):
        return entries
    return [*entries, token]


def _same_bytes(a: Token, b: Token) -> bool:
    first, second = a.get("bytes"), b.get("bytes")
    return first is None or second is None or list(first) == list(second)


class TokenText:
    """The text of a sequence of tokens, and which token each character came from.

    `text`: the joined text; tokens that carry bytes are joined as bytes, so that characters which are split
    over tokens are whole. Linear in the text.
    """

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = [token for token in tokens if isinstance(token, Mapping)]
        texts = [t if isinstance(t := token.get("token"), str) else "" for token in self.tokens]
        joined = "".join(texts)
        if self._is_clean(joined):
            self.text = joined
            self._starts = list(accumulate(map(len, texts), initial=0))
        else:
            self._join_bytes(texts)

    def _is_clean(self, joined: str) -> bool:
        """Whether the tokens' texts are what their bytes say."""
        sizes = 0
        for token in self.tokens:
            values = token.get("bytes")
            if values is None:
                return not any(mark in joined for mark in _UNCLEAN) or not self._has_bytes()
            sizes += len(values) if isinstance(values, list | tuple) else 0
        return sizes == len(joined.encode("utf-8", "surrogatepass")) and not any(
            mark in joined for mark in _UNCLEAN
        )

    def _has_bytes(self) -> bool:
        return any(token.get("bytes") is not None for token in self.tokens)

    def _join_bytes(self, texts: Sequence[str]) -> None:
        parts = []
        for token, text in zip(self.tokens, texts, strict=True):
            raw = _token_bytes(token)
            parts.append(text.encode("utf-8", "surrogatepass") if raw is None else raw)
        joined = b"".join(parts)
        self.text = joined.decode("utf-8", "replace")
        # A character belongs to the token in which it begins.
        ends, starts, total = [], [0], 0
        for character in self.text:
            total += len(character.encode("utf-8", "surrogatepass"))
            ends.append(total)
        if total != len(joined):  # invalid bytes were replaced: places are those of the texts
            self.text = "".join(texts)
            self._starts = list(accumulate(map(len, texts), initial=0))
            return
        sizes = accumulate(map(len, parts))
        position = 0
        for size in sizes:
            while position < len(ends) and ends[position] <= size:
                position += 1
            starts.append(position)
        self._starts = starts

    def span(self, index: int) -> tuple[int, int]:
        """Returns where a token's text begins and ends."""
        return self._starts[index], self._starts[index + 1]

    def holder(self, position: int) -> int:
        """Returns the index of the token that holds the character at a position."""
        low, high = 0, len(self.tokens)
        while low < high:
            middle = (low + high) // 2
            if self._starts[middle + 1] <= position:
                low = middle + 1
            else:
                high = middle
        return low

    def slice(self, start: int, end: int) -> list[Token] | None:
        """Returns the tokens of `text[start:end]`; `None` if they also hold other text than white space."""
        if start >= end:
            return []
        first, last = self.holder(start), self.holder(end - 1)
        before = self.text[self._starts[first] : start]
        after = self.text[end : self._starts[last + 1]]
        return None if (before + after).strip() else self.tokens[first : last + 1]
