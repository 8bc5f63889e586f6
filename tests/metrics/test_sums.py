"""Sums run from the left, plain or compensated, and rounding is that of Python, on every version of it."""

import math
import struct
import sys
from collections.abc import Sequence
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given, strategies as st

import oracle
from pfgen_rs import _native
from pfgen_rs.metrics.sums import left_sum

# The exact sum is 2; a compensated or pairwise one says so, term by term it is 0.
CANCELLING = [1.0, 1e100, 1.0, -1e100]
FINITE = st.floats(-1e300, 1e300)


def test_no_term_is_compensated() -> None:
    assert math.fsum(CANCELLING) == 2.0
    assert left_sum(CANCELLING) == 0.0


def test_no_pairs() -> None:
    """Long enough for numpy's own sum to add in blocks."""
    values = np.array([0.1] * 10_000)
    by_hand = 0.0
    for value in values.tolist():
        by_hand += value
    assert left_sum(values) == by_hand != values.sum()


def test_arrays_are_summed_element_by_element() -> None:
    rows = np.array([CANCELLING, CANCELLING[::-1]]).T
    assert left_sum(rows).tolist() == [0.0, 1.0]
    assert left_sum(rows, compensated=True).tolist() == [2.0, 2.0]
    assert left_sum([]) == left_sum([], compensated=True) == 0.0


@given(st.lists(FINITE, min_size=1, max_size=50))
def test_as_the_oracle(values: list[float]) -> None:
    assert left_sum(values) == oracle.left_sum(values)


# The compensated reading: that of CPython since 3.12.


@given(st.lists(FINITE, min_size=1, max_size=50))
def test_the_built_in_sum_is_one_of_the_two(values: list[float]) -> None:
    compensated = sys.version_info >= (3, 12)
    reading = oracle.compensated_sum if compensated else oracle.left_sum
    assert sum(values) == reading(values)


def test_errors_are_compensated() -> None:
    assert oracle.compensated_sum(CANCELLING) == left_sum(CANCELLING, compensated=True) == 2.0
    tenths = [0.1] * 10  # sum() gives 0.9999999999999999 up to Python 3.11, and 1.0 since 3.12
    assert (left_sum(tenths), left_sum(tenths, compensated=True)) == (0.9999999999999999, 1.0)


@given(st.lists(FINITE | st.floats(-3, 3), min_size=1, max_size=50))
def test_compensated_as_the_oracle(values: list[float]) -> None:
    expected = oracle.compensated_sum(values)
    array = np.array(values)
    assert left_sum(values, compensated=True) == expected
    assert left_sum(np.stack([array, array], axis=1), compensated=True).tolist() == [expected] * 2


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning", "ignore:invalid:RuntimeWarning")
@pytest.mark.parametrize("values", [[1e308, 1e308], [1e308, 1e308, -1e308], [-math.inf, 1.0]])
def test_an_infinite_sum_stays_infinite(values: list[float]) -> None:
    expected = [*accumulate(values)][-1]
    assert math.isinf(expected)
    assert oracle.compensated_sum(values) == expected
    assert left_sum(values, compensated=True) == expected


# The native rounding of columns, against Python's own `round`.

DIGITS = st.integers(0, 15)


def bits(value: float) -> bytes:
    """The value's eight bytes: they tell 0.0 from -0.0, and equal themselves for a NaN."""
    return struct.pack("<d", value)


def check(values: Sequence[float], digits: int) -> None:
    rounded = _native.round_half_even(np.array(values, dtype=np.float64), digits)
    assert rounded.dtype == np.float64
    for value, got in zip(values, rounded.tolist(), strict=True):
        assert bits(got) == bits(round(value, digits)), (value, digits)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)), DIGITS)
def test_any_finite_value(values: list[float], digits: int) -> None:
    check(values, digits)


@given(st.lists(st.floats(-2.0, 2.0)), st.integers(0, 8))
def test_values_like_scores(values: list[float], digits: int) -> None:
    check(values, digits)


@given(st.integers(-(10**9), 10**9), st.integers(-3, 3), DIGITS)
def test_values_beside_ties(half: int, steps: int, digits: int) -> None:
    """The doubles around k + 1/2 units of the last digit kept."""
    value = (half + 0.5) / 10.0**digits
    for _ in range(abs(steps)):
        value = math.nextafter(value, math.copysign(math.inf, steps))
    check([value], digits)


@given(st.integers(-(10**6), 10**6), st.integers(1, 20), DIGITS)
def test_exact_ties_go_to_even(odd: int, power: int, digits: int) -> None:
    """Odd multiples of a power of 1/2: the only values that can lie exactly between two."""
    check([(2 * odd + 1) / 2**power], digits)


@pytest.mark.parametrize(
    ("value", "digits", "expected"),
    [
        *[(0.5, 0, 0.0), (1.5, 0, 2.0), (-0.5, 0, -0.0), (0.125, 2, 0.12), (0.375, 2, 0.38)],
        *[(1 / 128, 6, 0.007812), (3 / 128, 6, 0.023438), (2.675, 2, 2.67), (-0.0, 5, -0.0)],
        *[(1e300, 5, 1e300), (5e-324, 15, 0.0)],
    ],
)
def test_known_values(value: float, digits: int, expected: float) -> None:
    (got,) = _native.round_half_even(np.array([value]), digits).tolist()
    assert bits(got) == bits(expected) == bits(round(value, digits))


def test_what_is_no_number_stays() -> None:
    got = _native.round_half_even(np.array([math.inf, -math.inf, math.nan]), 5).tolist()
    assert got[:2] == [math.inf, -math.inf]
    assert math.isnan(got[2])
