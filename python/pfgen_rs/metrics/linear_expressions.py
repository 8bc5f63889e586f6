r"""Regular expressions of Python as those of Rust's crate `regex`, where both have the same meaning.

The crate matches in time linear in the text. Python's own parser reads an expression; what has the same
meaning in both is written for the crate, and every other expression is left to Python:

| of Python's `re` | why it means the same |
| --- | --- |
| characters, however they are written | written as their code points |
| `.` | anything but a newline |
| `\d \w \s`, `\D \W \S` | the running Python's characters, written as ranges |
| `[…]`, `[^…]` of characters, ranges and the classes above | written as ranges |
| `(…)`, `(?:…)`, `(?P<name>…)`, `|` | both prefer the alternative on the left |
| `*`, `+`, `?`, `{m}`, `{m,}`, `{,n}`, `{m,n}`, also with `?` | both prefer more, or fewer with `?` |
| `^`, `\A`, `\Z` | start and end of the text |
| `$` with nothing behind it | the end, or before a newline that ends the text |

What it lacks: flags, lookaround, references to groups, atomic groups and possessive repetitions, `\b`,
surrogates, `$` before something else, and repetitions of what can be empty, which engines end in different
ways.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, TypeVar

from pfgen_rs.lazy import np

T = TypeVar("T")
LONGEST = 10_000
"""Characters of an expression; of longer ones neither reading nor compiling takes a bounded time."""
_MOST_RANGES = 200_000
r"""Ranges of classes such as `\w`, which has hundreds: more take seconds to compile, and gigabytes."""

_Ranges = tuple[tuple[int, int], ...]

_DEEPEST = 50
_LAST = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)
_NEWLINE = (ord("\n"), ord("\n"))
_ANCHORS = {"AT_BEGINNING": r"\A", "AT_BEGINNING_STRING": r"\A", "AT_END_STRING": r"\z"}
_CLASSES = {"DIGIT": "d", "SPACE": "s", "WORD": "w"}
_CLASSES |= {f"NOT_{name}": letter.upper() for name, letter in _CLASSES.items()}
_NOTHING = r"[^\x{0}-\x{10FFFF}]"
DOLLAR = r"(?:\z|(\n\z))"
"""How `$` is written: the group ends the match before the newline (`Expression` in native code)."""


class _OutsideTableError(Exception):
    """An expression for Python."""


def linear_expression(pattern: str) -> str | None:
    """Returns a valid expression of Python in the crate's syntax; `None` for long ones and others."""
    parser = getattr(re, "_parser", None)  # not public, so perhaps not in every Python
    if len(pattern) > LONGEST or parser is None:
        return None
    try:
        read = quietly(parser.parse, pattern)
        if read.state.flags & ~re.UNICODE:
            return None
        return _Writer().sequence(read, is_last=True)
    except (_OutsideTableError, RecursionError):
        return None


def quietly(read: Callable[[str], T], pattern: str) -> T:
    """Read an expression without warnings of sets that another Python might take as nested."""
    if not any(doubled in pattern for doubled in ("[[", "--", "&&", "~~", "||")):
        return read(pattern)  # what follows concerns all threads
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return read(pattern)


class _Writer:
    """Writes what Python's parser has read: pairs of an operation and its value."""

    def __init__(self) -> None:
        self._ranges = self._depth = 0

    def sequence(self, items: Any, *, is_last: bool) -> str:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _OutsideTableError
        written = [
            self._item(str(operation), value, is_last=is_last and place == len(items))
            for place, (operation, value) in enumerate(items, 1)
        ]
        self._depth -= 1
        return "".join(written)

    def _item(self, operation: str, value: Any, *, is_last: bool) -> str:
        if operation == "LITERAL":
            return f"\\x{{{_code_point(value):X}}}"
        if operation == "AT":
            return self._anchor(str(value), is_last=is_last)
        if operation == "BRANCH":
            branches = (self.sequence(each, is_last=is_last) for each in value[1])
            return f"(?:{'|'.join(branches)})"
        if operation == "SUBPATTERN":
            _, added, removed, items = value
            if added or removed:  # flags
                raise _OutsideTableError
            return f"(?:{self.sequence(items, is_last=is_last)})"
        if operation in ("MAX_REPEAT", "MIN_REPEAT"):
            return self._repeated(*value) + "?" * (operation == "MIN_REPEAT")
        return self._class(operation, value)

    def _anchor(self, name: str, *, is_last: bool) -> str:
        if name == "AT_END" and is_last:
            return DOLLAR
        if name not in _ANCHORS:
            raise _OutsideTableError
        return _ANCHORS[name]

    def _repeated(self, least: int, most: Any, items: Any) -> str:
        if items.getwidth()[0] == 0:  # it can be empty
            raise _OutsideTableError
        end = "" if str(most) == "MAXREPEAT" else int(most)
        return f"(?:{self.sequence(items, is_last=False)}){{{int(least)},{end}}}"

    def _class(self, operation: str, value: Any) -> str:
        if operation == "ANY":
            return _written_class(_opposite([_NEWLINE]))
        if operation == "NOT_LITERAL":
            return _written_class(_opposite([(_code_point(value),) * 2]))
        if operation != "IN":
            raise _OutsideTableError
        negated = str(value[0][0]) == "NEGATE"
        ranges = [each for member in value[negated:] for each in self._member(*member)]
        return _written_class(_opposite(ranges) if negated else ranges)

    def _member(self, operation: Any, value: Any) -> _Ranges:
        if str(operation) == "CATEGORY":
            found = _class_ranges(_CLASSES[str(value).removeprefix("CATEGORY_")])
            self._ranges += len(found)
            if self._ranges > _MOST_RANGES:
                raise _OutsideTableError
            return found
        first, last = value if str(operation) == "RANGE" else (value, value)
        return ((_code_point(first), _code_point(last)),)


def _code_point(number: int) -> int:
    if number in _SURROGATES:
        raise _OutsideTableError
    return number


def _written_class(ranges: Iterable[tuple[int, int]]) -> str:
    written = "".join(f"\\x{{{first:X}}}-\\x{{{last:X}}}" for first, last in ranges)
    return f"[{written}]" if written else _NOTHING


def _opposite(ranges: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield all other characters.

    The crate's own `[^…]` goes wrong around surrogates: it has both U+D7FF and U+E000 if they are excluded.
    """
    free = 0
    around = (_SURROGATES.start, _SURROGATES.stop - 1)
    for first, last in sorted([*ranges, around, (_LAST + 1, _LAST + 1)]):
        if free < first:
            yield free, first - 1
        free = max(free, last + 1)


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
