"""Sampled tokens with their log probabilities, as OpenAI's chat API sends them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

__all__ = ["Token", "TokenText", "is_token", "listed", "probability_of", "spelling"]

Token = Mapping[str, Any]
"""`token`, `logprob`, `top_logprobs`, and perhaps `bytes`; anything may be missing or malformed."""

_NEVER = -9999.0
"""Log probabilities that some servers send for tokens that are excluded."""
_UNCLEAN = ("\N{REPLACEMENT CHARACTER}", "\\x", "bytes:")
"""What stands in the text of tokens that are parts of a character."""


def spelling(token: Token) -> str:
    """Returns the text of a token, from its bytes if they are complete characters."""
    text = token.get("token")
    values = token.get("bytes")
    if values is None or (type(text) is str and type(values) is list and _is_plain(text, values)):
        return text if isinstance(text, str) else ""
    raw = _token_bytes(token)
    if raw is not None:
        try:
            return raw.decode()
        except UnicodeDecodeError:
            pass
    return text if isinstance(text, str) else ""


def _is_plain(text: str, values: list[Any]) -> bool:
    """Whether a text is surely what its bytes say: it begins and ends like them, in ASCII."""
    return (
        len(values) == len(text) > 0
        and text.isascii()
        and values[0] == ord(text[0])
        and values[-1] == ord(text[-1])
    )


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
    if type(logprob) is float:
        value = logprob
    elif isinstance(logprob, bool) or not isinstance(logprob, int | float):
        return 0.0
    else:
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
    if any(type(entry) is not dict for entry in tops):
        tops = [entry for entry in tops if is_token(entry)]
    if not tops:
        return None
    entries: list[Token] = tops if isinstance(tops, list) else list(tops)
    sampled = token.get("token")
    for entry in entries:
        if entry.get("token") == sampled and _same_bytes(entry, token):
            return entries
    return [*entries, token]


def is_token(value: object) -> bool:
    """Whether a value is a mapping; nearly all are dicts, which is quick to see."""
    return type(value) is dict or isinstance(value, Mapping)


def _same_bytes(a: Token, b: Token) -> bool:
    first, second = a.get("bytes"), b.get("bytes")
    return first is None or second is None or list(first) == list(second)


class TokenText:
    """The text of a sequence of tokens, and which token each character came from.

    `text`: the joined text; tokens that carry bytes are joined as bytes, so that characters which are split
    over tokens are whole. Linear in the text.
    """

    def __init__(self, tokens: Sequence[Token]) -> None:
        try:
            self.tokens: Sequence[Token] = tokens
            self._texts = [token["token"] for token in tokens]
            self.text = "".join(self._texts)
        except (KeyError, TypeError):  # malformed ones are rare
            self.tokens = [token for token in tokens if is_token(token)]
            self._texts = [
                t if isinstance(t := token.get("token"), str) else "" for token in self.tokens
            ]
            self.text = "".join(self._texts)
        self._known_starts: list[int] | None = None
        if not self._is_clean():
            self._join_bytes(self._texts)

    def _is_clean(self) -> bool:
        """Whether the tokens' texts are what their bytes say, if there are any."""
        marked = any(mark in self.text for mark in _UNCLEAN)
        try:
            size = sum([len(token["bytes"]) for token in self.tokens])
        except (KeyError, TypeError):  # some have none
            return not marked or all(token.get("bytes") is None for token in self.tokens)
        text = self.text
        length = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        return size == length and not marked

    @property
    def _starts(self) -> list[int]:
        if self._known_starts is None:
            self._known_starts = list(accumulate(map(len, self._texts), initial=0))
        return self._known_starts

    def _join_bytes(self, texts: Sequence[str]) -> None:
        parts = []
        for token, text in zip(self.tokens, texts, strict=True):
            raw = _token_bytes(token)
            parts.append(text.encode("utf-8", "surrogatepass") if raw is None else raw)
        joined = b"".join(parts)
        self.text = joined.decode("utf-8", "replace")
        # A character belongs to the token in which it ends.
        ends, starts, total = [], [0], 0
        for character in self.text:
            total += len(character.encode("utf-8", "surrogatepass"))
            ends.append(total)
        if total != len(joined):  # invalid bytes were replaced: places are those of the texts
            self.text = "".join(texts)
            return
        sizes = accumulate(map(len, parts))
        position = 0
        for size in sizes:
            while position < len(ends) and ends[position] <= size:
                position += 1
            starts.append(position)
        self._known_starts = starts

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
        # The character may begin in tokens before, which hold none.
        while first and self._starts[first - 1] == start:
            first -= 1
        before = self.text[self._starts[first] : start]
        after = self.text[end : self._starts[last + 1]]
        return None if (before + after).strip() else list(self.tokens[first : last + 1])
