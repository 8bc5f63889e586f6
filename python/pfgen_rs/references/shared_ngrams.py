"""N-grams shared between texts, found by sorting, one length at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Characters", "Shared", "characters", "shared_ngrams"]

Integers = NDArray[np.int64]


class Characters(NamedTuple):
    """All characters of texts, one text after another; int64, shape (characters,).

    `codes`: code points; `text`: the index of the text; `offset`: the position in it (from 0); `lengths`:
    shape (texts,).
    """

    codes: Integers
    text: Integers
    offset: Integers
    lengths: Integers


class Shared(NamedTuple):
    """Occurrences of the n-grams of one length that are also found in another text.

    `start`: the index of the first character in `Characters`; `others`: the number of other texts that
    contain the n-gram; `first`: whether this is its first occurrence within the text.
    """

    n: int
    start: Integers
    others: Integers
    first: NDArray[np.bool_]


def characters(texts: Sequence[str]) -> Characters:
    """Split texts into characters."""
    codes = np.frombuffer("".join(texts).encode("utf-32-le"), dtype="<u4").astype(np.int64)
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    begins = np.cumsum(lengths) - lengths
    text = np.repeat(np.arange(len(texts)), lengths)
    return Characters(codes, text, np.arange(len(codes)) - begins[text], lengths)


def shared_ngrams(found: Characters, longest: int) -> Iterator[Shared]:
    """Yield the shared n-grams of 1, 2, … `longest` characters.

    Equal n-grams are adjacent and, because the sort is stable, in order of occurrence. An n-gram of n + 1
    characters extends one of n, and if that is not shared, neither is its extension, so only shared ones
    are sorted again. O(c log c) for each length with c occurrences of shared n-grams.
    """
    base = int(found.codes.max(initial=0)) + 1
    left = found.lengths[found.text] - found.offset
    start, gram = np.arange(len(found.codes)), np.zeros(len(found.codes), np.int64)
    for n in range(1, longest + 1):
        fits = left[start] >= n
        start, gram = start[fits], gram[fits]
        key = gram * base + found.codes[start + n - 1]
        order = np.argsort(key, kind="stable")
        start, key = start[order], key[order]
        new = np.diff(key, prepend=-1) != 0
        first = new | (np.diff(found.text[start], prepend=-1) != 0)
        gram = np.cumsum(new) - 1
        others = (np.bincount(gram[first]) - 1)[gram]
        kept = others > 0
        start, gram, others, first = start[kept], gram[kept], others[kept], first[kept]
        yield Shared(n, start, others, first)
