"""N-grams that texts share with one another, found by sorting, a length at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Characters", "Shared", "characters", "shared_ngrams"]

Integers = NDArray[np.int64]


class Characters(NamedTuple):
    """All characters of texts, one text after the other; int64, shape (characters,).

    Code points, the number of their text, and their place in it (from 0); `lengths` is by text.
    """

    codes: Integers
    text: Integers
    offset: Integers
    lengths: Integers


class Shared(NamedTuple):
    """The places of those n-grams of one length that another text contains, too.

    `start`: the place of the first character in `Characters`; `others`: how many other texts contain the
    n-gram; `first`: whether it is the first place of the n-gram within its text.
    """

    n: int
    start: Integers
    others: Integers
    first: NDArray[np.bool_]


def characters(texts: Sequence[str]) -> Characters:
    """The characters of texts."""
    codes = np.frombuffer("".join(texts).encode("utf-32-le"), dtype="<u4").astype(np.int64)
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    begins = np.cumsum(lengths) - lengths
    text = np.repeat(np.arange(len(texts)), lengths)
    return Characters(codes, text, np.arange(len(codes)) - begins[text], lengths)


def shared_ngrams(found: Characters, longest: int) -> Iterator[Shared]:
    """The shared n-grams of 1, 2 … `longest` characters.

    Equal n-grams stand together and, as the sort is stable, in the order of their places. Those of n + 1
    characters are those of n with one more, and what one text has for itself it has for itself with one
    more, too: so only what is shared is sorted again. O(c log c) for each length, c being those places.
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
