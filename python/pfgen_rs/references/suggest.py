"""Suggestions for rules: places where answers contradict each other, for a person to review.

Between the same characters to the left and right, different answers say different things: "1日に【22】回" in
one, "1日に【11】回" in another. Only a person can decide which of them is wrong, if any.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from pfgen_rs.errors import SettingsError
from pfgen_rs.io import write_atomic

__all__ = [
    "Alternative",
    "Suggestion",
    "suggest_rules",
    "suggestions_toml",
    "write_suggestions",
]

_NUMBER = r"[0-9]+(?:[,.][0-9]+)*|[〇一二三四五六七八九十百千]+(?=[年月日回個つ人種時分度か])"
_NAME = r"[ァ-ヺー]{2,}(?:・[ァ-ヺー]{2,})*|[一-鿿々]{2,}|[A-Za-z]{2,}"
_FILLS = re.compile(f"(?:{_NUMBER})(?:[兆億万]+)?|{_NAME}")

Context = tuple[str, str]


@dataclass(frozen=True)
class Alternative:
    """A text that fills a place: how many answers have it, their share, and an example."""

    text: str
    answers: int
    share: float
    example: str


@dataclass(frozen=True)
class Suggestion:
    """A place that answers fill differently.

    `context`: the characters before and after it; empty where the answer begins or ends there.
    `alternatives`: by descending number of answers, then by text. `score`: the number of answers with the
    place, times the total share of the alternatives, times the share of all alternatives but the first:
    high if several alternatives are frequent, low if there is a long tail of wordings.
    """

    context: Context
    alternatives: tuple[Alternative, ...]
    score: float

    @property
    def forbid(self) -> str:
        """A pattern for an NG rule that forbids all but the most frequent alternative."""
        left, right = self.context
        minority = "|".join(_suggestion_regex_escaped(each.text) for each in self.alternatives[1:])
        before, after = map(_suggestion_regex_escaped, (left, right))
        return f"{before or '^'}(?:{minority}){after or '$'}"


def suggest_rules(
    answers: Any,
    *,
    top: int = 50,
    min_share: float = 0.005,
    left: int = 4,
    right: int = 2,
    sample: int = 50_000,
) -> list[Suggestion]:
    """Returns the `top` places where answers contradict each other most, by descending score.

    Places are filled by numbers (including 万 and 億) or by words in katakana, kanji or Latin letters,
    and identified by the `left` characters before and the `right` characters after them. A place must
    occur in at least `min_share` of the answers and in at least two; an alternative must fill it in at
    least 1 % of those and at least twice. Answers that fill a place in several ways enumerate rather than
    contradict, and are not counted for that place.

    If there are more than `sample` answers, every k-th is read so that at most `sample` are. Ties in the
    score are broken by the context, so the same answers give the same suggestions. Time and memory: linear
    in the number of characters read. Raises `SettingsError` for numbers out of range.
    """
    _check_suggest_settings(top=top, left=left, right=right, sample=sample)
    if not 0 <= min_share <= 1:
        raise SettingsError(f"min_share must be between 0 and 1, not {min_share}")
    column = pl.Series("answer", answers, dtype=pl.String)
    texts = column.gather_every(max(1, -(-len(column) // sample))).drop_nulls().to_list()
    places = _suggestion_places_by_context(texts, left, right)
    least = max(2, min_share * len(texts))
    found = (_suggestion_of(context, fills, texts, least) for context, fills in places.items())
    suggestions = [each for each in found if each is not None]
    suggestions.sort(key=lambda each: (-each.score, each.context))
    return suggestions[:top]


def _check_suggest_settings(*, top: int, **positive: int) -> None:
    if top < 0:
        raise SettingsError(f"top must be at least 0, not {top}")
    for name, value in positive.items():
        if value < 1:
            raise SettingsError(f"{name} must be at least 1, not {value}")


def suggestions_toml(suggestions: Mapping[str, Sequence[Suggestion]]) -> str:
    """Returns a file of NG rules with each question's suggestions, all commented out.

    To use a rule, uncomment its lines (those without a space after the `#`), edit the alternatives it
    forbids, and delete the rest.
    """
    lines = ["# Places where answers contradict each other. Uncomment a rule to use it."]
    for question, found in suggestions.items():
        for number, suggestion in enumerate(found, 1):
            lines += ["", *_suggestion_toml_lines(question, number, suggestion)]
    return "\n".join(lines) + "\n"


def write_suggestions(path: str | Path, suggestions: Mapping[str, Sequence[Suggestion]]) -> None:
    """Write `suggestions_toml` to a file atomically; raises `OutputError`."""
    write_atomic(path, suggestions_toml(suggestions).encode())


def _suggestion_places_by_context(
    texts: Sequence[str], left: int, right: int
) -> dict[Context, dict[str, list[int]]]:
    """Map contexts to fills to rows; rows that fill a context in several ways are left out."""
    places: dict[Context, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for row, text in enumerate(texts):
        mine: dict[Context, str | None] = {}
        for context, fill in _suggestion_fills_of_text(text, left, right):
            mine[context] = fill if mine.get(context, fill) == fill else None
        for context, only in mine.items():
            if only is not None:
                places[context][only].append(row)
    return places


def _suggestion_fills_of_text(text: str, left: int, right: int) -> Iterator[tuple[Context, str]]:
    for match in _FILLS.finditer(text):
        start, end = match.span()
        context = text[max(0, start - left) : start], text[end : end + right]
        yield context, match[0]


def _suggestion_of(
    context: Context, fills: Mapping[str, Sequence[int]], texts: Sequence[str], least: float
) -> Suggestion | None:
    answers = sum(map(len, fills.values()))
    if answers < least:
        return None
    frequent = [text for text, rows in fills.items() if len(rows) >= max(2, answers / 100)]
    if len(frequent) < 2:
        return None
    frequent.sort(key=lambda text: (-len(fills[text]), text))
    listed = [
        Alternative(text, len(fills[text]), len(fills[text]) / answers, texts[fills[text][0]])
        for text in frequent
    ]
    shares = [each.share for each in listed]
    return Suggestion(context, tuple(listed), answers * sum(shares) * sum(shares[1:]))


def _suggestion_toml_lines(question: str, number: int, suggestion: Suggestion) -> Iterator[str]:
    left, right = suggestion.context
    answers = sum(each.answers for each in suggestion.alternatives)
    yield f"# {_suggestion_toml_string(f'{left}【…】{right}')}: {answers} answers"
    for each in suggestion.alternatives:
        text, example = _suggestion_toml_string(each.text), _suggestion_toml_string(each.example)
        yield f"#   {each.answers} ({each.share:.1%}) {text}, as in {example}"
    yield f"#[[{_suggestion_toml_key(question)}.rule]]"
    yield f"#name = {_suggestion_toml_string(f'suggestion-{number}')}"
    yield f"#forbid = {_suggestion_toml_string(suggestion.forbid)}"


def _suggestion_toml_key(text: str) -> str:
    return text if re.fullmatch(r"[A-Za-z0-9_-]+", text) else _suggestion_toml_string(text)


def _suggestion_toml_string(text: str) -> str:
    """Format a TOML string, which is escaped as in JSON, except that DEL is escaped as well."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _suggestion_regex_escaped(text: str) -> str:
    """Escape a text for use in a pattern of the crate `regex`."""
    return re.sub(r"[\\.+*?()|\[\]{}^$#&~-]", r"\\\g<0>", text)
