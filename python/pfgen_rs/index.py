"""N-gram statistics of the reference answers of one question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pfgen_rs import _native
from pfgen_rs.errors import InputError

__all__ = ["ConcordanceLine", "DocumentFrequency", "Ngram", "NgramIndex", "Occurrence"]

_LARGEST = 2**32 - 1


class DocumentFrequency(NamedTuple):
    """Number of answers that contain an n-gram: of all sources together, and of each."""

    total: int
    by_source: dict[str, int]


class Occurrence(NamedTuple):
    """One place of an n-gram: source, answer (from 0 within its source), code points before it."""

    source: str
    answer: int
    offset: int


class ConcordanceLine(NamedTuple):
    """One place of an n-gram with the text around it."""

    occurrence: Occurrence
    left: str
    match: str
    right: str


class Ngram(NamedTuple):
    """An n-gram with its number of occurrences and its document frequency."""

    text: str
    occurrences: int
    document_frequency: DocumentFrequency


class NgramIndex:
    """Suffix array with LCP over reference answers; n-grams of any length.

    `answers` maps each source's name to its answers (a list or an Arrow column of text). Building takes
    time linear in the `N` characters, and 12 bytes of memory for each. With a pattern of `m` characters
    that occurs `c` times, and `k` answers, `count` takes O(m log N), `document_frequency`
    O(m log N + c log k + k), `locate` and `concordance` O(m log N + c (log c + log k)),
    `next_characters` O(m log N + d log N) for `d` continuations, `ngrams` O(N log k) plus sorting.

    All positions are code points; nothing is normalised. The empty pattern raises `InputError`; a pattern
    longer than every answer or with unknown characters simply does not occur. Numbers out of range raise
    `InputError`, too. Thread-safe: never changes.

    >>> index = NgramIndex({"A": ["東京都", "京都"], "B": ["東京"]})
    >>> index.count("京"), index.next_characters("京")
    (3, {'都': 2, '': 1})
    >>> index.document_frequency("京都")
    DocumentFrequency(total=2, by_source={'A': 2, 'B': 0})
    """

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self._native = _native.Index([(name, _native.Texts(a)) for name, a in answers.items()])

    @property
    def native(self) -> _native.Index:
        """The native index, for the scorer that is derived from it."""
        return self._native

    @property
    def sources(self) -> list[str]:
        """Names of the sources, in the order given."""
        return self._native.sources

    @property
    def answer_counts(self) -> dict[str, int]:
        """Number of answers of each source."""
        return dict(zip(self.sources, self._native.answer_counts, strict=True))

    def __repr__(self) -> str:
        """Show the size, not the text."""
        counts = ", ".join(f"{name}: {count}" for name, count in self.answer_counts.items())
        return f"NgramIndex({counts}; {self._native.character_count} characters)"

    def count(self, pattern: str) -> int:
        """Occurrences of `pattern` in all answers, overlapping ones included."""
        return self._native.count(pattern)

    def document_frequency(self, pattern: str) -> DocumentFrequency:
        """Answers that contain `pattern`, however often."""
        return self._frequency(self._native.document_frequency(pattern))

    def locate(self, pattern: str) -> list[Occurrence]:
        """All places of `pattern`, ordered by source, answer and offset."""
        return [Occurrence(*place) for place in self._native.locate(pattern)]

    def concordance(self, pattern: str, width: int = 20) -> list[ConcordanceLine]:
        """All places of `pattern` with up to `width` characters on both sides."""
        lines = self._native.concordance(pattern, _natural("width", width))
        return [
            ConcordanceLine(Occurrence(*place), left, pattern, right)
            for place, left, right in lines
        ]

    def next_characters(self, pattern: str) -> dict[str, int]:
        """What follows `pattern`, most frequent first; an answer's end has the key `""`.

        The counts sum to `count(pattern)`.
        """
        return {follower or "": n for follower, n in self._native.next_characters(pattern)}

    def ngrams(self, n: int, min_df: int = 1, top: int | None = None) -> list[Ngram]:
        """N-grams of `n` characters found in at least `min_df` answers.

        By falling document frequency, then falling count, then code-point order; the first `top`.
        """
        limit = None if top is None else _natural("top", top)
        found = self._native.ngrams(_natural("n", n), _natural("min_df", min_df), limit)
        return [Ngram(text, count, self._frequency(row)) for text, count, row in found]

    def count_batch(self, patterns: Any) -> NDArray[np.uint64]:
        """`count` of many patterns (an Arrow column or a list of str): uint64, shape (patterns,)."""
        return self._native.count_batch(_native.Texts(patterns))

    def document_frequency_batch(self, patterns: Any) -> NDArray[np.uint32]:
        """Document frequencies of many patterns: uint32, shape (patterns, sources)."""
        return self._native.document_frequency_batch(_native.Texts(patterns))

    def _frequency(self, row: Sequence[int]) -> DocumentFrequency:
        return DocumentFrequency(sum(row), dict(zip(self.sources, row, strict=True)))


def _natural(name: str, value: int) -> int:
    if not 0 <= value <= _LARGEST:
        raise InputError(f"{name} must lie in 0…{_LARGEST}, not {value}")
    return value
