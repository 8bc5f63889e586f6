"""Calls with numbers that are none, and what they must give: for tables of tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pytest

from pfgen_rs import InputError, SettingsError

__all__ = [
    "BAD_LISTS",
    "LEVELS",
    "SEEDS",
    "Refused",
    "Rows",
    "check_list_is_refused",
    "check_row",
    "each",
    "of",
    "places",
    "setting",
]

Rows = Mapping[str, Sequence[tuple[Callable[[], Any], Any]]]
"""By function: calls, and their value or error."""
_NAN, _INF = math.nan, math.inf
LEVELS = [{"level": x} for x in (1.0, 0.0, _NAN, "0.95", None, 95)]
SEEDS = [{"seed": x} for x in (-1, _NAN, 1.5, "1", None)]


@dataclass(frozen=True)
class Refused:
    """An error whose message matches."""

    words: str
    kind: type[Exception] = InputError


def setting(words: str) -> Refused:
    """An error of a setting."""
    return Refused(words, SettingsError)


def of(function: Callable[..., Any], *arguments: Any, **settings: Any) -> Callable[[], Any]:
    """A call, of whatever types."""
    return partial(function, *arguments, **settings)


def each(
    changes: Iterable[Mapping[str, Any]],
    words: str,
    function: Callable[..., Any],
    *arguments: Any,
    **settings: Any,
) -> list[tuple[Callable[[], Any], Any]]:
    """A row for each of some settings, all of which are errors."""
    return [(of(function, *arguments, **settings, **each), setting(words)) for each in changes]


def places(rows: Rows) -> list[tuple[str, int]]:
    """What tests of these rows are parametrized with."""
    return [(name, i) for name, calls in rows.items() for i in range(len(calls))]


def check_row(row: tuple[Callable[[], Any], Any]) -> None:
    """Whether a call gives its value, or fails with its error."""
    call, expected = row
    if isinstance(expected, Refused):
        with pytest.raises(expected.kind, match=expected.words):
            call()
    else:
        assert call() == expected


# A list in place of each list of numbers: what its error says after the name of the list.
BAD_LISTS: dict[str, tuple[Any, str]] = {
    "NaN": ([0.1, _NAN, _NAN], r"\[1\] is nan: expected finite numbers"),
    "infinity": ([_INF, 0.1, 0.2], r"\[0\] is inf: expected finite numbers"),
    "minus infinity": ([0.1, 0.2, -_INF], r"\[2\] is -inf: expected finite numbers"),
    "array": (np.array([0.1, 0.2, _NAN]), r"\[2\] is nan: expected finite numbers"),
    "null": (pl.Series([0.1, 0.2, None]), r"\[2\] is nan: expected finite numbers"),
    "None": ([0.1, None, 0.3], r"\[1\] is None: expected finite numbers"),
    "text": (["0.1", 0.2, 0.3], r"\[0\] is '0.1': expected finite numbers"),
    "complex": ([0.1, 0.2, 1j], r"\[2\] is 1j: expected finite numbers"),
    "dates": (np.array(["2024-01-01"], dtype="datetime64[D]"), r"\[0\] is datetime.date"),
    "rows": ([[0.1, 0.2, 0.3]], r" has shape \(1, 3\): expected a list of numbers"),
    "ragged rows": ([[0.1], [0.2, 0.3]], " has rows of different lengths"),
    "a number": (0.5, r" has shape \(\): expected a list of numbers"),
    "a generator": ((x for x in (0.1, 0.2)), " is <generator"),
    "too many digits": ([10**400, 1, 2], " has a number too large for a float"),
}


def check_list_is_refused(name: str, call: Callable[[Any], Any], kind: str) -> None:
    """Whether a function names a list, and the first value that is none."""
    bad, words = BAD_LISTS[kind]
    with pytest.raises(InputError) as error:
        call(bad)
    assert error.match(f"^{name}{words}")
    assert len(str(error.value)) < 160
