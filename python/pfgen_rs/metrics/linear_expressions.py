r"""Regular expressions of Python as those of Rust's crate `regex`, where both have the same meaning.

The crate matches in time linear in the text. Only a table of constructs is translated; every other
expression is left to Python. What the table has:

| of Python's `re` | why it means the same |
| --- | --- |
| a character, an escaped one, `\a \f \n \r \t \v`, `\x`, `\u`, `\U` | written as its code point |
| `.` | anything but a newline |
| `\d \w \s`, `\D \W \S` | the running Python's characters, written as ranges |
| `[…]`, `[^…]` of characters, ranges and the classes above | written as ranges |
| `(…)`, `(?:…)`, `(?P<name>…)`, `|` | both prefer the alternative on the left |
| `*`, `+`, `?`, `{m}`, `{m,}`, `{,n}`, `{m,n}`, also with `?` | both prefer more, or fewer with `?` |
| `^`, `\A`, `\Z` | start and end of the text |
| `$` with nothing behind it | the end, or before a newline that ends the text |

What it lacks: flags, lookaround, references to groups, atomic groups and possessive repetitions, `\b`,
octal escapes, `\N{…}`, surrogates, `$` before something else, comments, and repetitions of what can be empty,
which engines end in different ways.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from pfgen_rs import lazy

if TYPE_CHECKING:
    import numpy as np
else:
    np = lazy.module("numpy")


LONGEST = 10_000
"""Characters of an expression; of longer ones neither reading nor compiling takes a bounded time."""
_MOST_RANGES = 200_000
r"""Ranges of classes such as `\w`, which has hundreds: more take seconds to compile, and gigabytes."""

_Ranges = tuple[tuple[int, int], ...]

_DEEPEST = 50
_LAST = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)
_CONTROLS = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ANCHORS = {"\\A": r"\A", "\\Z": r"\z"}
_BY_NUMBER = {"x": 2, "u": 4, "U": 8}
_REPETITION = re.compile(r"(?:[*+?]|\{(?=[0-9,]+\})([0-9]*)(?:,([0-9]*))?\})(\??)", re.ASCII)
_GROUP = re.compile(r"\((?:\?:|\?P<[^<>()]*>|(?!\?))")
_NOTHING = r"[^\x{0}-\x{10FFFF}]"
DOLLAR = r"(?:\z|(\n\z))"
"""How `$` is written: the group ends the match before the newline (`Expression` in native code)."""


class _OutsideTableError(Exception):
    """An expression for Python."""


@dataclass(frozen=True)
class _Item:
    """`text` as the crate writes it, or a group of `branches`; then how often."""

    text: str = ""
    branches: tuple[tuple[_Item, ...], ...] = ()
    repeated: str = ""
    can_be_empty: bool = False


def linear_expression(pattern: str) -> str | None:
    """Returns a valid expression of Python in the crate's syntax; `None` for long ones and others."""
    if len(pattern) > LONGEST:
        return None
    try:
        branches = _ExpressionReader(pattern).whole()
        return _written_branches(branches, is_last=True)[0]
    except _OutsideTableError:
        return None


def _written_branches(
    branches: tuple[tuple[_Item, ...], ...], *, is_last: bool
) -> tuple[str, bool]:
    """Returns alternatives in the crate's syntax, and whether they can be empty."""
    written = []
    can_be_empty = False
    for items in branches:
        parts = [
            _written_item(item, is_last=is_last and place == len(items))
            for place, item in enumerate(items, 1)
        ]
        written.append("".join(text for text, _ in parts))
        can_be_empty |= all(empty for _, empty in parts)
    return "|".join(written), can_be_empty


def _written_item(item: _Item, *, is_last: bool) -> tuple[str, bool]:
    text, can_be_empty = item.text, item.can_be_empty
    if item.branches:
        inner, can_be_empty = _written_branches(
            item.branches, is_last=is_last and not item.repeated
        )
        text = f"(?:{inner})"
    elif text == DOLLAR and not is_last:
        raise _OutsideTableError
    if not item.repeated:
        return text, can_be_empty
    if can_be_empty:
        raise _OutsideTableError
    return text + item.repeated, _may_be_none(item.repeated)


def _may_be_none(repeated: str) -> bool:
    return repeated[0] in "*?" or repeated.startswith(("{0}", "{0,"))


