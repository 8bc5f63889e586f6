"""Where functions run: here, in an executor's processes, or wherever an engine of one's own runs them.

The results of tasks are handles that other tasks take as arguments, so they need not pass through the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, Future
from typing import Any, Protocol

__all__ = ["ExecutorTasks", "InProcess", "Tasks", "merge_in_tree"]

FAN = 8
"""Parts that are merged at a time."""


class Tasks(Protocol):
    """An engine. Functions are importable, and do the same when a task is repeated.

    A handle is passed as an argument by itself, not within a list, and stands for its value there.
    """

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Start a call and return the handle of its result."""

    def run_parts(self, parts: int, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Start a call that returns a tuple of `parts` values, and return the handle of each."""

    def results(self, handles: Iterable[Any]) -> list[Any]:
        """Wait for values, in order; raises what a function raised."""


class InProcess:
    """Calls functions here, one after the other; handles are the values."""

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function."""
        return function(*arguments)

    def run_parts(self, parts: int, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Call a function that returns a tuple."""
        del parts
        return list(function(*arguments))

    def results(self, handles: Iterable[Any]) -> list[Any]:
        """Return the values."""
        return list(handles)


class ExecutorTasks:
    """Calls functions in an executor of `concurrent.futures`; all values pass through this process."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Submit a call; waits for the arguments that are handles."""
        return self._executor.submit(function, *map(_task_value, arguments))

    def run_parts(self, parts: int, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Submit a call that returns a tuple."""
        whole = self.run(function, *arguments)
        return [_PartOfTask(whole, part) for part in range(parts)]

    def results(self, handles: Iterable[Any]) -> list[Any]:
        """Wait for values."""
        return [_task_value(each) for each in handles]


class _PartOfTask:
    def __init__(self, whole: Future[Any], part: int) -> None:
        self._whole, self._part = whole, part

    def result(self) -> Any:
        return self._whole.result()[self._part]


def _task_value(argument: Any) -> Any:
    return argument.result() if isinstance(argument, Future | _PartOfTask) else argument


def merge_in_tree(
    tasks: Tasks, merge: Callable[..., Any], handles: Sequence[Any], *first: Any
) -> Any:
    """Returns the handle of all parts (at least one) merged by `merge(*first, *parts)`.

    Each part is merged once: counts are added, and adding one twice would count it twice. An engine that
    repeats a task repeats it with the same parts, which nothing changes.
    """
    level = list(handles)
    while len(level) > 1:
        groups = [level[at : at + FAN] for at in range(0, len(level), FAN)]
        level = [
            tasks.run(merge, *first, *group) if len(group) > 1 else group[0] for group in groups
        ]
    return level[0]
