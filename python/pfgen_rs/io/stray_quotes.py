"""Finds quotation marks that make it uncertain where fields and records of a CSV begin."""

from __future__ import annotations

import numpy as np

__all__ = ["misleading_line"]

_NEWLINE, _RETURN, _QUOTE = b'\n\r"'
_MARK = b"\xef\xbb\xbf"


def misleading_line(text: bytes, separator: str) -> int | None:
    """Returns the first line (from 0) whose quotation marks readers understand differently, if any.

    `text` begins with a record. A field in quotation marks begins and ends at a separator or a line's end
    (RFC 4180). Other marks are harmless in a line with an even number of them and without fields in marks:
    all readers take them as they are. O(n).
    """
    framed = np.frombuffer(b"\n" + text.removeprefix(_MARK) + b"\n", dtype=np.uint8)
    codes = framed[1:-1]
    quotes = np.flatnonzero(codes == _QUOTE)
    if not len(quotes):
        return None
    before, after = framed[quotes], framed[quotes + 2]
    # Two marks beside each other close and open again: they are one within the field.
    begins = np.isin(before, [_NEWLINE, ord(separator)])
    opens = begins | (before == _QUOTE)
    closes = np.isin(after, [_NEWLINE, _RETURN, _QUOTE, ord(separator)])
    is_inside = np.arange(len(quotes)) % 2 == 1
    is_stray = ~np.where(is_inside, closes, opens)
    if not is_stray.any():
        return None
    line = np.searchsorted(np.flatnonzero(codes == _NEWLINE), quotes)
    _, first, own, count = np.unique(
        line, return_index=True, return_inverse=True, return_counts=True
    )
    is_plain = (count % 2 == 0) & ~is_inside[first] & (np.bincount(own, weights=begins) == 0)
    found = line[is_stray & ~is_plain[own]]
    return int(found[0]) if len(found) else None
