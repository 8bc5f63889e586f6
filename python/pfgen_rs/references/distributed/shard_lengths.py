"""The tasks that find the answers nearest to the target length over all shards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs import _native
from pfgen_rs.references.config import BuildConfig
from pfgen_rs.references.distributed.shard_frames import Mask

__all__ = ["Cut", "NearRows", "last_near", "mask_near", "merge_near", "near_rows"]

Cut = tuple[int, int, int, int]
"""An answer's place in the order of the filter of lengths: distance, both halves of the digest, and row."""


class NearRows(NamedTuple):
    """Answers in that order: distances and rows of shape (k,), digests of shape (k, 2)."""

    distances: NDArray[np.uint64]
    digests: NDArray[np.uint64]
    rows: NDArray[np.int64]

    @classmethod
    def joined(cls, parts: list[NearRows], most: int) -> NearRows:
        """Returns the first `most` of all."""
        distances, digests, rows = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.lexsort((rows, digests[:, 1], digests[:, 0], distances))[:most]
        return cls(distances[order], digests[order], rows[order])

    def until(self, cut: Cut | None) -> Self:
        """Returns those up to and including a place; without one, there are none."""
        if cut is None:
            return self
        columns = (self.distances, self.digests[:, 0], self.digests[:, 1], self.rows)
        less, equal = np.zeros(len(self.rows), np.bool_), np.ones(len(self.rows), np.bool_)
        for column, value in zip(columns, cut, strict=True):
            least = column.dtype.type(value)
            less |= equal & (column < least)
            equal &= column == least
        kept = less | equal
        return self._replace(
            distances=self.distances[kept], digests=self.digests[kept], rows=self.rows[kept]
        )


def near_rows(
    config: BuildConfig,
    threads: int | None,
    most: Mapping[str, int],
    first: int,
    frame: pl.DataFrame,
    mask: Mask,
) -> dict[str, NearRows]:
    """Returns the nearest rows of `mask`, up to so many of each source.

    Rows are numbered from `first` on.
    """
    texts = _native.Texts(frame.get_column("answer"), threads)
    found = {}
    for source, number in most.items():
        own = mask & (frame.get_column("source") == source).to_numpy()
        distances, digests, rows = _native.nearest(
            texts, own, config.length.target, config.seed, number, threads
        )
        found[source] = NearRows(distances, digests, rows + first)
    return found


def merge_near(most: Mapping[str, int], *parts: Mapping[str, NearRows]) -> dict[str, NearRows]:
    """Returns the nearest rows of several shards."""
    return {
        source: NearRows.joined([part[source] for part in parts], number)
        for source, number in most.items()
    }


def last_near(merged: Mapping[str, NearRows]) -> dict[str, Cut | None]:
    """Returns the place of the last row of each source, `None` without any."""
    return {
        source: (
            int(near.distances[-1]),
            int(near.digests[-1, 0]),
            int(near.digests[-1, 1]),
            int(near.rows[-1]),
        )
        if len(near.rows)
        else None
        for source, near in merged.items()
    }


def mask_near(
    cuts: Mapping[str, Cut | None], first: int, height: int, near: Mapping[str, NearRows]
) -> Mask:
    """Returns the rows of a shard up to the last ones."""
    mask = np.zeros(height, np.bool_)
    for source, own in near.items():
        mask[own.until(cuts[source]).rows - first] = True
    return mask
