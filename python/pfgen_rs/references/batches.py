"""Answers in batches: a pool may be larger than memory, so it is read in pieces, as often as needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import polars as pl

from pfgen_rs import _native
from pfgen_rs.errors import InputError

__all__ = ["Answers", "BatchProgress", "Batches", "as_batches", "batch_texts"]

Batches = Callable[[], Iterable[pl.Series]]
"""Each call iterates over all answers from the start, as text columns; row numbers continue across them."""

Answers = pl.Series | Sequence[str] | Batches

BatchProgress = Callable[[int, int], None]
"""Called with the amount done and the total amount (0 while unknown)."""

ROWS = 1 << 16


def as_batches(answers: Answers) -> Batches:
    """Convert a column, a list of `str`, or batches to batches.

    Raises `InputError` for anything else.
    """
    if callable(answers):
        return answers
    column = _column_to_batch(answers)
    return lambda: (column[start : start + ROWS] for start in range(0, len(column), ROWS))


def batch_texts(
    batches: Batches, *, threads: int | None = None
) -> Iterator[tuple[int, _native.Texts]]:
    """Read all answers once, yielding the number of each batch's first row and its texts.

    Raises `InputError`, naming the row, if a value is not text.
    """
    first = 0
    for batch in batches():
        if batch.null_count():
            row = first + int(batch.is_null().arg_max() or 0)
            raise InputError(f"row {row} is null: expected text")
        yield first, _native.Texts(batch, threads)
        first += len(batch)


def _column_to_batch(answers: pl.Series | Sequence[str]) -> pl.Series:
    if isinstance(answers, pl.Series):
        return answers
    if isinstance(answers, str) or not isinstance(answers, Iterable):
        kind = type(answers).__name__
        raise InputError(f"expected a column, a list or batches of answers, not {kind}")
    try:
        return pl.Series("answer", answers, dtype=pl.String)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(f"expected a column of text: {error}") from None
