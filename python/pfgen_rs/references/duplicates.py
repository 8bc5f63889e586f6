"""Answers that stand in a pool several times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from pfgen_rs import _native
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.references.batches import Answers, Batches, as_batches, texts_of

__all__ = ["Duplicates", "duplicates"]

BITS = 64
LEAST_MEMORY = 1 << 20
ROW_BYTES = 128
"""What a text takes in a pass: digest, row and count, gathered, joined and sorted, and the order."""
SEED = 0


@dataclass(frozen=True)
class Duplicates:
    """Which rows hold a text for the first time.

    `first`: bool, one for each row. `counts`: uint32; how often the text of a first row stands in
    the pool, and 0 for all other rows, so that they serve as weights.
    """

    first: NDArray[np.bool_]
    counts: NDArray[np.uint32]


def duplicates(
    answers: Answers, *, memory: int = 1 << 30, threads: int | None = None
) -> Duplicates:
    """Find equal texts, the first of each, and how often it stands in the pool.

    Texts are equal where their digests are (XXH3, 128 bits: among 10^9 different texts two share one
    with a chance of about 10^-21). Takes about `memory` bytes (less than 1 MiB counts as that),
    besides the batches and a few bytes a row: where the digests of different texts need more,
    answers are read in several passes, each of which looks at a range of digests. The result depends
    on neither `memory` nor `threads` (all cores by default) nor on how answers are cut into batches.

    Time: linear in the characters, for each pass, plus `k log k` for `k` rows.
    Raises `SettingsError`, and `InputError` naming the row.
    """
    if memory < 1:
        raise SettingsError(f"memory must be at least 1 byte, not {memory}")
    batches = as_batches(answers)
    span = _Span(batches, max(memory, LEAST_MEMORY) // ROW_BYTES, threads)
    found = [span.read()]
    while span.advance():
        found.append(span.read())
    counts = np.zeros(span.rows, np.uint32)
    for texts in found:
        counts[texts.rows] = texts.counts
    return Duplicates(counts > 0, counts)


class _Texts(NamedTuple):
    """Texts by digest (k rows of upper and lower half), with a row of each, and how often it was met."""

    digests: NDArray[np.uint64]
    rows: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def joined(cls, parts: list[Self]) -> _Texts:
        """One list of texts, each once with its first row."""
        digests, rows, counts = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.lexsort((digests[:, 1], digests[:, 0]))
        digests = digests[order]
        new = np.ones(len(order), np.bool_)
        new[1:] = (digests[1:] != digests[:-1]).any(axis=1)
        if not len(order):
            return _Texts(digests, rows, counts)
        starts = np.flatnonzero(new)
        return _Texts(
            digests[starts],
            np.minimum.reduceat(rows[order], starts),
            np.add.reduceat(counts[order], starts),
        )

    def between(self, first: int, last: int) -> _Texts:
        """Those whose digests begin with a number of this range."""
        upper = self.digests[:, 0]
        inside = (upper >= np.uint64(first)) & (upper <= np.uint64(last))
        return _Texts(self.digests[inside], self.rows[inside], self.counts[inside])


class _Span:
    """A range of digests: as wide as its different texts fit into memory, then moved on."""

    def __init__(self, batches: Batches, most: int, threads: int | None) -> None:
        self._batches, self._most, self._threads = batches, most, threads
        self._start, self._bits = 0, BITS
        self.rows = -1

    def read(self) -> _Texts:
        """Find the different texts of the range; it may become narrower."""
        parts, held, rows = [self._of(_native.Texts([]), 0)], 0, 0
        for first, texts in texts_of(self._batches, threads=self._threads):
            parts.append(self._of(texts, first))
            held += len(parts[-1].rows)
            rows = first + len(texts)
            if held > self._most:
                parts = [self._narrowed(_Texts.joined(parts))]
                held = len(parts[0].rows)
        self._check(rows)
        return _Texts.joined(parts)

    def advance(self) -> bool:
        """Go on to the next range; false where there is none."""
        self._start += 1 << self._bits
        return self._start < 1 << BITS

    def _of(self, texts: _native.Texts, first: int) -> _Texts:
        digests = _native.text_digests(texts, SEED, self._threads)
        rows = np.arange(first, first + len(texts))
        return self._inside(_Texts(digests, rows, np.ones(len(texts), np.int64)))

    def _inside(self, texts: _Texts) -> _Texts:
        return texts.between(self._start, self._start + (1 << self._bits) - 1)

    def _narrowed(self, texts: _Texts) -> _Texts:
        """At most half of what memory holds, so that joining is worth its time."""
        while 2 * len(texts.rows) > self._most:
            self._bits -= 1
            texts = self._inside(texts)
        return texts

    def _check(self, rows: int) -> None:
        if self.rows not in (-1, rows):
            raise InputError(
                f"the first reading gave {self.rows} answers, a later one {rows}: "
                "each must give the same"
            )
        self.rows = rows
