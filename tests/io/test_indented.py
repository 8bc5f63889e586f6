"""Indented JSON is what `json` writes, byte for byte."""

from __future__ import annotations

import datetime
import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfgen_rs.io.json_lines import indented

ATOMS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.datetimes()
    | st.dates()
)
KEYS = st.text() | st.integers() | st.booleans() | st.none() | st.floats()
VALUES = st.recursive(
    ATOMS,
    lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner) | st.tuples(inner, inner),
    max_leaves=20,
)


def expected(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=2, default=str).encode()


@given(VALUES)
def test_it_is_what_json_writes(value: Any) -> None:
    assert indented(value) == expected(value)


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        {"a": {}, "b": [], "c": [[], {}]},
        {"numbers": [math.nan, math.inf, -math.inf, -0.0, 1e22, 5e-324, 10**30]},
        {'a\nb\u2028\x00"\\': 'a\nb\u2028\x00"\\'},
        {True: [(1, {"a": (2,)})], 1.5: {None: datetime.time(1)}},
    ],
)
def test_corners(value: Any) -> None:
    assert indented(value) == expected(value)


def test_a_key_that_json_cannot_have_is_refused_as_there() -> None:
    for write in (expected, indented):
        with pytest.raises(TypeError, match="keys must be"):
            write({(1, 2): 3})


def test_values_nested_as_deeply_as_json_can() -> None:
    value: Any = 1.5
    for _ in range(300):
        value = [{"a": value}]
    assert indented(value) == expected(value)


@pytest.mark.parametrize("value", ["\ud800", {"\ud800": 1}, [("\ud800",)]])
def test_a_lone_surrogate_is_refused_as_in_encoding(value: Any) -> None:
    with pytest.raises(UnicodeEncodeError):
        indented(value)


def test_numbers_are_written_as_by_python() -> None:
    random = np.random.default_rng(1)
    shares = random.integers(-(10**7), 10**7, 100_000)
    numbers = [
        *(shares / 1e5).tolist(),
        *np.nextafter(shares / 1e5, random.choice([-1e9, 1e9], len(shares))).tolist(),
        *(shares / 10 ** random.integers(1, 25, len(shares))).tolist(),
        *(random.integers(1, 10**18, 100_000) / 10.0 ** random.integers(-20, 30, 100_000)).tolist(),
        *random.integers(-(2**62), 2**62, 200_000).view(np.float64).tolist(),
        *(2.0 ** np.arange(-1074, 1024)).tolist(),
    ]
    assert indented(numbers) == expected(numbers)
