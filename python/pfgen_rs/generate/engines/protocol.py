"""The interface of engines: tasks in, answers or failures out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeGuard

from pfgen_rs.generate.prompts import Task

__all__ = [
    "Answered",
    "Engine",
    "Failed",
    "Outcome",
    "Parameters",
    "RollingEngine",
    "is_rolling",
]


@dataclass(frozen=True, slots=True)
class Parameters:
    """Sampling parameters. `None` leaves a value to the engine."""

    max_tokens: int | None = 300
    temperature: float | None = 1.0
    top_p: float | None = 0.98
    stop: tuple[str, ...] = ("Q:",)


class Answered(NamedTuple):
    """The text generated for a task, unmodified."""

    task: Task
    text: str


class Failed(NamedTuple):
    """A task that failed, and the reason: one human-readable line without secrets.

    `cure`: what to do if other tasks fail for the same reason. `individual`: whether the reason probably lies
    in this task, such as too long a prompt, so that others may still be answered.
    """

    task: Task
    reason: str
    cure: str = ""
    individual: bool = False


Outcome = Answered | Failed


class Engine(Protocol):
    """Generates answers.

    `name` is its name in `config.json`. `close` releases its resources (connections, processes, a model).
    An engine that counts tokens also has an attribute `usage`: the `Usage` of all its requests so far.
    """

    name: str

    def generate(self, tasks: Sequence[Task], parameters: Parameters) -> Iterator[Outcome]:
        """Yield one outcome per task, in any order, each as soon as it is available.

        A failed task does not stop the others. Closing the iterator stops the work; if the iterator ends
        early, the remaining tasks stay open and the run ends. Raises `GenerationError` if nothing can be
        generated, for example because the model, the key or the server is missing.
        """

    def close(self) -> None:
        """Release resources. May be called twice."""


class RollingEngine(Protocol):
    """An engine that takes tasks as it has room for them, so that no task waits for a whole batch.

    Like `Engine`, with `rolling = True` as an attribute of the class. `generate` receives a single iterator
    over tasks, which is lazy: a task is only chosen when it is taken. `None` in place of a task means that
    there is none until the engine has yielded another outcome; this happens only while outcomes are due. The
    engine must take tasks only in the thread that iterates over its outcomes. Lists of tasks work, too.
    """

    name: str
    rolling: bool

    def generate(self, tasks: Iterable[Task | None], parameters: Parameters) -> Iterator[Outcome]:
        """Yield one outcome per task, as in `Engine`."""

    def close(self) -> None:
        """Release resources. May be called twice."""


def is_rolling(engine: Engine | RollingEngine) -> TypeGuard[RollingEngine]:
    """Whether the engine takes tasks as it has room for them."""
    return bool(getattr(engine, "rolling", False))
