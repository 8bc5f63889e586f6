"""Checks of arguments, with messages that name them."""

import operator
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, TypeVar

from pfgen_rs.ask.protocol import Parameters, Task
from pfgen_rs.errors import InputError, SettingsError

Function = TypeVar("Function", bound=Callable[..., Any])


def whole(value: Any, what: str) -> int:
    """Convert an integer of any library, such as a GPU scalar; raises `InputError` for other values."""
    try:
        number = int(value)
        if number >= 0 and bool(number == value):
            return number
    except (TypeError, ValueError, OverflowError, RuntimeError):
        pass
    raise InputError(f"{what} must be an integer of at least 0, not {value!r:.60}")


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
    if budget is not None:
        check_seconds(budget, "budget")


def check_seconds(value: float, what: str) -> None:
    """Raise `SettingsError` unless this is a positive number of seconds."""
    if not (isinstance(value, int | float) and 0 < value < float("inf")):
        raise SettingsError(f"`{what}` must be a positive number of seconds, not {value!r:.60}")


def check_who_answers(
    generate: Callable[..., Any] | None,
    engine: Any,
    parameters: Parameters | None,
    budget: float | None,
) -> None:
    """Raise `SettingsError` unless there is either a function or an engine, with fitting settings."""
    if (generate is None) == (engine is None):
        raise SettingsError("pass either a function `generate` or an `engine`, which answers")
    if generate is not None:
        function(generate, "generate")
        for name, value in (("parameters", parameters), ("budget", budget)):
            if value is not None:
                raise SettingsError(f"`{name}` can only be combined with `engine`")
    elif isinstance(engine, type) or not callable(getattr(engine, "generate", None)):
        raise SettingsError(f"`engine` must be an engine of pfgen_rs.ask, not {engine!r:.60}")
    check_budget(budget)


def check_texts(texts: Any, tasks: Sequence[Task]) -> tuple[str, ...]:
    """Returns the texts from `generate`; raises `InputError` unless there is one for each task."""
    if isinstance(texts, str | Mapping | Set) or not hasattr(texts, "__getitem__"):
        hint = " (missing return statement?)" if texts is None else ""
        given = "a single string" if isinstance(texts, str) else type(texts).__name__
        raise InputError(f"`generate` must return a list of {len(tasks)} texts, not {given}{hint}")
    if len(texts) != len(tasks):
        raise InputError(f"`generate` returned {len(texts)} texts for {len(tasks)} tasks")
    for task, text in zip(tasks, texts, strict=True):
        if not isinstance(text, str):
            raise InputError(
                f"`generate` returned {type(text).__name__}, not a string", question=task.question
            )
    return tuple(texts)


def check_choice(value: str, what: str, choices: Sequence[str]) -> None:
    """Raise `SettingsError` for unknown choices."""
    if value not in choices:
        raise SettingsError(f"`{what}` must be one of {', '.join(choices)}, not {value!r:.60}")
