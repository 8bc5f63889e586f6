"""Position bias: whether a judge prefers the answer that it is shown first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pfgen_rs.errors import InputError
from pfgen_rs.judge.agreement.codes import Codes, letter_codes
from pfgen_rs.judge.agreement.intervals import Share, share_of

__all__ = ["position_bias", "position_bias_of_codes"]

_A, _B = 0, 1


def position_bias(
    first: Sequence[str | None], second: Sequence[str | None], *, level: float = 0.95
) -> Share:
    """Returns among pairs that flip between winners the share won by the answer shown first in both orders.

    `first`, `second`: letters of order 1 and of order 2, the latter swapped back; pairs with a tie or an
    invalid verdict (`None`) do not count. Without position bias the share is 1/2. The interval is exact
    (extra `judge`). Raises `InputError` for unequal lengths and unknown letters.

    >>> position_bias(["A", "A", "B", "C"], ["B", "B", "A", "A"]).value
    0.6666666666666666
    """
    if len(first) != len(second):
        raise InputError(f"{len(first)} and {len(second)} verdicts: expected the same number")
    return position_bias_of_codes(letter_codes(first), letter_codes(second), level)


def position_bias_of_codes(first: Codes, second: Codes, level: float) -> Share:
    """Returns the same from codes."""
    towards_first = int(np.count_nonzero((first == _A) & (second == _B)))
    towards_second = int(np.count_nonzero((first == _B) & (second == _A)))
    return share_of(towards_first, towards_first + towards_second, level)
