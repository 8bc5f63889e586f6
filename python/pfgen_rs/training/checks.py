"""What users of a `StepEvaluator` hand over, checked before anything is done with it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, TypeVar

from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.generate.prompts import Task

__all__ = ["check_texts", "count", "function", "functions", "texts_of", "whole"]

Function = TypeVar("Function", bound=Callable[..., Any])


def whole(value: Any, what: str) -> int:
    """A whole number of any library, such as a scalar on a GPU; raises `InputError` for other things."""
    try:
        number = value if isinstance(value, int) else _whole(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        number = None
    if number is None or number < 0:
        raise InputError(f"{what} must be an integer of at least 0, not {value!r:.60}")
    return int(number)


def _whole(value: Any) -> int | None:
    try:
        return operator.index(value)
    except TypeError:
        number = int(value)
        return number if bool(number == value) else None


def count(value: Any, what: str) -> int:
    """A whole number from 1; raises `SettingsError`."""
    try:
        number = operator.index(value)
    except TypeError:
        number = 0
    if number < 1:
        raise SettingsError(f"`{what}` must be an integer of at least 1, not {value!r:.60}")
    return number


def function(value: Function, what: str) -> Function:
    """Something that can be called; raises `SettingsError`."""
    if not callable(value):
        raise SettingsError(f"`{what}` must be a function, not {type(value).__name__}")
    return value


def functions(value: Function | Sequence[Function], what: str) -> tuple[Function, ...]:
    """Functions, or a single one; raises `SettingsError`."""
    if callable(value):
        return (value,)
    if not isinstance(value, Sequence) or not all(map(callable, value)):
        raise SettingsError(
            f"`{what}` must be callables taking metrics and a step, not {value!r:.60}"
        )
    return tuple(value)


def texts_of(value: Sequence[str], what: str) -> tuple[str, ...]:
    """Several texts; raises `SettingsError`, also for one alone, which is a list of letters."""
    several = isinstance(value, Sequence) and not isinstance(value, str)
    if not several or not all(isinstance(text, str) for text in value):
        raise SettingsError(f"`{what}` must be a list of texts, not {value!r:.60}")
    return tuple(value)


def check_texts(texts: Any, tasks: Sequence[Task]) -> tuple[str, ...]:
    """What `generate` gave, which must be a text for each task; raises `InputError`."""
    if not _is_list(texts):
        hint = ": is a `return` missing?" if texts is None else ""
        given = "one text" if isinstance(texts, str) else type(texts).__name__
        raise InputError(f"`generate` must return a list of {len(tasks)} texts, not {given}{hint}")
    if len(texts) != len(tasks):
        raise InputError(f"`generate` returned {len(texts)} texts for {len(tasks)} tasks")
    for task, text in zip(tasks, texts, strict=True):
        if not isinstance(text, str):
            raise InputError(
                f"`generate` returned {type(text).__name__}, not a string", question=task.question
            )
    return tuple(texts)


def _is_list(texts: Any) -> bool:
    """Whether it has a length and an order; arrays and columns of tables have, too."""
    if isinstance(texts, str | bytes | Mapping | Set):
        return False
    return hasattr(texts, "__len__") and hasattr(texts, "__getitem__")
