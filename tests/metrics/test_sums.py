"""Sums run from the left, plain or compensated, the same on every version of Python."""

import math
import sys
from itertools import accumulate, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from pfgen_rs.metrics.sums import left_mean, left_sum, running_sum

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
    assert left_sum(rows, compensated=True).tolist() == [2.0, 2.0]
    assert left_sum([]) == left_sum([], compensated=True) == 0.0


@given(st.lists(FINITE, min_size=1, max_size=50))
def test_as_the_oracle(values: list[float]) -> None:
    assert left_sum(values) == oracle.left_sum(values)
    assert left_mean(np.array(values)) == oracle.left_sum(values) / len(values)


# The compensated reading: that of CPython since 3.12.


@given(st.lists(FINITE, min_size=1, max_size=50))
def test_the_built_in_sum_is_one_of_the_two(values: list[float]) -> None:
    compensated = sys.version_info >= (3, 12)
    reading = oracle.compensated_sum if compensated else oracle.left_sum
    assert sum(values) == reading(values)


def test_errors_are_compensated() -> None:
    assert oracle.compensated_sum(CANCELLING) == left_sum(CANCELLING, compensated=True) == 2.0
    assert left_mean(np.array(CANCELLING), compensated=True) == 0.5
    tenths = [0.1] * 10  # sum() gives 0.9999999999999999 up to Python 3.11, and 1.0 since 3.12
    assert (left_sum(tenths), left_sum(tenths, compensated=True)) == (0.9999999999999999, 1.0)


@given(
    st.lists(FINITE | st.floats(-3, 3), min_size=1, max_size=50),
    st.lists(st.integers(0, 50), max_size=3),
)
def test_compensated_as_the_oracle(values: list[float], cuts: list[int]) -> None:
    expected = oracle.compensated_sum(values)
    array = np.array(values)
    assert left_sum(values, compensated=True) == expected
    assert left_sum(np.stack([array, array], axis=1), compensated=True).tolist() == [expected] * 2
    assert left_mean(array, compensated=True) == expected / len(values)
    pieces = [array[a:b] for a, b in pairwise(sorted([0, *cuts, 50]))]
    assert running_sum(pieces, compensated=True) == expected
    assert running_sum(pieces) == oracle.left_sum(values)


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning", "ignore:invalid:RuntimeWarning")
@pytest.mark.parametrize("values", [[1e308, 1e308], [1e308, 1e308, -1e308], [-math.inf, 1.0]])
def test_an_infinite_sum_stays_infinite(values: list[float]) -> None:
    expected = [*accumulate(values)][-1]
    assert math.isinf(expected)
    assert oracle.compensated_sum(values) == expected
    assert left_sum(values, compensated=True) == expected
    assert left_mean(np.array(values), compensated=True) == expected
