"""Identical and nearly identical answers to a question."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import polars as pl

from pfgen_rs.benchmark import Benchmark
from pfgen_rs.errors import SettingsError
from pfgen_rs.questions.question import Question
from pfgen_rs.references.check.steps import CheckProgress, tracked

__all__ = ["SimilarPair", "near_duplicates", "similar_pairs"]

_ROUNDING = 1e-9
_COUNTS = {
    "question_id": pl.String,
    "answers": pl.Int64,
    "distinct": pl.Int64,
    "near_pairs": pl.Int64,
    "in_near_pairs": pl.Int64,
    "largest": pl.Float64,
}
_PAIRS = {
    "question_id": pl.String,
    "similarity": pl.Float64,
    "source": pl.String,
    "answer": pl.Int64,
    "text": pl.String,
    "other_source": pl.String,
    "other_answer": pl.Int64,
    "other_text": pl.String,
}


class SimilarPair(NamedTuple):
    """The similarity of two texts, and their indices in ascending order."""

    similarity: float
    one: int
    other: int


def near_duplicates(
    benchmark: Benchmark,
    *,
    n: int = 5,
    threshold: float = 0.9,
    shown: int = 5,
    progress: CheckProgress | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Count equal and similar answers across all sources, and collect the most similar pairs.

    The first table has one row per question: `question_id`, `answers`, `distinct` (texts), `near_pairs` (of
    distinct texts, as found by `similar_pairs`), `in_near_pairs` (distinct texts in any such pair), `largest`
    similarity (null if no pair reaches the threshold). The second has up to `shown` pairs per question:
    `question_id`, `similarity`, `source`, `answer` (from 0 within its source) and `text`, and the same for
    the other answer (`other_…`).
    """
    counts, pairs = [], []
    for question in tracked(list(benchmark), "near-duplicates", progress):
        places = _first_duplicate_places(question)
        texts = list(places)
        coded = benchmark.coder.encode(texts).to_list()
        found = similar_pairs(coded, n=n, threshold=threshold)
        concerned = {number for pair in found for number in pair[1:]}
        total = sum(map(len, question.answers.values()))
        largest = found[0].similarity if found else None
        counts.append((question.id, total, len(texts), len(found), len(concerned), largest))
        for pair in found[:shown]:
            one, other = texts[pair.one], texts[pair.other]
            pairs.append((question.id, pair.similarity, *places[one], one, *places[other], other))
    return (
        pl.DataFrame(counts, schema=_COUNTS, orient="row"),
        pl.DataFrame(pairs, schema=_PAIRS, orient="row"),
    )


def _first_duplicate_places(question: Question) -> dict[str, tuple[str, int]]:
    """Map each distinct text to the source and number of its first occurrence."""
    places: dict[str, tuple[str, int]] = {}
    for source, answers in question.answers.items():
        for number, answer in enumerate(answers):
            places.setdefault(answer, (source, number))
    return places


def similar_pairs(texts: Sequence[str], *, n: int = 5, threshold: float = 0.9) -> list[SimilarPair]:
    """Returns the pairs of texts whose sets of n-grams have a Jaccard similarity of at least `threshold`.

    Pairs are sorted by descending similarity, then by index. A text without n-grams is similar to no other.
    Two sets that reach the threshold share at least one of their rarest n-grams (one more than the number
    they need not share; Bayardo et al. 2007, "Scaling up all pairs similarity search", section 3.2), so only
    texts that meet in an index of these are compared. Raises `SettingsError` if `n` is below 1 or `threshold`
    is not above 0 and at most 1.
    """
    if n < 1:
        raise SettingsError(f"n must be at least 1, not {n}")
    if not 0 < threshold <= 1:
        raise SettingsError(f"threshold must be above 0 and at most 1, not {threshold}")
    sets = [frozenset(text[i : i + n] for i in range(len(text) - n + 1)) for text in texts]
    pairs = [
        SimilarPair(similarity, *sorted(pair))
        for pair in _candidate_duplicate_pairs(sets, threshold)
        if (similarity := _near_duplicate_similarity(sets[pair[0]], sets[pair[1]])) >= threshold
    ]
    return sorted(pairs, key=lambda pair: (-pair.similarity, pair.one, pair.other))


def _near_duplicate_similarity(one: frozenset[str], other: frozenset[str]) -> float:
    both = len(one & other)
    return both / (len(one) + len(other) - both)


def _candidate_duplicate_pairs(
    sets: Sequence[frozenset[str]], threshold: float
) -> Iterator[tuple[int, int]]:
    """Yield each pair of sets that may reach the threshold once."""
    frequency = Counter(chain.from_iterable(sets))
    rarity = {gram: rank for rank, (gram, _) in enumerate(reversed(frequency.most_common()))}
    index: dict[str, list[int]] = {}
    # In ascending order of size, a set is only compared with earlier sets that are not too small.
    for number in sorted(range(len(sets)), key=lambda number: len(sets[number])):
        size = len(sets[number])
        needed = math.ceil(size * threshold - _ROUNDING)
        met: set[int] = set()
        for gram in sorted(sets[number], key=rarity.__getitem__)[: size - needed + 1]:
            if frequency[gram] > 1:
                known = index.setdefault(gram, [])
                met.update(known)
                known.append(number)
        for other in sorted(met):
            if len(sets[other]) >= needed:
                yield other, number
