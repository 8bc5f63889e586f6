"""The native rounding of columns against Python's own `round`."""

import math
import struct
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfgen_rs import _native

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
        (0.5, 0, 0.0),
        (1.5, 0, 2.0),
        (-0.5, 0, -0.0),
        (0.125, 2, 0.12),
        (0.375, 2, 0.38),
        (1 / 128, 6, 0.007812),
        (3 / 128, 6, 0.023438),
        (2.675, 2, 2.67),
        (-0.0, 5, -0.0),
        (1e300, 5, 1e300),
        (5e-324, 15, 0.0),
    ],
)
def test_known_values(value: float, digits: int, expected: float) -> None:
    (got,) = _native.round_half_even(np.array([value]), digits).tolist()
    assert bits(got) == bits(expected) == bits(round(value, digits))


def test_what_is_no_number_stays() -> None:
    got = _native.round_half_even(np.array([math.inf, -math.inf, math.nan]), 5).tolist()
    assert got[:2] == [math.inf, -math.inf]
    assert math.isnan(got[2])


def test_nothing() -> None:
    assert _native.round_half_even(np.array([], dtype=np.float64), 5).shape == (0,)
