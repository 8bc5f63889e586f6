"""The interface of engines: tasks in, answers or failures out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeGuard

from pfgen_rs.generate.engines.usage import Usage
from pfgen_rs.generate.parameters import Parameters
from pfgen_rs.generate.prompts import Task

__all__ = [
    "ABILITIES",
    "Answered",
    "Details",
    "Engine",
    "Failed",
    "Outcome",
    "Parameters",
    "RollingEngine",
    "abilities",
    "is_rolling",
]

ABILITIES = frozenset({"completion", "chat", "history", "seed", "logprobs", "usage"})
"""What engines may be able to do: see `abilities`."""
_BASIC = frozenset({"completion", "chat"})


@dataclass(frozen=True, slots=True)
class Details:
    """What an engine knows of an answer besides its text.

    `tokens`: the generated tokens as OpenAI's chat API sends them: mappings with `token`, `logprob`, `bytes`
    (a list of integers; only where known) and `top_logprobs`, a list of such mappings without lists. `None`
    if there are none, for example because the server ignores the parameter. Log probabilities are passed on
    as they came and may be `None`, text or not finite. `finish_reason`: as OpenAI has it, such as `stop` or
    `length`. `reasoning`: the model's thoughts, where they are sent apart from the answer. `usage`: the
    tokens of this answer alone. `left_out`: parameters that were not sent because the server refuses them.
    `model` and `system_fingerprint`: who answered, according to the server.
    """

    tokens: list[dict[str, Any]] | None = None
    finish_reason: str | None = None
    reasoning: str | None = None
    usage: Usage | None = None
    left_out: tuple[str, ...] = ()
    model: str | None = None
    system_fingerprint: str | None = None


class Answered(NamedTuple):
    """The text generated for a task, unmodified; `details`: what else is known of it."""

    task: Task
    text: str
    details: Details | None = None


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
"""What became of a task."""


class Engine(Protocol):
    """Generates answers.

    `name` is its name in `config.json`. `close` releases its resources (connections, processes, a model).
    An engine that counts tokens also has an attribute `usage`: the `Usage` of all its requests so far. An
    engine may have an attribute `abilities`: what it can do (see the function `abilities`).
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


def abilities(engine: Engine | RollingEngine) -> frozenset[str]:
    """Returns what an engine can do, so that requests it cannot fulfil are rejected before they are sent.

    `completion` and `chat`: the modes; `history`: earlier turns of a chat (`Task.history`); `seed`: it passes
    on the tasks' seeds; `logprobs`: it reports log probabilities (`Details.tokens`); `usage`: it counts
    tokens. An engine that does not declare its abilities has `completion` and `chat`.
    """
    return frozenset(getattr(engine, "abilities", _BASIC))
