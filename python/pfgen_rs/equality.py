"""Equality of results that hold tables, whose own `==` answers element by element."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, NoReturn, cast


class EqualByFields:
    """A data class (with `eq=False`): its objects are equal if all fields are, tables and arrays too."""

    def __eq__(self, other: object) -> bool:
        """Whether the other one is of the same class and has the same contents."""
        if type(other) is not type(self):
            return NotImplemented
        mine = fields(cast("Any", self))
        return all(_is_same(getattr(self, each.name), getattr(other, each.name)) for each in mine)

    def __hash__(self) -> NoReturn:
        """Refuse: the contents of tables have no hash."""
        raise TypeError(
            f"{type(self).__name__} objects have tables, and so no hash: use what names them, "
            "such as a signature, as key"
        )


def _is_same(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(_is_same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(_is_same, one, other))
    kind = type(one).__module__.partition(".")[0]
    if kind == "polars":
        return bool(one.equals(other))
    if kind == "numpy":
        from numpy import array_equal

        return bool(array_equal(one, other, equal_nan=one.dtype.kind == "f"))
    return bool(one == other or (one != one and other != other))
