"""Reading a judge's verdict from its tokens or its text, and deciding pairs (judging 3 and 4)."""

import re
import unicodedata
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from pfgen_rs.errors import SettingsError
from pfgen_rs.judge import tokens as parts
from pfgen_rs.judge.tokens import LETTERS, SWAPPED, Letter, Token, TokenText

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
    if parts.THOUGHT_END in joined.text:
        content = parts.without_thoughts(joined.text)
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
    normal = unicodedata.normalize("NFKC", parts.without_thoughts(text))
    if which in ("brackets", "fastchat"):
        return Verdict(_bracketed_letter(normal, which))
    alone = (letter for _, letter in parts.letters_alone(normal))
    kept = alone if which == "first" else deque(alone, maxlen=1)
    return Verdict(next(iter(kept), None))


def read_output(text: str, tokens: Sequence[Token] | None, which: Which = "first") -> Verdict:
    """Read the verdict from a reply: its text and, if the server sent them, its tokens.

    The text decides which tokens are the answer's; if they do not spell it, there are no probabilities.
    """
    content = parts.without_thoughts(text)
    aligned = parts.answer_tokens(tokens, content) if tokens else None
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
    content = parts.without_thoughts(output).strip()
    beginning = unicodedata.normalize("NFKC", content[:_BEGINNING])
    if _REFUSAL.match(beginning.lstrip("\"'「『*#> ")):
        return "refusal"
    if which not in ("first", "last"):
        return None
    places = [content] if which == "first" else reversed(content.splitlines())
    found = (
        {letter for _, letter in parts.letters_alone(unicodedata.normalize("NFKC", text))}
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
        letter = parts.letter_of(parts.spelling(joined.tokens[index]))
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
            return not parts.is_beside_word(before, letter, after)
    return False


def _letter_probabilities(token: Token) -> Probabilities | None:
    entries = parts.listed(token)
    if entries is None:
        return None
    sums: dict[Letter, float] = dict.fromkeys(LETTERS, 0.0)
    for entry in entries:
        letter = parts.letter_of(parts.spelling(entry))
        if letter is not None:
            sums[letter] += parts.probability_of(entry.get("logprob"))
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
    if place < 0 or parts.letter_of(parts.spelling(token)) != shown:
        return Verdict(shown)
    return Verdict(shown, _letter_probabilities(token))


# Decisions about a pair from its verdicts in both orders


Rule = Literal["probability", "strict", "tie", "first"]
RULES: tuple[Rule, ...] = ("probability", "strict", "tie", "first")
"""How pairs are decided, see `Decision`."""

State = Literal["decided", "undecided", "invalid"]


@dataclass(frozen=True, slots=True)
class Decision:
    """Decisions about a pair by all rules. Letters speak of the pair: A is its first answer, B the second.

    `probability`: the letter with the largest `mean` probability of both orders (as Morita et al.
    propose); equal ones decide C. `mean`: mean probabilities of A, B and C; of one judgment alone (`single`)
    if the other one has none; `None` without any.
    `strict`: the verdict of both orders if they agree (BS1), else `None`; `tie`: the same, but C if they
    differ (BS2). An invalid judgment leaves both without a decision; `strict_state` tells `undecided` from
    `invalid`. `first`: the verdict of the first order alone.
    `consistent`: whether both orders have the same verdict. `margin`: difference of the two largest mean
    probabilities. `outside`: 1 minus the sum of the mean probabilities, at least 0.
    `verdicts`: the letters of both orders.
    """

    probability: Letter | None
    mean: Probabilities | None
    single: bool
    strict: Letter | None
    strict_state: State
    tie: Letter | None
    first: Letter | None
    consistent: bool
    margin: float | None
    outside: float | None
    verdicts: tuple[Letter | None, Letter | None]


def decide(first: Verdict | None, second: Verdict | None) -> Decision:
    """Decide a pair by all rules from its verdicts in order 1 and order 2, as they were shown.

    In order 2 the answers are swapped, and this function swaps letters back. `None` is a judgment that is
    missing, which counts as invalid.

    Source: judging 4.1 and 4.2 (Morita et al.; `strict`: BS1, `tie`: BS2).

    >>> first = Verdict("A", {"A": 0.7, "B": 0.1, "C": 0.06})
    >>> decide(first, Verdict("A", {"A": 0.6, "B": 0.4, "C": 0.1})).probability
    'A'
    """
    one, two = first or Verdict(None), swapped_back(second or Verdict(None))
    p1, p2 = one.probabilities, two.probabilities
    mean, single = p2 if p1 is None else p1, (p1 is None) != (p2 is None)
    if p1 is not None and p2 is not None:
        mean = {letter: (p1[letter] + p2[letter]) / 2 for letter in LETTERS}
    v1, v2 = one.shown, two.shown
    valid, same = v1 is not None and v2 is not None, v1 == v2
    state: State = "invalid" if not valid else "decided" if same else "undecided"
    ranked = sorted(mean.values(), reverse=True) if mean else None
    return Decision(
        probability=_most_probable(mean),
        mean=mean,
        single=single,
        strict=v1 if valid and same else None,
        strict_state=state,
        tie=(v1 if same else "C") if valid else None,
        first=v1,
        consistent=valid and same,
        margin=ranked[0] - ranked[1] if ranked else None,
        outside=max(0.0, 1.0 - sum(mean.values())) if mean else None,
        verdicts=(v1, v2),
    )


def check_rule(rule: str) -> None:
    """Raise `SettingsError` for an unknown rule."""
    if rule not in RULES:
        raise SettingsError(f"unknown rule {rule!r}: expected one of {', '.join(RULES)}")


def swapped_back(verdict: Verdict) -> Verdict:
    """Returns a verdict of order 2 in letters of the pair."""
    shown, p = verdict.shown, verdict.probabilities
    return Verdict(
        None if shown is None else SWAPPED[shown],
        None if p is None else {letter: p[SWAPPED[letter]] for letter in LETTERS},
    )


def _most_probable(mean: Probabilities | None) -> Letter | None:
    if mean is None:
        return None
    largest = max(mean.values())
    winners = [letter for letter in LETTERS if mean[letter] == largest]
    return winners[0] if len(winners) == 1 else "C"


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
    normal = unicodedata.normalize("NFKC", parts.without_thoughts(text))
    found = _rating_match(normal, low, high, brackets)
    return None if found is None else float(found.group(found.re.groups))


def read_result(text: str, low: float = 1, high: float = 5) -> float | None:
    """Returns the last `[RESULT] n` of a reply; `None` without any, or if it is not on the scale.

    After NFKC, without thoughts; brackets around the number do not matter.
    """
    normal = unicodedata.normalize("NFKC", parts.without_thoughts(text))
    last = next(reversed(_RESULT.findall(normal)), "")
    return float(last) if last and low <= float(last) <= high else None


def expected_rating(
    text: str, tokens: Sequence[Token] | None, low: int, high: int, brackets: bool = False
) -> float | None:
    """Returns Σ s·p(s) / Σ p(s) over the integers s of a scale, at the token of the rating in `text`.

    `None` if the probabilities are unknown, if the rating is not a token of its own or, on scales with
    numbers of two digits, if the largest number is not among the listed tokens: it may then be two tokens.
    """
    content = parts.without_thoughts(text)
    answer = parts.answer_tokens(tokens, content) if tokens else None
    entries = _rating_entries(TokenText(answer), low, high, brackets) if answer else None
    if entries is None:
        return None
    sums: dict[int, float] = {}
    for entry in entries:
        number = _rating_number(parts.spelling(entry))
        if number is not None and low <= number <= high:
            sums[number] = sums.get(number, 0.0) + parts.probability_of(entry.get("logprob"))
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
    rating = _rating_number(parts.spelling(token))
    return parts.listed(token) if rating == float(match.group(match.re.groups)) else None


def _rating_number(token: str) -> int | None:
    """Returns the integer that a token is, without white space and punctuation around it."""
    text = unicodedata.normalize("NFKC", token).strip()
    digits = text.strip("[]().,:;*\"'「」。、 ")
    return int(digits) if digits.isdecimal() and len(digits) < 4 else None
