"""Finding duplicate answers in a pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from pfgen_rs import _native
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.references.batches import Answers, Batches, as_batches, batch_texts

__all__ = ["DistinctTexts", "Duplicates", "digested", "duplicates"]

BITS = 64
LEAST_MEMORY = 1 << 20
ROW_BYTES = 128
"""Bytes per text in a pass: digest, row and count, while collected, joined and sorted, and the order."""
SEED = 0


@dataclass(frozen=True)
class Duplicates:
    """The first occurrence and the count of each distinct text.

    `first`: bool, one per row; whether the row is the first with its text. `counts`: uint32, one per
    row; how often the text occurs in the pool for first rows and 0 for all others, so usable as weights.
    """

    first: NDArray[np.bool_]
    counts: NDArray[np.uint32]


def duplicates(
    answers: Answers, *, memory: int = 1 << 30, threads: int | None = None
) -> Duplicates:
    """Find equal texts: the first of each, and how often it occurs in the pool.

    Texts are considered equal if their digests are (XXH3, 128 bits: the probability that any two of
    10^9 different texts share one is about 10^-21). Uses about `memory` bytes (at least 1 MiB), plus
    the batches and a few bytes per row. If the digests of the distinct texts need more, answers are
    read in several passes, each covering a range of digests. The result depends neither on `memory`
    or `threads` (default: all cores) nor on how answers are split into batches.

    Time: linear in the number of characters per pass, plus `k log k` for `k` rows.
    Raises `SettingsError`, and `InputError` naming the row.
    """
    if memory < 1:
        raise SettingsError(f"memory must be at least 1 byte, not {memory}")
    batches = as_batches(answers)
    span = _DuplicateSpan(batches, max(memory, LEAST_MEMORY) // ROW_BYTES, threads)
    found = [span.read()]
    while span.advance():
        found.append(span.read())
    counts = np.zeros(span.rows, np.uint32)
    for texts in found:
        counts[texts.rows] = texts.counts
    return Duplicates(counts > 0, counts)


def digested(texts: _native.Texts, first: int, threads: int | None) -> DistinctTexts:
    """Returns the digests of texts in rows from `first` on, each with a count of one."""
    rows = np.arange(first, first + len(texts))
    digests = _native.text_digests(texts, SEED, threads)
    return DistinctTexts(digests, rows, np.ones(len(texts), np.int64))


class DistinctTexts(NamedTuple):
    """Distinct texts: digests (shape (k, 2), upper and lower half), a row of each, and its count so far."""

    digests: NDArray[np.uint64]
    rows: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def joined(cls, parts: list[Self]) -> DistinctTexts:
        """Merge lists of texts, keeping each text once with its first row."""
        digests, rows, counts = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.lexsort((digests[:, 1], digests[:, 0]))
        digests = digests[order]
        new = np.ones(len(order), np.bool_)
        new[1:] = (digests[1:] != digests[:-1]).any(axis=1)
        if not len(order):
            return DistinctTexts(digests, rows, counts)
        starts = np.flatnonzero(new)
        return DistinctTexts(
            digests[starts],
            np.minimum.reduceat(rows[order], starts),
            np.add.reduceat(counts[order], starts),
        )

    def between(self, first: int, last: int) -> DistinctTexts:
        """Returns the texts whose digests' upper halves are in this range (inclusive)."""
        upper = self.digests[:, 0]
        inside = (upper >= np.uint64(first)) & (upper <= np.uint64(last))
        return DistinctTexts(self.digests[inside], self.rows[inside], self.counts[inside])


class _DuplicateSpan:
    """A sliding range of digests, narrowed until its distinct texts fit in memory."""

    def __init__(self, batches: Batches, most: int, threads: int | None) -> None:
        self._batches, self._most, self._threads = batches, most, threads
        self._start, self._bits = 0, BITS
        self.rows = -1

    def read(self) -> DistinctTexts:
        """Find the distinct texts in the range, which may be narrowed."""
        parts, held, rows = [self._of(_native.Texts([]), 0)], 0, 0
        for first, texts in batch_texts(self._batches, threads=self._threads):
            parts.append(self._of(texts, first))
            held += len(parts[-1].rows)
            rows = first + len(texts)
            if held > self._most:
                parts = [self._narrowed(DistinctTexts.joined(parts))]
                held = len(parts[0].rows)
        self._check(rows)
        return DistinctTexts.joined(parts)

    def advance(self) -> bool:
        """Move to the next range; returns false if there is none."""
        self._start += 1 << self._bits
        return self._start < 1 << BITS

    def _of(self, texts: _native.Texts, first: int) -> DistinctTexts:
        return self._inside(digested(texts, first, self._threads))

    def _inside(self, texts: DistinctTexts) -> DistinctTexts:
        return texts.between(self._start, self._start + (1 << self._bits) - 1)

    def _narrowed(self, texts: DistinctTexts) -> DistinctTexts:
        """Narrow the range until its texts fill at most half the memory, so that merging pays off."""
        while 2 * len(texts.rows) > self._most:
            self._bits -= 1
            texts = self._inside(texts)
        return texts

    def _check(self, rows: int) -> None:
        if self.rows not in (-1, rows):
            raise InputError(
                f"the first pass read {self.rows} answers, a later one {rows}: "
                "every pass must yield the same answers"
            )
        self.rows = rows
