"""Reading a judge's verdict or rating from its tokens or its text (judging 3 and 6.2).

Tokens are as OpenAI's chat API sends them, with log probabilities of the most likely ones.
"""

import math
import re
import unicodedata
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any, Literal, get_args

from pfgen_rs.errors import SettingsError

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


# Verdicts


Which = Literal["first", "last", "brackets", "fastchat"]
WHICH: tuple[Which, ...] = get_args(Which)
Probabilities = Mapping[Letter, float]

_BRACKETED = re.compile(r"\[\[([ABC])\]\]")
_REFUSAL = re.compile(
    r"(?:i['’]m|i am|we['’]re|we are)?\s*(?:very |so |really |truly )?(?:sorry|afraid)\b"
    r"|(?:my |i |we )?(?:sincere(?:ly)? )?apolog|unfortunately\b|as an? (?:ai|language model|llm)\b"
    r"|(?:i|we)(?:['’]m| am|['’]re| are) (?:not able|unable)\b"
    r"|(?:i|we) (?:can['’]?t|can ?not|won['’]t|will not|must decline|refuse)\b"
    r"|(?:大変|誠に|まことに)?(?:申し訳|申しわけ|恐れ入り|すみません|すいません|ごめんなさい|残念ながら)"
    r"|(?:私は)?AI(?:アシスタント)?(?:として|なので|のため|ですので)"
    r"|[^。\n]{0,20}(?:お答え|回答|比較|判断|評価)(?:する)?(?:こと)?(?:は|が)?でき(?:ません|ない|かねます)",
    re.IGNORECASE,
)
"""How an output begins in which a judge refuses rather than judges."""
_BEGINNING = 200  # characters


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verdict as it was shown to the judge: A is the answer that came first.

    `shown`: the letter, or `None` if there is none: the judgment is invalid. `probabilities`: of the three
    letters at the place of the verdict, not normalised; `None` if they are unknown.
    """

    shown: Letter | None
    probabilities: Probabilities | None = None


def read_verdict(tokens: Sequence[Token], which: Which = "first") -> Verdict:
    """Read the verdict from sampled tokens with their most likely alternatives.

    `tokens`: mappings `token`, `logprob`, `top_logprobs` and perhaps `bytes`, as OpenAI's API sends them.
    `which`: `first` for prompts that ask for the result only, `last` for those that ask for the reason first,
    `brackets` for `[[A]]` (no verdict if different ones occur), `fastchat` for `[[A]]` as FastChat reads it
    (the first of A, B, C that occurs anywhere).

    A token is a letter if it is A, B or C after NFKC, without white space and punctuation around it, and has
    no Latin letter or digit beside it in the text. The probability of a letter is the sum over all listed
    tokens that are this letter. If no token is a letter, the text decides, without probabilities. Thoughts
    up to the last `</think>` are ignored. Linear in the number of tokens.

    Source: judging 3, after Morita et al., section 3. Raises `SettingsError` for an
    unknown `which`.
    """
    _check_which(which)
    joined = TokenText(tokens)
    if THOUGHT_END in joined.text:
        content = without_thoughts(joined.text)
        rest = joined.slice(len(joined.text) - len(content), len(joined.text))
        if rest is None:  # the tag and the verdict share a token
            return Verdict(read_verdict_text(content, which).shown)
        joined = TokenText(rest)
    if which in ("brackets", "fastchat"):
        return _bracketed_verdict(joined, which)
    found = _letter_token(joined, which)
    if found is None:
        return Verdict(read_verdict_text(joined.text, which).shown)
    index, letter = found
    return Verdict(letter, _letter_probabilities(joined.tokens[index]))


def read_verdict_text(text: str, which: Which = "first") -> Verdict:
    """Read the verdict from a text: the first or last letter that stands alone, after NFKC.

    `which` as for `read_verdict`. There are no probabilities.
    """
    _check_which(which)
    normal = unicodedata.normalize("NFKC", without_thoughts(text))
    if which in ("brackets", "fastchat"):
        return Verdict(_bracketed_letter(normal, which))
    alone = (letter for _, letter in letters_alone(normal))
    kept = alone if which == "first" else deque(alone, maxlen=1)
    return Verdict(next(iter(kept), None))


def read_output(text: str, tokens: Sequence[Token] | None, which: Which = "first") -> Verdict:
    """Read the verdict from a reply: its text and, if the server sent them, its tokens.

    The text decides which tokens are the answer's; if they do not spell it, there are no probabilities.
    """
    content = without_thoughts(text)
    aligned = answer_tokens(tokens, content) if tokens else None
    if not aligned:
        return read_verdict_text(content, which)
    return read_verdict(aligned, which)


def doubt_of(output: str, which: Which) -> str | None:
    """Returns why a verdict that was read from an output may not be meant as one, or `None`.

    `refusal`: the output begins with one, in English or Japanese. `several letters`: different letters stand
    alone where the verdict is looked for: in the whole output of prompts that ask for the letter only, in the
    last line with letters of those that ask for reasons first. Of bracketed verdicts `read_verdict` takes
    care. Thoughts do not count.
    """
    _check_which(which)
    content = without_thoughts(output).strip()
    beginning = unicodedata.normalize("NFKC", content[:_BEGINNING])
    if _REFUSAL.match(beginning.lstrip("\"'「『*#> ")):
        return "refusal"
    if which not in ("first", "last"):
        return None
    places = [content] if which == "first" else reversed(content.splitlines())
    found = (
        {letter for _, letter in letters_alone(unicodedata.normalize("NFKC", text))}
        for text in places
    )
    letters: set[Letter] = next(filter(None, found), set())
    return "several letters" if len(letters) > 1 else None


def _check_which(which: str) -> None:
    if which not in WHICH:
        raise SettingsError(
            f"unknown way to read a verdict {which!r}: expected first, last, brackets or fastchat"
        )


def _letter_token(joined: TokenText, which: Which) -> tuple[int, Letter] | None:
    """Returns index and letter of the first or last token that is a letter and stands alone."""
    count = len(joined.tokens)
    for index in range(count) if which == "first" else range(count - 1, -1, -1):
        letter = letter_of(spelling(joined.tokens[index]))
        if letter is not None and _stands_alone(joined, index):
            return index, letter
    return None


def _stands_alone(joined: TokenText, index: int) -> bool:
    start, end = joined.span(index)
    for position in range(start, end):
        letter = unicodedata.normalize("NFKC", joined.text[position])
        if letter in ("A", "B", "C"):
            before = joined.text[max(position - 1, 0) : position]
            after = joined.text[position + 1 : position + 2]
            return not is_beside_word(before, letter, after)
    return False


def _letter_probabilities(token: Token) -> Probabilities | None:
    entries = listed(token)
    if entries is None:
        return None
    sums: dict[Letter, float] = dict.fromkeys(LETTERS, 0.0)
    for entry in entries:
        letter = letter_of(spelling(entry))
        if letter is not None:
            sums[letter] += probability_of(entry.get("logprob"))
    return {letter: min(total, 1.0) for letter, total in sums.items()}


def _bracketed_letter(normal: str, which: Which) -> Letter | None:
    found = set(_BRACKETED.findall(normal))
    if which == "brackets" and len(found) != 1:
        return None
    return min(found, default=None)


def _bracketed_verdict(joined: TokenText, which: Which) -> Verdict:
    """Returns the bracketed verdict, with the probabilities at the last token that holds its letter."""
    shown = _bracketed_letter(unicodedata.normalize("NFKC", joined.text), which)
    if shown is None:
        return Verdict(None)
    place = joined.text.rfind(f"[[{shown}]]")  # -1 if it is spelled with other characters
    token = joined.tokens[joined.holder(place + 2)]
    if place < 0 or letter_of(spelling(token)) != shown:
        return Verdict(shown)
    return Verdict(shown, _letter_probabilities(token))


# Ratings


_NUMBER = re.compile(r"(?<![\d.\-])\d+(?:\.\d+)?(?!\.?\d)")
_DOUBLE = re.compile(r"\[\[(\d+(?:\.\d+)?)\]\]")
_SINGLE = re.compile(r"\[(\d+(?:\.\d+)?)\]")
_RESULT = re.compile(r"\[RESULT\][\s(\[]*(?:(\d+(?:\.\d+)?)(?![\d.]*\d)|[AB](?![A-Za-z0-9]))")


def read_rating(text: str, low: float, high: float, brackets: bool = False) -> float | None:
    """Returns the rating in a judge's text, or `None` if there is none on the scale from `low` to `high`.

    Without `brackets`, for prompts that ask for the number only: the first number on the scale. With
    `brackets`: the last `[[n]]` or, only if there is none, the last `[n]`; a number off the scale is invalid.
    Full-width digits count (NFKC); thoughts up to the last `</think>` do not. Linear in the text.

    Raises `SettingsError` if `low` is not below `high`.

    >>> read_rating("評価: ８", 1, 10)
    8.0
    """
    normal = unicodedata.normalize("NFKC", without_thoughts(text))
    found = _rating_match(normal, low, high, brackets)
    return None if found is None else float(found.group(found.re.groups))


def read_result(text: str, low: float = 1, high: float = 5) -> float | None:
    """Returns the last `[RESULT] n` of a reply; `None` without any, or if it is not on the scale.

    After NFKC, without thoughts; brackets around the number do not matter.
    """
    normal = unicodedata.normalize("NFKC", without_thoughts(text))
    last = next(reversed(_RESULT.findall(normal)), "")
    return float(last) if last and low <= float(last) <= high else None


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
