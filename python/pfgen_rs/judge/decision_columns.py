"""Decisions about many pairs at once: `decide` on columns, with the same results to the bit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pfgen_rs.judge.letters import LETTERS

__all__ = ["NONE", "Codes", "DecidedColumns", "decide_columns", "swapped_codes"]

Codes = NDArray[np.int8]
Floats = NDArray[np.float64]

NONE = -1
"""The code of no letter; A, B and C are 0, 1 and 2."""
_A, _B, _C = range(len(LETTERS))
_SWAPPED_BACK = np.array([_B, _A, _C, NONE], dtype=np.int8)  # the last one is that of code -1


class DecidedColumns(NamedTuple):
    """`Decision` as columns: letters as codes (shape (pairs,)), NaN if unknown.

    `p1`, `p2` and `mean`: probabilities of A, B, C in letters of the pair, shape (pairs, 3).
    """

    v1: Codes
    v2: Codes
    p1: Floats
    p2: Floats
    probability: Codes
    strict: Codes
    tie: Codes
    mean: Floats
    single: NDArray[np.bool_]
    valid: NDArray[np.bool_]
    consistent: NDArray[np.bool_]
    margin: Floats
    outside: Floats


def swapped_codes(codes: Codes) -> Codes:
    """Returns codes as they read in the other order."""
    return _SWAPPED_BACK[codes]


def decide_columns(shown1: Codes, shown2: Codes, p1: Floats, p2: Floats) -> DecidedColumns:
    """Decide pairs by all rules, as `decide` does.

    `shown1`, `shown2`: codes of the verdicts in order 1 and 2 as they were shown, int8, shape (pairs,).
    `p1`, `p2`: probabilities of A, B, C as shown, float64, shape (pairs, 3), NaN where unknown. Linear time.
    """
    v1, v2 = shown1, swapped_codes(shown2)
    p2 = p2[:, [_B, _A, _C]]
    known1, known2 = _known_rows(p1), _known_rows(p2)
    both = known1 & known2
    mean = np.where(known1[:, None], p1, np.where(known2[:, None], p2, np.nan))
    mean[both] = (p1[both] + p2[both]) / 2
    valid, same = (v1 != NONE) & (v2 != NONE), v1 == v2
    ranked = np.sort(mean, axis=1)
    total = (mean[:, _A] + mean[:, _B]) + mean[:, _C]
    return DecidedColumns(
        v1=v1,
        v2=v2,
        p1=p1,
        p2=p2,
        probability=_most_probable_codes(mean, ranked, known1 | known2),
        strict=np.where(valid & same, v1, NONE).astype(np.int8),
        tie=np.where(valid, np.where(same, v1, _C), NONE).astype(np.int8),
        mean=mean,
        single=known1 != known2,
        valid=valid,
        consistent=valid & same,
        margin=ranked[:, 2] - ranked[:, 1],
        outside=np.maximum(0.0, 1.0 - total),
    )


def _known_rows(p: Floats) -> NDArray[np.bool_]:
    return np.asarray(~np.isnan(p).any(axis=1))


def _most_probable_codes(mean: Floats, ranked: Floats, known: NDArray[np.bool_]) -> Codes:
    winners = np.where(ranked[:, 2] == ranked[:, 1], _C, np.argmax(mean, axis=1))
    return np.where(known, winners, NONE).astype(np.int8)
