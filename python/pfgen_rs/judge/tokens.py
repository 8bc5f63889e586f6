"""Sampled tokens with their log probabilities, the verdict letters in them, and thoughts before answers.

Tokens are as OpenAI's chat API sends them.
"""

import math
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any, Literal

Token = Mapping[str, Any]
"""`token`, `logprob`, `top_logprobs`, and perhaps `bytes`; anything may be missing or malformed."""

_NEVER = -9999.0
"""Log probabilities that some servers send for tokens that are excluded."""


def spelling(token: Token) -> str:
    """Returns the text of a token, from its bytes if they are complete characters."""
    text, values = token.get("token"), token.get("bytes")
    plain = text if isinstance(text, str) else ""
    if values is None:
        return plain
    raw = _token_bytes(token)
    try:
        return plain if raw is None else raw.decode()
    except UnicodeDecodeError:
        return plain


def _token_bytes(token: Token) -> bytes | None:
    values = token.get("bytes")
    try:
        return bytes(values) if isinstance(values, list | tuple) else None
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
    return math.exp(min(value, 0.0)) if math.isfinite(value) and value > _NEVER else 0.0


def listed(token: Token) -> list[Token] | None:
    """Returns the most likely tokens at a position and the sampled one, which is added if it is missing.

    `None` if the list is empty or missing.
    """
    tops = token.get("top_logprobs")
    if not isinstance(tops, list | tuple):
        return None
    if any(type(entry) is not dict for entry in tops):
        tops = [entry for entry in tops if isinstance(entry, Mapping)]
    if not tops:
        return None
    entries: list[Token] = tops if isinstance(tops, list) else list(tops)
    sampled = token.get("token")
    for entry in entries:
        if entry.get("token") == sampled and _same_bytes(entry, token):
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
        texts = [token.get("token") for token in self.tokens]
        self._texts = [text if isinstance(text, str) else "" for text in texts]
        self.text = "".join(self._texts)
        self._known_starts: list[int] | None = None
        if any(token.get("bytes") is not None for token in self.tokens):
            self._join_bytes()

    @property
    def _starts(self) -> list[int]:
        if self._known_starts is None:
            self._known_starts = list(accumulate(map(len, self._texts), initial=0))
        return self._known_starts

    def _join_bytes(self) -> None:
        parts = []
        for token, text in zip(self.tokens, self._texts, strict=True):
            raw = _token_bytes(token)
            parts.append(text.encode("utf-8", "surrogatepass") if raw is None else raw)
        joined = b"".join(parts)
        whole = joined.decode("utf-8", "replace")
        if whole == self.text or len(whole.encode()) != len(joined):
            return  # the texts say the same, or bytes are invalid: places are those of the texts
        self.text = whole
        ends = list(accumulate(len(character.encode()) for character in whole))
        # A character belongs to the token in which it ends.
        tokens = accumulate(map(len, parts))
        self._known_starts = [0, *(bisect_right(ends, end) for end in tokens)]

    def span(self, index: int) -> tuple[int, int]:
        """Returns where a token's text begins and ends."""
        return self._starts[index], self._starts[index + 1]

    def holder(self, position: int) -> int:
        """Returns the index of the token that holds the character at a position."""
        return bisect_right(self._starts, position, lo=1) - 1

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


# Verdict letters


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
    text = unicodedata.normalize("NFKC", token)
    stripped = text.strip("".join(filter(_is_mark, text)))
    return stripped if stripped in ("A", "B", "C") else None  # type: ignore[return-value]


_LONGEST = 256  # longer tokens do not exist, but answers of a megabyte may be passed off as one


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


# Thoughts


THOUGHT_BEGIN, THOUGHT_END = "<think>", "</think>"
CUT = "cut off by the token limit"
"""The problem of an output that ended before what was asked for, thoughts included."""


def without_thoughts(text: str) -> str:
    """Returns what follows the last `</think>`, or the whole text without any."""
    return text.rpartition(THOUGHT_END)[2]


def problem_of(
    output: str, value: object, finish_reason: str | None, lacking: str, *, whole: bool = False
) -> str | None:
    """Returns why an output is invalid in which `value` was read (`None`: nothing), `None` if it is not.

    `lacking`: what to say if there is no value. `whole`: whether an output that was cut off is invalid even
    if a value was read, since a later one counts.
    """
    content = without_thoughts(output).strip()
    if finish_reason == "length" and (whole or value is None or content.startswith(THOUGHT_BEGIN)):
        return CUT
    if value is not None:
        return None
    return lacking if content else "empty"


def answer_tokens(tokens: Sequence[Token], content: str) -> list[Token] | None:
    """Returns the tokens of an answer whose text, without thoughts, is `content`.

    Servers list the tokens of thoughts, too, even if they send these as `reasoning_content`, and tokens that
    end the text. `None` if the tokens do not spell the content.
    """
    joined = TokenText(tokens)
    wanted = content.strip()
    if not wanted:
        return []
    behind = joined.text.rfind(THOUGHT_END)
    start = joined.text.rfind(wanted, 0 if behind < 0 else behind + len(THOUGHT_END))
    return None if start < 0 else joined.slice(start, start + len(wanted))
