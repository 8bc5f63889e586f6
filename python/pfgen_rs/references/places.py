"""Places in answers that hold a number or a name, by what is around them.

In "時計の針は1日に22回重なります", the number 22 is between "は1日に" and "回重". Answers that have the same
characters around a place, but another number or name in it, contradict each other, unless both are right.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Literal, NamedTuple

from pfgen_rs import _native
from pfgen_rs.metrics.units import Unit

__all__ = ["Fill", "Kind", "Place", "agree", "fills_in", "is_stated_at", "tells"]

Kind = Literal["number", "name"]

_KANJI = "一-鿿々〆ヶ"
_NUMBER = re.compile(
    r"[0-9０-９]+(?:[,.，．][0-9０-９]+)*(?:[兆億万千百]+(?:[0-9０-９]+)?)*"
    rf"|(?:(?<![{_KANJI}])|(?<=[約第計全]))[〇一二三四五六七八九十百千]+(?=[年月日回個人時分度か万億兆])[万億兆]*"
)
# Katakana, Latin words with a capital, and kanji that end like names of places, periods and institutions.
_ENDING = "[都道府県市区町村郡州島山川湖海湾港駅橋城寺社代紀省庁]"
_NAME = re.compile(
    r"[ァ-ヺー]{2,}(?:[・＝][ァ-ヺー]+)*"
    r"|[A-ZＡ-Ｚ][\wＡ-Ｚａ-ｚ]*(?:[ .&'’-][A-Z][A-Za-z0-9]*)*"
    rf"|(?<![{_KANJI}])[{_KANJI}]{{1,12}}(?<={_ENDING})(?![{_KANJI}])",
    re.ASCII,
)
_FILL = re.compile(f"(?P<number>{_NUMBER.pattern})|(?P<name>{_NAME.pattern})", re.ASCII)
_SENTENCE_ENDS = frozenset('.!?:;"“”\n')
_ENDS = frozenset("。．！？；.!?;:\n")
_LISTS_BEFORE = re.compile(r"(?:[や・と、,]|\b(?:and|or))$")
_LISTS_AFTER = re.compile(r"(?:や|など|、|・|,|and\b|or\b)")
_HEDGES = re.compile(r"[、約\s]")
_CLOSE = 3
"""Characters before a place that a text must also have to state what is there."""
_DIGITS = {digit: value for value, digit in enumerate("〇一二三四五六七八九")}
_DIGITS_AT_MOST = 12
_TENS = {"十": 10, "百": 100, "千": 1000}
_MYRIADS = {"万": 10**4, "億": 10**8, "兆": 10**12}


class Place(NamedTuple):
    """What is around a number or a name; `starts` and `ends`: the answer starts or ends with it."""

    before: str
    after: str
    starts: bool = False
    ends: bool = False


class Fill(NamedTuple):
    """A number or a name in an answer, and its place."""

    kind: Kind
    text: str
    place: Place


def fills_in(text: str, unit: Unit, before: int, after: int) -> Iterator[Fill]:
    """Yield the numbers and names in an answer, with `before` and `after` units around them, in order.

    With the unit `word`, what is around them consists of whole words, and so do they. Takes time linear in
    the text.
    """
    if unit == "word":
        yield from _fills_between_words(text, before, after)
        return
    for match in _FILL.finditer(text):
        start, end = match.span()
        left, right = start - before, end + after
        place = Place(text[max(0, left) : start], text[end:right], left < 0, right > len(text))
        if end - start > 1 or match.lastgroup == "number":
            yield Fill(_kind_of_fill(match), match[0], place)


def _kind_of_fill(match: re.Match[str]) -> Kind:
    return "number" if match.lastgroup == "number" else "name"


def _fills_between_words(text: str, before: int, after: int) -> Iterator[Fill]:
    spans = _native.word_spans(text)
    first = done = 0
    for match in _FILL.finditer(text):
        start, end = match.span()
        while first < len(spans) and spans[first][1] <= start:
            first += 1
        last = first
        while last + 1 < len(spans) and spans[last + 1][0] < end:
            last += 1
        if first < done or first == len(spans):
            continue
        done = last + 1
        kind = _kind_of_fill(match)
        if kind == "name" and _place_begins_sentence(text, spans[first][0]):
            first += 1  # capitals say nothing there
        found = text[spans[first][0] : spans[last][1]] if first <= last else ""
        if len(found) > 1 or kind == "number":
            place = _place_between_words(text, spans, first, last, before, after)
            yield Fill(kind, found, place)


def _place_begins_sentence(text: str, start: int) -> bool:
    last = text[max(0, start - 3) : start].rstrip(" ")[-1:]
    return not last or last in _SENTENCE_ENDS


def _place_between_words(
    text: str, spans: Sequence[tuple[int, int]], first: int, last: int, before: int, after: int
) -> Place:
    left, right = first - before, last + after
    start = spans[left][0] if left > 0 else 0
    end = spans[right][1] if right < len(spans) else len(text)
    return Place(
        text[start : spans[first][0]], text[spans[last][1] : end], left < 0, right >= len(spans)
    )


def tells(kind: Kind, place: Place) -> bool:
    """Whether what is around a place says what it is about, so that answers may contradict each other.

    After the end of a sentence or clause anything may follow (but after "は、" what is said of the topic),
    and names in lists are examples.
    """
    before = place.before.rstrip().removesuffix("約").rstrip()
    if not before or before[-1] in _ENDS:
        return False
    if before[-1] in "、,":
        return before.endswith("は、")
    is_listed = _LISTS_BEFORE.search(before) or _LISTS_AFTER.match(place.after.lstrip())
    return kind == "number" or not is_listed


def is_stated_at(place: Place, fill: str, stated: str) -> bool:
    """Whether a text has this at the same place; commas, white space and 約 do not matter."""
    before, after, text = (_HEDGES.sub("", part) for part in (place.before, place.after, stated))
    return bool(before and after) and f"{before[-_CLOSE:]}{fill}{after}" in text


def agree(kind: Kind, a: str, b: str) -> bool:
    """Whether two fills of a place do not contradict each other: the same number, or parts or spellings.

    A number agrees with itself rounded to fewer decimals.
    """
    if kind == "number":
        x, y = _value_at_place(a), _value_at_place(b)
        return (
            a == b
            if x is None or y is None
            else _is_rounded_at_place(x, y) or _is_rounded_at_place(y, x)
        )
    short, long = sorted((_spelling_at_place(a), _spelling_at_place(b)), key=len)
    return short in long


def _spelling_at_place(name: str) -> str:
    return re.sub(r"[ー・＝ .&'’-]", "", unicodedata.normalize("NFKC", name)).casefold()


def _is_rounded_at_place(exact: Decimal, rounded: Decimal) -> bool:
    try:
        return exact.quantize(rounded) == rounded
    except ArithmeticError:  # too many digits to be rounded
        return exact == rounded


def _value_at_place(text: str) -> Decimal | None:
    """Returns the value of a number such as 1,234.5, 46億 or 二十二; `None` if it is none of these."""
    total = Decimal(0)
    rest = unicodedata.normalize("NFKC", text).replace(",", "")
    if len(rest) > _DIGITS_AT_MOST:
        return None
    for part in re.finditer(r"([0-9.]*)([〇一二三四五六七八九十百千]*)([万億兆]?)", rest):
        if not part[0]:
            continue
        try:
            value = Decimal(part[1]) if part[1] else Decimal(1)
        except ArithmeticError:
            return None
        if part[2]:
            value *= _kanji_value_at_place(part[2])
        total += value * _MYRIADS.get(part[3], 1)
    return total


def _kanji_value_at_place(text: str) -> int:
    if not any(character in _TENS for character in text):
        return int("".join(str(_DIGITS[character]) for character in text))
    total, digit = 0, 1
    for character in text:
        if character in _TENS:
            total += digit * _TENS[character]
            digit = 1
        else:
            digit = _DIGITS[character]
    return total + (digit if text[-1] not in _TENS else 0)
