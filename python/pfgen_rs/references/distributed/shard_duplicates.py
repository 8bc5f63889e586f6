"""Finding equal texts in different shards: each range of digests meets in one task."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs import _native
from pfgen_rs.references.distributed.shard_frames import Mask
from pfgen_rs.references.duplicates import DistinctTexts, digested

__all__ = ["DIGEST_BYTES", "Distinct", "digest_ranges", "first_texts", "kept_texts"]

DIGEST_BYTES = 32
"""Bytes of a distinct text between tasks: digest, row and count."""

Distinct = tuple[int, int]
"""The number of distinct texts, and how often the most frequent occurs."""


def digest_ranges(
    first: int, ranges: int, threads: int | None, frame: pl.DataFrame
) -> tuple[DistinctTexts, ...]:
    """Returns the distinct texts of a shard, whose rows begin at `first`, by ranges of digests."""
    texts = _native.Texts(frame.get_column("answer"), threads)
    distinct = DistinctTexts.joined([digested(texts, first, threads)])
    bounds = [(number << 64) // ranges for number in range(ranges + 1)]
    return tuple(distinct.between(start, end - 1) for start, end in pairwise(bounds))


def first_texts(starts: Sequence[int], *parts: DistinctTexts) -> tuple[object, ...]:
    """Join a range of digests of all shards, whose first rows are `starts`.

    Returns the first rows of each shard, with their counts over all shards, and at the end a `Distinct`.
    """
    found = DistinctTexts.joined(list(parts))
    order = np.argsort(found.rows, kind="stable")
    rows, counts = found.rows[order], found.counts[order]
    bounds = np.searchsorted(rows, [*starts, np.iinfo(np.int64).max])
    own = [
        (rows[low:high] - start, counts[low:high].astype(np.uint32))
        for start, low, high in zip(starts, bounds[:-1], bounds[1:], strict=True)
    ]
    return (*own, (len(rows), int(counts.max(initial=0))))


def kept_texts(
    keep: str, height: int, *parts: tuple[NDArray[np.int64], NDArray[np.uint32]]
) -> tuple[Mask, NDArray[np.uint32] | None]:
    """Returns the rows of a shard that are kept, and their weights (0 for others) if they have weights."""
    if keep == "all":
        return np.ones(height, np.bool_), None
    counts = np.zeros(height, np.uint32)
    for rows, own in parts:
        counts[rows] = own
    return counts > 0, counts if keep == "weight" else None
