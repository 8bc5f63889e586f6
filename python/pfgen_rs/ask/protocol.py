"""The interface of engines: tasks in, answers or failures out."""

import logging
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import add, attrgetter, sub
from typing import Any, NamedTuple, Protocol, Self, TypeVar

from pfgen_rs.io.cleaning import Mode

LOG = logging.getLogger("pfgen_rs.generate")
SEEDS = 1 << 31


@dataclass(frozen=True, slots=True)
class Parameters:
    """Sampling parameters. `None` leaves a value to the engine.

    `logprobs`: the number of most likely tokens to report for each position of an answer, with their log
    probabilities (`None`: no log probabilities); see `Details.tokens`.
    """

    max_tokens: int | None = 300
    temperature: float | None = 1.0
    top_p: float | None = 0.98
    stop: tuple[str, ...] = ("Q:",)
    logprobs: int | None = None

    @property
    def given(self) -> dict[str, Any]:
        """Those that are not left to the engine, by name."""
        named = {
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
            "top_p": self.top_p,
            "stop": list(self.stop) or None,
            "logprobs": self.logprobs,
        }
        return {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Task:
    """One answer to be generated.

    `prompt` is the whole prompt or, in mode `chat`, the user message that follows the message `system`.
    `seed`: for sampling, from 0 to 2^31 - 1. `trial` counts from 1. `history`: earlier turns of a chat, as
    pairs of a role (`user`, `assistant`) and a text; mode `completion` has none. `parameters`: sampling
    parameters of this task alone, instead of those for all tasks (`None`: no difference). Engines sample all
    tasks of a call alike, so their callers have to group tasks by parameters; see `by_parameters`. `name`:
    names the task in its folder, in later calls, too; empty if it has none.
    """

    question: str
    trial: int
    mode: Mode
    prompt: str
    seed: int
    system: str | None = None
    history: tuple[tuple[str, str], ...] = ()
    parameters: Parameters | None = None
    name: str = field(default="", compare=False)

    @property
    def messages(self) -> list[dict[str, str]]:
        """The task as chat messages: the system message, if any, the earlier turns, and the user message."""
        turns = [("system", self.system), *self.history, ("user", self.prompt)]
        return [{"role": role, "content": text} for role, text in turns if text is not None]


def by_parameters(tasks: Iterable[Task]) -> dict[Parameters | None, list[int]]:
    """Returns the places of tasks by their own parameters, in the order of the tasks."""
    places: dict[Parameters | None, list[int]] = {}
    for place, task in enumerate(tasks):
        places.setdefault(task.parameters, []).append(place)
    return places


@dataclass(frozen=True, slots=True)
class Usage:
    """Requests and their tokens.

    `requests`: requests sent, including retries. `reported`: how many of them were answered with numbers of
    tokens; the others count as 0 tokens. `cached_tokens` are part of `prompt_tokens`, and `reasoning_tokens`
    of `completion_tokens`.
    """

    requests: int = 0
    reported: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: Self) -> Self:
        return type(self)(*map(add, _counts(self), _counts(other)))

    def __sub__(self, other: Self) -> Self:
        return type(self)(*map(sub, _counts(self), _counts(other)))

    def __bool__(self) -> bool:
        """Whether anything was counted."""
        return any(_counts(self))


# `astuple` copies, which takes longer than all else that is counted of a request.
_counts = attrgetter(*Usage.__slots__)


class Counting:
    """An engine that counts the tokens of its requests, in whichever thread."""

    usage = Usage()
    """The requests so far and their tokens."""
    _lock = threading.Lock()

    def count(self, usage: Usage) -> None:
        """Add to the usage."""
        with self._lock:
            self.usage += usage


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
    `model` and `system_fingerprint`: who answered, according to the server. `seconds`: how long
    the answered request took. `batch`: the batch in which it was asked, if it was. `sent`: the options that
    were sent with the prompt, by their names in `Parameters`, and the seed (`None`: the engine does not say).
    `attempts`: number of requests sent for this answer, those that failed included.
    """

    tokens: list[dict[str, Any]] | None = None
    finish_reason: str | None = None
    reasoning: str | None = None
    usage: Usage | None = None
    left_out: tuple[str, ...] = ()
    model: str | None = None
    system_fingerprint: str | None = None
    seconds: float | None = field(default=None, compare=False)
    batch: str | None = None
    sent: Mapping[str, Any] | None = field(default=None, compare=False)
    attempts: int | None = field(default=None, compare=False)


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

    An engine whose class has `rolling = True` takes tasks as it has room for them, so that no task waits for
    a whole batch: its `generate` receives a single iterator over tasks, which is lazy: a task is only chosen
    when it is taken. `None` in place of a task means that there is none until the engine has yielded another
    outcome; this happens only while outcomes are due. The engine must take tasks only in the thread that
    iterates over its outcomes. Lists of tasks work, too. The iterator over outcomes may have an attribute
    `ready`: how many more it yields without waiting. What is stored of these is written at once.

    An engine whose class has `collects = True` takes all tasks at once, as one list, in which each task has
    its own parameters. Its failures end no call, since all of it has been asked when they are known. An
    engine may have a method `prepare(path)`, which is called with the path of the journal before anything is
    asked.
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


def is_rolling(engine: Engine) -> bool:
    """Whether the engine takes tasks as it has room for them."""
    return bool(getattr(engine, "rolling", False))


def collects(engine: Engine) -> bool:
    """Whether the engine takes all tasks at once."""
    return bool(getattr(engine, "collects", False))


def abilities(engine: Engine) -> frozenset[str]:
    """Returns what an engine can do, so that requests it cannot fulfil are rejected before they are sent.

    `completion` and `chat`: the modes; `history`: earlier turns of a chat (`Task.history`); `seed`: it passes
    on the tasks' seeds; `logprobs`: it reports log probabilities (`Details.tokens`); `usage`: it counts
    tokens. An engine that does not declare its abilities has `completion` and `chat`.
    """
    return frozenset(getattr(engine, "abilities", _BASIC))


T = TypeVar("T")


def available(items: Iterator[T | None], most: int | None = None) -> list[T]:
    """Take the items that are available now: up to the next `None` or the end, and at most `most`."""
    found: list[T] = []
    for item in islice(items, most):
        if item is None:
            break
        found.append(item)
    return found
