"""N-gram statistics of the reference answers to one question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pfgen_rs import _native
from pfgen_rs.errors import InputError
from pfgen_rs.lazy import NDArray, np
from pfgen_rs.metrics import units
from pfgen_rs.metrics.units import Answer, Decoded, Unit

_LARGEST = 2**32 - 1


class DocumentFrequency(NamedTuple):
    """Number of answers that contain an n-gram: in total, and by source."""

    total: int
    by_source: dict[str, int]


class Occurrence(NamedTuple):
    """One occurrence of an n-gram: source, answer (from 0 within its source), and units before it."""

    source: str
    answer: int
    offset: int


class ConcordanceLine(NamedTuple):
    """One occurrence of an n-gram with the text around it."""

    occurrence: Occurrence
    left: Decoded
    match: Decoded
    right: Decoded


class Ngram(NamedTuple):
    """An n-gram with its number of occurrences and its document frequency."""

    text: Decoded
    occurrences: int
    document_frequency: DocumentFrequency


class NgramIndex:
    """Suffix array with LCP over reference answers; n-grams of any length.

    `answers` maps each source's name to its answers (a list or an Arrow column of text). Building takes
    time linear in the `N` characters, and 12 bytes of memory for each. With a pattern of `m` characters
    that occurs `c` times, and `k` answers, `count` takes O(m log N), `document_frequency`
    O(m log N + c log k + k), `locate` and `concordance` O(m log N + c (log c + log k)),
    `next_characters` O(m log N + d log N) for `d` continuations, `ngrams` O(N log k) plus sorting.

    `unit` is what n-grams consist of (see `Settings`). With `word`, patterns are texts that are split into
    words, and returned n-grams are texts with spaces where the script needs them; with `token`, answers and
    patterns are lists of ids, and returned n-grams are tuples of ids. Statements about characters apply to
    other units as well.

    All positions are code points (or other units); nothing is normalised. The empty pattern raises
    `InputError`; a pattern longer than every answer or with unknown characters simply does not occur. Numbers
    out of range raise `InputError`, too. Immutable, and so thread-safe.

    >>> index = NgramIndex({"A": ["東京都", "京都"], "B": ["東京"]})
    >>> index.count("京"), index.next_characters("京")
    (3, {'都': 2, '': 1})
    >>> index.document_frequency("京都")
    DocumentFrequency(total=2, by_source={'A': 2, 'B': 0})
    """

    def __init__(self, answers: Mapping[str, Any], unit: Unit = "character") -> None:
        self.unit = unit
        self._coder = units.coder(unit, *answers.values())
        columns = [(name, self._coder.column(texts).coded) for name, texts in answers.items()]
        self._native = _native.Index(columns)

    @property
    def native(self) -> _native.Index:
        """The native index, from which scorers are derived."""
        return self._native

    @property
    def sources(self) -> list[str]:
        """Names of the sources, in the original order."""
        return self._native.sources

    @property
    def answer_counts(self) -> dict[str, int]:
        """Number of answers by source."""
        return dict(zip(self.sources, self._native.answer_counts, strict=True))

    def __repr__(self) -> str:
        """Show the number of answers and units, but no text."""
        counts = ", ".join(f"{name}: {count}" for name, count in self.answer_counts.items())
        return f"NgramIndex({counts}; {self._native.character_count} {self.unit}s)"

    def count(self, pattern: Answer) -> int:
        """Returns the number of occurrences of `pattern` in all answers, including overlapping ones."""
        return self._native.count(self._coder.one(pattern))

    def document_frequency(self, pattern: Answer) -> DocumentFrequency:
        """Returns the number of answers that contain `pattern` at least once."""
        return self._frequency(self._native.document_frequency(self._coder.one(pattern)))

    def locate(self, pattern: Answer) -> list[Occurrence]:
        """Returns all occurrences of `pattern`, ordered by source, answer and offset."""
        return [Occurrence(*place) for place in self._native.locate(self._coder.one(pattern))]

    def concordance(self, pattern: Answer, width: int = 20) -> list[ConcordanceLine]:
        """Returns all occurrences of `pattern` with up to `width` characters on each side."""
        coded, decode = self._coder.one(pattern), self._coder.decode
        lines = self._native.concordance(coded, _checked("width", width))
        match = decode(coded)
        return [
            ConcordanceLine(Occurrence(*place), decode(left), match, decode(right))
            for place, left, right in lines
        ]

    def next_characters(self, pattern: Answer) -> dict[Decoded, int]:
        """Returns the counts of what follows `pattern`, most frequent first; the key `""` is an answer's end.

        With tokens, an answer's end is `()`.

        The counts sum to `count(pattern)`.
        """
        followers = self._native.next_characters(self._coder.one(pattern))
        return {self._coder.decode(follower or ""): n for follower, n in followers}

    def ngrams(self, n: int, min_df: int = 1, top: int | None = None) -> list[Ngram]:
        """Returns the n-grams of `n` characters in at least `min_df` answers, at most `top` of them.

        Sorted by descending document frequency, then descending count, then code-point order (longer words:
        descending frequency).
        """
        limit = None if top is None else _checked("top", top)
        found = self._native.ngrams(_checked("n", n), _checked("min_df", min_df), limit)
        decode = self._coder.decode
        return [Ngram(decode(text), count, self._frequency(row)) for text, count, row in found]

    def count_batch(self, patterns: Any) -> NDArray[np.uint64]:
        """Returns `count` for many patterns (an Arrow column or a list): uint64, shape (patterns,)."""
        return self._native.count_batch(self._coder.column(patterns).coded)

    def document_frequency_batch(self, patterns: Any) -> NDArray[np.uint32]:
        """Returns the document frequencies of many patterns: uint32, shape (patterns, sources)."""
        return self._native.document_frequency_batch(self._coder.column(patterns).coded)

    def _frequency(self, row: Sequence[int]) -> DocumentFrequency:
        return DocumentFrequency(sum(row), dict(zip(self.sources, row, strict=True)))


def _checked(name: str, value: int) -> int:
    if not 0 <= value <= _LARGEST:
        raise InputError(f"{name} must be between 0 and {_LARGEST}, not {value}")
    return value
