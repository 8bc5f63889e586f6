"""Finding duplicate answers in a pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from pfgen_rs import _native
from pfgen_rs.errors import ConfigError, InputError, SettingsError
from pfgen_rs.references.pool import Answers, Batches, State, as_batches, batch_texts
from pfgen_rs.references.step import Context, StepReport, step

BITS = 64
LEAST_MEMORY = 1 << 20
ROW_BYTES = 128
"""Bytes per text in a pass: digest, row and count, while collected, joined and sorted, and the order."""
SEED = 0


@dataclass(frozen=True)
class TextCounts:
    """The first occurrence and the count of each distinct text.

    `first`: bool, one per row; whether the row is the first with its text. `counts`: uint32, one per
    row; how often the text occurs in the pool for first rows and 0 for all others, so usable as weights.
    """

    first: NDArray[np.bool_]
    counts: NDArray[np.uint32]


def duplicates(
    answers: Answers, *, memory: int = 1 << 30, threads: int | None = None
) -> TextCounts:
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
    span = _Span(batches, max(memory, LEAST_MEMORY) // ROW_BYTES, threads)
    ranges = [span.read()]
    while span.advance():
        ranges.append(span.read())
    counts = np.zeros(span.rows, np.uint32)
    for texts in ranges:
        counts[texts.rows] = texts.counts
    return TextCounts(counts > 0, counts)


def _digested(texts: _native.Texts, first: int, threads: int | None) -> _Distinct:
    """Returns the digests of texts in rows from `first` on, each with a count of one."""
    rows = np.arange(first, first + len(texts))
    digests = _native.text_digests(texts, SEED, threads)
    return _Distinct(digests, rows, np.ones(len(texts), np.int64))


class _Distinct(NamedTuple):
    """Distinct texts: digests (shape (k, 2), upper and lower half), a row of each, and its count so far."""

    digests: NDArray[np.uint64]
    rows: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def joined(cls, parts: list[Self]) -> _Distinct:
        """Merge lists of texts, keeping each text once with its first row."""
        digests, rows, counts = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.lexsort((digests[:, 1], digests[:, 0]))
        digests = digests[order]
        new = np.ones(len(order), np.bool_)
        new[1:] = (digests[1:] != digests[:-1]).any(axis=1)
        if not len(order):
            return _Distinct(digests, rows, counts)
        starts = np.flatnonzero(new)
        return _Distinct(
            digests[starts],
            np.minimum.reduceat(rows[order], starts),
            np.add.reduceat(counts[order], starts),
        )

    def between(self, first: int, last: int) -> _Distinct:
        """Returns the texts whose digests' upper halves are in this range (inclusive)."""
        upper = self.digests[:, 0]
        inside = (upper >= np.uint64(first)) & (upper <= np.uint64(last))
        return _Distinct(self.digests[inside], self.rows[inside], self.counts[inside])


class _Span:
    """A sliding range of digests, narrowed until its distinct texts fit in memory."""

    def __init__(self, batches: Batches, most: int, threads: int | None) -> None:
        self._batches, self._most, self._threads = batches, most, threads
        self._start, self._bits = 0, BITS
        self.rows = -1

    def read(self) -> _Distinct:
        """Find the distinct texts in the range, which may be narrowed."""
        parts, held, rows = [self._of(_native.Texts([]), 0)], 0, 0
        for first, texts in batch_texts(self._batches, threads=self._threads):
            parts.append(self._of(texts, first))
            held += len(parts[-1].rows)
            rows = first + len(texts)
            if held > self._most:
                parts = [self._narrowed(_Distinct.joined(parts))]
                held = len(parts[0].rows)
        self._check(rows)
        return _Distinct.joined(parts)

    def advance(self) -> bool:
        """Move to the next range; returns false if there is none."""
        self._start += 1 << self._bits
        return self._start < 1 << BITS

    def _of(self, texts: _native.Texts, first: int) -> _Distinct:
        return self._inside(_digested(texts, first, self._threads))

    def _inside(self, texts: _Distinct) -> _Distinct:
        return texts.between(self._start, self._start + (1 << self._bits) - 1)

    def _narrowed(self, texts: _Distinct) -> _Distinct:
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


@dataclass(frozen=True)
class Duplicates:
    """Equal answers: keep one (`once`), keep one with their count as its `weight`, or keep `all`."""

    keep: str = "once"

    def __post_init__(self) -> None:
        if self.keep not in ("all", "once", "weight"):
            raise ConfigError(f"keep must be one of 'all', 'once', 'weight', not {self.keep!r}")


@step(
    "duplicates",
    Duplicates,
    place=30,
    no="no two answers are equal",
    nearly="most candidates are equal",
    expected=lambda report: report.details["keep"] == "all",
)
def _step(state: State, options: Duplicates, context: Context) -> tuple[State, StepReport]:
    # Different texts may have the same words; duplicates are equal texts.
    texts = context.coded(state) if context.unit == "token" else state.batches("answer")
    counted = duplicates(texts, memory=context.memory, threads=context.threads)
    after, removals = state, context.removals()
    if options.keep != "all":
        after = state.narrowed(counted.first)
        removals = context.removed(state, ~counted.first, "the same text again")
    if options.keep == "weight":
        weights = np.zeros(len(state.kept), dtype=np.uint32)
        weights[state.kept] = counted.counts
        after = State(after.pool, after.kept, weights)
    details = {
        "keep": options.keep,
        "distinct": int(np.count_nonzero(counted.first)),
        "most": int(counted.counts.max(initial=0)),
    }
    return after, context.report("duplicates", state, after, removals, **details)
