"""Answers whose length is nearest to a target."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pfgen_rs import _native
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.references.batches import Answers, Batches, as_batches, texts_of

__all__ = ["Lengths", "nearest_length"]

SEEDS = 1 << 64


@dataclass(frozen=True)
class Lengths:
    """Which rows are kept (bool, one for each row), and mean and standard deviation of their lengths.

    Lengths are code points. The deviation is that of the kept answers themselves (divided by their
    number); both are not a number where nothing is kept.
    """

    kept: NDArray[np.bool_]
    mean: float
    std: float


def nearest_length(
    answers: Answers,
    *,
    target: int = 100,
    count: int = 30_000,
    seed: int = 0,
    threads: int | None = None,
) -> Lengths:
    """Keep the `count` answers whose length is nearest to `target`, or all where there are fewer.

    Of the answers at the greatest distance that are not all needed, shorter or longer ones alike,
    those with the smallest digests stay (XXH3 of the text, seeded with `seed`; equal texts in the
    order of their rows): which texts are kept does not depend on the order of the answers, on
    batches or on `threads` (all cores by default).

    Reads the answers twice, and keeps 4 bytes a row and 24 a row at the greatest distance. Time:
    linear in the characters. Source: Imajo et al. 2025, section 3.2.4 takes 30,000 near 100.
    Raises `SettingsError`, and `InputError` naming the row.
    """
    _check(target, count, seed)
    batches = as_batches(answers)
    lengths = _lengths(batches, threads)
    distances = np.abs(lengths.astype(np.int64) - target)
    if count >= len(lengths):
        return _summary(np.ones(len(lengths), np.bool_), lengths)
    # What as many answers exceed as are not kept: the greatest distance that is kept.
    last = np.partition(distances, count - 1)[count - 1] if count else -1
    kept = distances < last
    tied = np.flatnonzero(distances == last)
    kept[_smallest(batches, tied, count - int(kept.sum()), seed, threads)] = True
    return _summary(kept, lengths)


def _check(target: int, count: int, seed: int) -> None:
    if target < 0 or count < 0:
        raise SettingsError(f"target and count must be 0 or more, not {target} and {count}")
    if not 0 <= seed < SEEDS:
        raise SettingsError(f"seed must be in 0…2^64 - 1, not {seed}")


def _lengths(batches: Batches, threads: int | None) -> NDArray[np.uint32]:
    found = [texts.lengths().astype(np.uint32) for _, texts in texts_of(batches, threads=threads)]
    return np.concatenate(found) if found else np.zeros(0, np.uint32)


def _smallest(
    batches: Batches, rows: NDArray[np.int64], count: int, seed: int, threads: int | None
) -> NDArray[np.int64]:
    """Those `count` of the rows (ascending) whose texts have the smallest digests."""
    if count in (0, len(rows)):
        return rows[:count]
    parts, end = [], 0
    for first, texts in texts_of(batches, threads=threads):
        end = first + len(texts)
        mine = rows[np.searchsorted(rows, first) : np.searchsorted(rows, end)] - first
        parts.append(_native.text_digests(texts, seed, threads)[mine])
    digests = np.concatenate(parts)
    if len(digests) != len(rows):
        raise InputError(f"the second reading gave only {end} answers: each must give the same")
    # The sort is stable, so that equal texts stay in the order of their rows.
    return rows[np.lexsort((digests[:, 1], digests[:, 0]))[:count]]


def _summary(kept: NDArray[np.bool_], lengths: NDArray[np.uint32]) -> Lengths:
    """Exact until the last steps: sums of whole numbers."""
    values, counts = np.unique(lengths[kept], return_counts=True)
    pairs = list(zip(values.tolist(), counts.tolist(), strict=True))
    number, total = sum(count for _, count in pairs), sum(value * count for value, count in pairs)
    if not number:
        return Lengths(kept, math.nan, math.nan)
    squares = sum(value * value * count for value, count in pairs)
    return Lengths(kept, total / number, math.sqrt(number * squares - total * total) / number)
