"""Checking arguments and results passed to a `StepEvaluator`."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, TypeVar

from pfgen_rs.ask.protocol import Parameters, Task
from pfgen_rs.errors import InputError, SettingsError

__all__ = [
    "check_budget",
    "check_texts",
    "check_who_answers",
    "checked_texts",
    "count",
    "function",
    "functions",
    "whole",
]

Function = TypeVar("Function", bound=Callable[..., Any])


def whole(value: Any, what: str) -> int:
    """Convert an integer of any library, such as a GPU scalar; raises `InputError` for other values."""
    try:
        number = value if isinstance(value, int) else _checked_whole_number(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        number = None
    if number is None or number < 0:
        raise InputError(f"{what} must be an integer of at least 0, not {value!r:.60}")
    return int(number)


def _checked_whole_number(value: Any) -> int | None:
    try:
        return operator.index(value)
    except TypeError:
        number = int(value)
        return number if bool(number == value) else None


def count(value: Any, what: str) -> int:
    """Returns an integer of at least 1; raises `SettingsError` for other values."""
    try:
        number = operator.index(value)
    except TypeError:
        number = 0
    if number < 1:
        raise SettingsError(f"`{what}` must be an integer of at least 1, not {value!r:.60}")
    return number


def function(value: Function, what: str) -> Function:
    """Returns a callable; raises `SettingsError` for other values."""
    if not callable(value):
        raise SettingsError(f"`{what}` must be a function, not {type(value).__name__}")
    return value


def functions(value: Function | Sequence[Function], what: str) -> tuple[Function, ...]:
    """Returns one or several callables as a tuple; raises `SettingsError` for other values."""
    if callable(value):
        return (value,)
    if not isinstance(value, Sequence) or not all(map(callable, value)):
        raise SettingsError(
            f"`{what}` must be one or more functions of metrics and a step, not {value!r:.60}"
        )
    return tuple(value)


def checked_texts(value: Sequence[str], what: str) -> tuple[str, ...]:
    """Returns a list of texts as a tuple; raises `SettingsError` for other values, including one string."""
    several = isinstance(value, Sequence) and not isinstance(value, str)
    if not several or not all(isinstance(text, str) for text in value):
        raise SettingsError(f"`{what}` must be a list of texts, not {value!r:.60}")
    return tuple(value)


def check_budget(budget: float | None) -> None:
    """Raise `SettingsError` unless a time budget is a positive number of seconds, or `None`."""
    if budget is None:
        return
    if not isinstance(budget, int | float) or not 0 < budget < float("inf"):
        raise SettingsError(f"`budget` must be a positive number of seconds, not {budget!r:.60}")


def check_who_answers(
    generate: Callable[..., Any] | None,
    engine: Any,
    parameters: Parameters | None,
    budget: float | None,
) -> None:
    """Raise `SettingsError` unless there is either a function or an engine, with fitting settings."""
    if engine is not None:
        if generate is not None:
            raise SettingsError("pass either `generate` or `engine`, not both")
        if isinstance(engine, type) or not callable(getattr(engine, "generate", None)):
            raise SettingsError(f"`engine` must be an engine of pfgen_rs.ask, not {engine!r:.60}")
        return
    if generate is None:
        raise SettingsError("cannot generate answers: pass a function `generate` or an `engine`")
    function(generate, "generate")
    if parameters is not None:
        raise SettingsError("`parameters` can only be combined with `engine`")
    if budget is not None and not _takes_checked_budget(generate):
        raise SettingsError(
            "`budget` requires an engine, or a function `generate` with an argument `budget` that returns "
            "`None` for tasks it has no time for"
        )


def _takes_checked_budget(generate: Callable[..., Any]) -> bool:
    """Whether a function can be called with the argument `budget`."""
    try:
        parameters = inspect.signature(generate).parameters
    except (TypeError, ValueError):  # builtin functions may have no signature
        return False
    return "budget" in parameters or any(
        parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()
    )


def check_texts(
    texts: Any, tasks: Sequence[Task], *, partial: bool = False
) -> tuple[str | None, ...]:
    """Returns the texts from `generate`; raises `InputError` unless there is one for each task.

    `partial`: whether `None` is accepted for some tasks.
    """
    if not _is_list_of_texts(texts):
        hint = " (missing return statement?)" if texts is None else ""
        given = "a single string" if isinstance(texts, str) else type(texts).__name__
        raise InputError(f"`generate` must return a list of {len(tasks)} texts, not {given}{hint}")
    if len(texts) != len(tasks):
        raise InputError(f"`generate` returned {len(texts)} texts for {len(tasks)} tasks")
    for task, text in zip(tasks, texts, strict=True):
        if not isinstance(text, str) and not (partial and text is None):
            raise InputError(
                f"`generate` returned {type(text).__name__}, not a string", question=task.question
            )
    found = tuple(texts)
    if all(text is None for text in found):
        raise InputError(f"`generate` returned no text for any of {len(tasks)} tasks")
    return found


def _is_list_of_texts(texts: Any) -> bool:
    """Whether a value has a length and an order, as lists, arrays and columns of tables do."""
    if isinstance(texts, str | bytes | Mapping | Set):
        return False
    return hasattr(texts, "__len__") and hasattr(texts, "__getitem__")
