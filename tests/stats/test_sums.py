"""Sums run from the left, term by term, on every version of Python."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import oracle
from pfgen_rs.stats.sums import left_mean, left_sum

# The exact sum is 2; a compensated or pairwise one says so, term by term it is 0.
CANCELLING = [1.0, 1e100, 1.0, -1e100]
FINITE = st.floats(-1e300, 1e300)


def test_no_term_is_compensated() -> None:
    assert math.fsum(CANCELLING) == 2.0
    assert left_sum(CANCELLING) == 0.0
    assert left_mean(np.array(CANCELLING)) == 0.0


def test_no_pairs() -> None:
    """Long enough for numpy's own sum to add in blocks."""
    values = np.array([0.1] * 10_000)
    by_hand = 0.0
    for value in values.tolist():
        by_hand += value
    assert left_sum(values) == by_hand != values.sum()
    assert left_mean(values) == by_hand / 10_000


def test_arrays_are_summed_element_by_element() -> None:
    rows = np.array([CANCELLING, CANCELLING[::-1]]).T
    assert left_sum(rows).tolist() == [0.0, 1.0]
    assert left_sum([]) == 0.0


@given(st.lists(FINITE, min_size=1, max_size=50))
def test_as_the_oracle(values: list[float]) -> None:
    assert left_sum(values) == oracle.left_sum(values)
    assert left_mean(np.array(values)) == oracle.left_sum(values) / len(values)
