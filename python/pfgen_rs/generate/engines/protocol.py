"""The interface of engines: tasks in, answers or failures out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from pfgen_rs.generate.prompts import Task

__all__ = ["Answered", "Engine", "Failed", "Outcome", "Parameters"]


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
    """A task that failed, and the reason: one human-readable line without secrets."""

    task: Task
    reason: str


Outcome = Answered | Failed


class Engine(Protocol):
    """Generates answers.

    `name` is its name in `config.json`. `close` releases its resources (connections, processes, a model).
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