class _ExpressionReader:
    """Reads an expression that Python has accepted."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = self._ranges = 0

    def whole(self) -> tuple[tuple[_Item, ...], ...]:
        branches = self._branches(0)
        if self._at < len(self._pattern):
            raise _OutsideTableError
        return branches

    def _branches(self, depth: int) -> tuple[tuple[_Item, ...], ...]:
        if depth > _DEEPEST:
            raise _OutsideTableError
        branches: list[tuple[_Item, ...]] = []
        items: list[_Item] = []
        while (character := self._next()) not in ("", ")"):
            if character == "|":
                self._at += 1
                branches.append(tuple(items))
                items = []
            else:
                items.append(self._item(character, depth))
        return (*branches, tuple(items))

    def _item(self, character: str, depth: int) -> _Item:
        if character == "(":
            item = self._group(depth)
        elif character in "^$":
            self._at += 1
            return _Item(_ANCHORS["\\A"] if character == "^" else DOLLAR, can_be_empty=True)
        elif (anchor := self._pattern[self._at : self._at + 2]) in _ANCHORS:
            self._at += 2
            return _Item(_ANCHORS[anchor], can_be_empty=True)
        else:
            item = _Item(self._single(character))
        return _Item(item.text, item.branches, self._repetition())

    def _group(self, depth: int) -> _Item:
        opening = _GROUP.match(self._pattern, self._at)
        if opening is None:
            raise _OutsideTableError
        self._at = opening.end()
        branches = self._branches(depth + 1)
        self._expect(")")
        return _Item(branches=branches)

    def _single(self, character: str) -> str:
        """Reads what matches one character."""
        if character == "[":
            return self._class()
        if character in "*+?{":
            raise _OutsideTableError
        if character == ".":
            self._at += 1
            return _written_class(_opposite([(ord("\n"), ord("\n"))]))
        found = self._character_or_class(character)
        if isinstance(found, int):
            return f"\\x{{{found:X}}}"
        return _written_class(found)

    def _repetition(self) -> str:
        found = _REPETITION.match(self._pattern, self._at)
        if found is None:
            return ""
        self._at = found.end()
        if self._next() == "+":  # possessive
            raise _OutsideTableError
        text = found[0]
        if text[0] != "{":
            return text
        least, most, lazy = found.groups()
        if not (least or most):  # `{,}`
            raise _OutsideTableError
        counts = [str(int(least or 0)), *([] if most is None else [str(int(most)) if most else ""])]
        return f"{{{','.join(counts)}}}{lazy}"

    def _class(self) -> str:
        self._at += 1
        negated = self._next() == "^"
        self._at += negated
        ranges: list[tuple[int, int]] = []
        first = True
        while first or self._next() != "]":
            first = False
            ranges += self._member()
        self._expect("]")
        return _written_class(_opposite(ranges) if negated else ranges)

    def _member(self) -> Iterable[tuple[int, int]]:
        """Reads a character, a range or a class within brackets."""
        start = self._character_or_class(self._next(), in_class=True)
        if not isinstance(start, int):
            return start  # Python refuses a range from here, and a hyphen before the bracket is a character
        if self._next() != "-" or self._pattern[self._at + 1 : self._at + 2] == "]":
            return [(start, start)]
        self._at += 1
        end = self._character_or_class(self._next(), in_class=True)
        if not isinstance(end, int) or end < start:
            raise _OutsideTableError
        return [(start, end)]

    def _character_or_class(self, character: str, *, in_class: bool = False) -> int | _Ranges:
        if not character:
            raise _OutsideTableError
        self._at += 1
        if character != "\\":
            return _code_point(ord(character))
        escaped = self._next()
        self._at += 1
        if escaped in "dwsDWS" and escaped:
            return self._class_escape(escaped)
        if escaped == "b" and in_class:
            return ord("\b")
        if escaped in _CONTROLS:
            return ord(_CONTROLS[escaped])
        if escaped in _BY_NUMBER:
            return self._numbered(_BY_NUMBER[escaped])
        if not escaped or (escaped.isascii() and escaped.isalnum()):
            raise _OutsideTableError
        return _code_point(ord(escaped))

    def _class_escape(self, letter: str) -> _Ranges:
        found = _class_ranges(letter)
        self._ranges += len(found)
        if self._ranges > _MOST_RANGES:
            raise _OutsideTableError
        return found

    def _numbered(self, digits: int) -> int:
        text = self._pattern[self._at : self._at + digits]
        if not re.fullmatch(rf"[0-9a-fA-F]{{{digits}}}", text):
            raise _OutsideTableError
        self._at += digits
        return _code_point(int(text, 16))

    def _next(self) -> str:
        return self._pattern[self._at : self._at + 1]

    def _expect(self, character: str) -> None:
        if self._next() != character:
            raise _OutsideTableError
        self._at += 1


def _code_point(number: int) -> int:
    if number in _SURROGATES or number > _LAST:
        raise _OutsideTableError
    return number


def _written_class(ranges: Iterable[tuple[int, int]]) -> str:
    written = "".join(f"\\x{{{first:X}}}-\\x{{{last:X}}}" for first, last in ranges)
    return f"[{written}]" if written else _NOTHING


def _opposite(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Returns all other characters.

    The crate's own `[^…]` goes wrong around surrogates: it has both U+D7FF and U+E000 if they are excluded.
    """
    found = []
    free = 0
    for first, last in [*sorted(ranges), (_LAST + 1, _LAST + 1)]:
        found += _without_surrogates(free, first - 1)
        free = max(free, last + 1)
    return found


def _without_surrogates(first: int, last: int) -> list[tuple[int, int]]:
    parts = (
        (first, min(last, _SURROGATES.start - 1)),
        (max(first, _SURROGATES.stop), last),
    )
    return [(start, end) for start, end in parts if start <= end]


@cache
def _class_ranges(letter: str) -> _Ranges:
    """Returns the characters of a class, such as `d`, in the running Python."""
    runs = re.compile(f"\\{letter}+")
    found = []
    for start, stop in ((0, _SURROGATES.start), (_SURROGATES.stop, _LAST + 1)):
        text = np.arange(start, stop, dtype="<u4").tobytes().decode("utf-32-le")
        spans = (match.span() for match in runs.finditer(text))
        found += [(start + first, start + end - 1) for first, end in spans]
    return tuple(found)
