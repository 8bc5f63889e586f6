"""Answers in batches, as steps of a build read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from pfgen_rs.references.pool import Batches

__all__ = ["cut"]


def cut(answers: Sequence[str], sizes: Sequence[int]) -> Batches:
    """Batches of these sizes, over and over, until all answers are given."""

    def batches() -> Iterator[pl.Series]:
        at = turn = 0
        while at < len(answers):
            size = sizes[turn % len(sizes)]
            yield pl.Series(answers[at : at + size], dtype=pl.String)
            at, turn = at + size, turn + 1

    return batches
