"""Letters of verdicts and decisions as small integers: A 0, B 1, C 2, and -1 for none."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs.errors import InputError
from pfgen_rs.judge.letters import LETTERS

__all__ = ["NONE", "Codes", "Floats", "Indices", "column_codes", "letter_codes"]

Codes = NDArray[np.int8]
Indices = NDArray[np.int64]
Floats = NDArray[np.float64]
NONE = -1
"""The code of a missing letter: undecided, invalid, or not judged."""
_LETTER_CODES: dict[object, int] = {None: NONE, **{each: i for i, each in enumerate(LETTERS)}}


def letter_codes(letters: Iterable[object]) -> Codes:
    """Returns codes of letters, -1 for `None`: int8, one per letter. Raises `InputError` for others."""
    listed = list(letters)
    try:
        return np.array([_LETTER_CODES[letter] for letter in listed], dtype=np.int8)
    except (KeyError, TypeError):
        unknown = next(each for each in listed if not (each is None or each in LETTERS))
        raise InputError(f"unknown letter {unknown!r}: expected 'A', 'B', 'C' or None") from None


def column_codes(column: pl.Series) -> Codes:
    """Returns codes of a column of letters, -1 for null: int8. Raises `InputError` for other values."""
    texts = column.cast(pl.String)
    codes = np.full(len(texts), NONE, dtype=np.int8)
    for code, letter in enumerate(LETTERS):
        codes[(texts == letter).fill_null(value=False).to_numpy()] = code
    if np.count_nonzero(codes == NONE) > texts.null_count():
        unknown = texts.filter(~texts.is_in(LETTERS)).first()
        raise InputError(
            f"unknown letter {unknown!r} in column {column.name!r}: expected 'A', 'B', 'C' or null"
        )
    return codes
