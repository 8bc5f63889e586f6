"""What can go wrong in an evaluation: invalid arguments, steps that fail, errors in the background."""

import logging
import operator
from collections import deque
from collections.abc import Callable, Mapping, Sequence, Set
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Literal, TypeVar, get_args

from pfgen_rs.ask.protocol import Parameters, Task
from pfgen_rs.errors import InputError, PfgenError, SettingsError
from pfgen_rs.io.ahead import THREADS
from pfgen_rs.io.text import shortened, visible

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
    if budget is not None and not (isinstance(budget, int | float) and 0 < budget < float("inf")):
        raise SettingsError(f"`budget` must be a positive number of seconds, not {budget!r:.60}")


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


# Steps that could not be evaluated, when training must go on nevertheless.

OnError = Literal["raise", "warn"]
_LOG = logging.getLogger("pfgen_rs")
_LONGEST = 500  # characters of a reason
_NAMED = 10  # steps


class CollectiveError(PfgenError):
    """A rank failed while others wait for it, so that training cannot go on."""


class Skipped(dict[int, str]):
    """Why steps were not evaluated, by step; with a warning for each in the log `pfgen_rs`."""

    def __init__(self) -> None:
        super().__init__()
        self._reported = 0

    def add(self, step: int, error: BaseException | str) -> None:
        """Record and log that a step is not evaluated."""
        reason = error if isinstance(error, str) else reason_of(error)
        if step not in self:
            _LOG.warning("step %d is not evaluated: %s", step, reason)
        self[step] = reason
        if isinstance(error, BaseException):
            _LOG.debug("step %d is not evaluated", step, exc_info=error)

    def drop_from(self, first: int) -> None:
        """Forget this step and later ones after training went back."""
        for step in [step for step in self if step >= first]:
            del self[step]

    def report(self) -> None:
        """Log how many steps were not evaluated, unless already done."""
        if len(self) != self._reported:
            self._reported = len(self)
            named = ", ".join(map(str, sorted(self)[:_NAMED]))
            more = ", …" if len(self) > _NAMED else ""
            many = "1 step was" if len(self) == 1 else f"{len(self)} steps were"
            _LOG.warning("%s not evaluated: %s%s", many, named, more)


def reason_of(error: BaseException) -> str:
    """Returns an error as one line that is safe to show."""
    kind = "" if isinstance(error, PfgenError) else f"{type(error).__name__}: "
    return shortened(visible(f"{kind}{error}"), _LONGEST)


def check_on_error(value: str) -> None:
    """Raise `SettingsError` for unknown choices."""
    if value not in get_args(OnError):
        choices = ", ".join(get_args(OnError))
        raise SettingsError(f"`on_error` must be one of {choices}, not {value!r:.60}")


# A background thread for work that training does not need to wait for.

_BEHIND = 4  # pieces of work that may be pending
# With polars' SIGINT handler installed, a wait without a timeout could not be interrupted.
_TICK = 0.05


class Background:
    """Runs pieces of work in order in one thread, with at most four of them pending.

    An error is logged immediately, and raised as a `PfgenError` by the next `check`, `wait` or `close`; the
    following pieces run regardless.
    """

    def __init__(self) -> None:
        self.closed = False
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=THREADS)
        self._pending: deque[Future[None]] = deque()
        self._errors: deque[BaseException] = deque()

    def submit(self, what: str, work: Callable[[], object]) -> None:
        """Submit a piece of work, called `what` in errors, blocking until there is room; never raises."""
        self._settle(_BEHIND - 1)
        self._pending.append(self._pool.submit(_run, what, work))

    def check(self) -> None:
        """Raise the earliest pending error, if any; one per call."""
        self._settle(len(self._pending))
        if self._errors:
            raise self._errors.popleft()

    def wait(self) -> None:
        """Wait until all work is done; raises the earliest pending error."""
        self._settle(0)
        self.check()

    def close(self) -> None:
        """Finish all work and end the thread; raises the earliest pending error. May be called twice."""
        self.closed = True
        self._settle(0)
        self._pool.shutdown(wait=False)
        self.check()

    def _settle(self, most: int) -> None:
        """Wait until at most `most` pieces are pending, and collect the errors of finished ones."""
        while self._pending and (len(self._pending) > most or self._pending[0].done()):
            wait([self._pending[0]], _TICK)
            if self._pending[0].done():
                error = self._pending.popleft().exception()
                if error is not None:
                    self._errors.append(error)


def _run(what: str, work: Callable[[], object]) -> None:
    try:
        work()
    except PfgenError as error:
        _LOG.error("%s: %s", what, error)
        raise
    except Exception as error:
        _LOG.exception("%s", what)
        raise PfgenError(f"{what}: {type(error).__name__}: {error}") from error
