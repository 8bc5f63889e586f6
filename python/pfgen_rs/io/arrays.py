"""Reads a JSON array of records of any size as JSON lines, by cutting it between its elements.

The text keeps its length, so that offsets stay valid: the comma after an element becomes a newline, and
newlines within elements become spaces. The decoder of lines then also decodes elements.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from pfgen_rs.lazy import NDArray, np

_BEGIN = re.compile(rb"\s*\[\s*[{\]]")
_QUOTE, _SLASH, _OPEN, _CLOSE, _COMMA, _LINE_END = 1, 2, 3, 4, 5, 6
_CHARACTERS = (b'"', b"\\", b"{[", b"}]", b",", b"\n")
"""Those of each kind, from 1."""
_DEPTHS = (0, 0, 0, 1, -1, 0, 0)
"""How much each kind nests."""
_SHORT = 64  # bytes; longer elements are only checked by the decoder
_WINDOW = 1 << 14
_UNCLOSED = "the array is not closed: is the file cut short?"
_EMPTY = "the array has an empty element here: is there an extra comma?"
_MORE = "unexpected text after the end of the array"


@cache
def _kinds() -> NDArray[np.uint8]:
    """Returns the kind of each byte; 0 for all others."""
    kinds = np.zeros(256, dtype=np.uint8)
    for kind, characters in enumerate(_CHARACTERS, 1):
        kinds[list(characters)] = kind
    return kinds


def is_array(head: bytes) -> bool:
    """Whether a text that starts with `head` is an array of objects (or an empty array)."""
    return _BEGIN.match(head) is not None


class Cut(NamedTuple):
    """Whole lines or elements, the number of bytes used, and why the rest is unusable, if it is."""

    text: bytes
    used: int
    damage: str | None = None


class Elements:
    r"""Cuts the text of an array, passed piece by piece, after whole elements.

    >>> Elements()(b'[{"a": 1}, {"a": [2,3]}, {"a"', ended=False)
    Cut(text=b' {"a": 1}\n {"a": [2,3]}\n', used=24, damage=None)
    """

    def __init__(self) -> None:
        self._closed = self._any = False

    def __call__(self, text: bytes, *, ended: bool) -> Cut:
        """Cut `text`, which begins where the last cut ended. `ended`: this is the end of the file."""
        if self._closed:
            return Cut(b"", len(text), _MORE if text.strip() else None)
        codes = np.frombuffer(bytearray(text), dtype=np.uint8)
        if not self._any:  # nothing was used, so the text still begins with the array's bracket
            codes[text.index(b"[")] = ord(" ")
        commas, end = _array_structure(codes)
        empty = self._empty(codes, commas, end)
        if empty is not None:
            return Cut(codes[:empty].tobytes(), len(text), _EMPTY)
        if end is None:
            used = int(commas[-1]) + 1 if len(commas) else 0
            self._any |= used > 0
            return Cut(codes[:used].tobytes(), used, _UNCLOSED if ended else None)
        self._closed = True
        rest = text[end + 1 :]
        return Cut(codes[:end].tobytes(), len(text), _MORE if rest.strip() else None)

    def _empty(
        self, codes: NDArray[np.uint8], commas: NDArray[np.intp], end: int | None
    ) -> int | None:
        """Returns where the first empty element begins."""
        stops = [*commas.tolist(), *([] if end is None else [end])]
        starts = [0, *(commas + 1).tolist()]
        for start, stop in zip(starts, stops, strict=False):
            is_only = stop == end and not start and not self._any
            if stop - start < _SHORT and not is_only and not codes[start:stop].tobytes().strip():
                return int(start)
        return None


def elements_at(stream: io.BufferedIOBase, starts: Iterable[int]) -> Iterator[bytes]:
    """Yield the elements that begin at these ascending offsets of an array, as `Elements` cuts it."""
    at, text = 0, b""
    for start in starts:
        if start - at < len(text):
            text = text[start - at :]
        else:
            stream.seek(start)
            text = b""
        at, size = start, _WINDOW
        while (element := _first_element(text[:size])) is None:
            if size < len(text):
                size *= 2
            elif fresh := stream.read(_WINDOW):
                text += fresh
            else:
                break
        yield text if element is None else element


def _first_element(text: bytes) -> bytes | None:
    """Returns the element that the text begins with, if the text contains its end."""
    codes = np.frombuffer(bytearray(text), dtype=np.uint8)
    if text.lstrip().startswith(b"["):  # the first element is preceded by the array's bracket
        codes[text.index(b"[")] = ord(" ")
    commas, end = _array_structure(codes)
    stop = int(commas[0]) if len(commas) else end
    return None if stop is None else codes[:stop].tobytes()


def _array_structure(codes: NDArray[np.uint8]) -> tuple[NDArray[np.intp], int | None]:
    """Turn the text into lines. Returns the commas between elements, and where the array ends."""
    kinds = _kinds()[codes]
    at = np.flatnonzero(kinds)
    kinds = kinds[at]
    quotes = (kinds == _QUOTE) & ~_escaped_in_array(at, kinds == _SLASH)
    is_outside = np.cumsum(quotes) % 2 == 0
    codes[at[(kinds == _LINE_END) & is_outside]] = ord(" ")
    # JSON strings must not contain raw newlines; the decoder reports this character in the same way.
    codes[at[(kinds == _LINE_END) & ~is_outside]] = ord("\r")
    at, kinds = at[is_outside], kinds[is_outside]
    depth = np.cumsum(np.array(_DEPTHS, np.int64)[kinds])
    below = np.flatnonzero(depth < 0)
    end = int(at[below[0]]) if len(below) else None
    if len(below):
        at, kinds, depth = at[: below[0]], kinds[: below[0]], depth[: below[0]]
    commas = at[(kinds == _COMMA) & (depth == 0)]
    codes[commas] = ord("\n")
    return commas, end


def _escaped_in_array(at: NDArray[np.intp], slashes: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Returns which characters follow an odd number of backslashes."""
    if not slashes.any():
        return slashes
    follows = np.zeros_like(slashes)
    follows[1:] = slashes[:-1] & (np.diff(at) == 1)
    number = np.arange(len(at))
    first = np.maximum.accumulate(np.where(slashes & ~follows, number, 0))
    odd = (number - first) % 2 == 0  # of the backslash at this place
    found = np.zeros_like(slashes)
    found[1:] = follows[1:] & odd[:-1]
    return found
