"""What every engine does: tasks in, answers or failures out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from pfgen_rs.generate.prompts import Task

__all__ = ["Answered", "Engine", "Failed", "Outcome", "Parameters"]


@dataclass(frozen=True, slots=True)
class Parameters:
    """How to sample. `None` leaves a value to the engine, and nothing is sent."""

    max_tokens: int | None = 300
    temperature: float | None = 1.0
    top_p: float | None = 0.98
    stop: tuple[str, ...] = ("Q:",)


class Answered(NamedTuple):
    """The text that was generated for a task, as the engine gave it."""

    task: Task
    text: str


class Failed(NamedTuple):
    """A task without an answer, and why: a line for people, without secrets."""

    task: Task
    reason: str


Outcome = Answered | Failed


class Engine(Protocol):
    """Generates answers.

    `name` is what `config.json` calls it. `close` ends what it holds (connections, processes, a model).
    """

    name: str

    def generate(self, tasks: Sequence[Task], parameters: Parameters) -> Iterator[Outcome]:
        """One outcome for each task, in any order, each as soon as it is there.

        A task that fails does not stop the others. Closing the iterator stops the work; one that ends early
        leaves the rest open, and the run ends. Raises `GenerationError` where nothing can be generated at
        all: no such model, no key, no server.
        """

    def close(self) -> None:
        """Give back what is held; may be called twice."""
