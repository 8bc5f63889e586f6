"""What runs beside training: a thread for scores, an engine with a time budget; and steps that fail."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass

from pfgen_rs.ask import loop, protocol
from pfgen_rs.errors import GenerationError, PfgenError
from pfgen_rs.io import ahead, text

_TICK = 0.2  # seconds until a cancellation is noticed
LOG = logging.getLogger("pfgen_rs")
_LONGEST = 500  # characters of a reason
_NAMED = 10  # steps
_BEHIND = 4  # pieces of work that may be pending
# With polars' SIGINT handler installed, a wait without a timeout could not be interrupted.
_WAIT = 0.05


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
            LOG.warning("step %d is not evaluated: %s", step, reason)
        self[step] = reason
        if isinstance(error, BaseException):
            LOG.debug("step %d is not evaluated", step, exc_info=error)

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
            LOG.warning("%s not evaluated: %s%s", many, named, more)


def reason_of(error: BaseException) -> str:
    """Returns an error as one line that is safe to show."""
    kind = "" if isinstance(error, PfgenError) else f"{type(error).__name__}: "
    return text.shortened(text.visible(f"{kind}{error}"), _LONGEST)


class Background:
    """Runs pieces of work in order in one thread, with at most four of them pending.

    An error is logged immediately, and raised as a `PfgenError` by the next `check`, `wait` or `close`; the
    following pieces run regardless.
    """

    def __init__(self) -> None:
        self.closed = False
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=ahead.THREADS)
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
            wait([self._pending[0]], _WAIT)
            if self._pending[0].done():
                error = self._pending.popleft().exception()
                if error is not None:
                    self._errors.append(error)


def _run(what: str, work: Callable[[], object]) -> None:
    try:
        work()
    except PfgenError as error:
        LOG.error("%s: %s", what, error)
        raise
    except Exception as error:
        LOG.exception("%s", what)
        raise PfgenError(f"{what}: {type(error).__name__}: {error}") from error


@dataclass
class FromEngine:
    """What an engine answered: a text for each task, `None` where there is none.

    `failed`: the tasks that failed. `late`: whether time was over before all tasks were done. `seconds`: how
    long it took.
    """

    texts: list[str | None]
    failed: list[protocol.Failed]
    late: bool
    seconds: float

    @property
    def missing(self) -> int:
        """The number of tasks without a text."""
        return self.texts.count(None)

    @property
    def problem(self) -> str:
        """Describes what is missing."""
        parts = []
        if self.failed:
            reason = text.visible(self.failed[0].reason)
            parts.append(f"{len(self.failed)} of {len(self.texts)} answers failed: {reason}")
        open_tasks = self.missing - len(self.failed)
        if open_tasks:
            why = "not given in time" if self.late else "not given"
            parts.append(f"{open_tasks} of {len(self.texts)} answers were {why}")
        return "; ".join(parts)


class EngineAnswers:
    """Asks an engine a list of tasks; see `pfgen_rs.ask.Engine`.

    `budget`: seconds for all tasks together (default: no limit). When it is over, the engine is stopped by
    its method `stop`, if it has one, else at its next answer. An empty text is an answer. Tasks with
    parameters of their own are asked after the others, with these; `None` in them leaves a value to the
    engine. `check` is called all the time, and ends a call by raising a `PfgenError`.
    """

    def __init__(
        self,
        engine: protocol.Engine,
        parameters: protocol.Parameters,
        budget: float | None = None,
        check: Callable[[], object] = bool,
    ) -> None:
        self._engine, self._parameters, self._budget = engine, parameters, budget
        self._check = check
        self._outcomes: ahead.Ahead[protocol.Outcome] | None = None
        self._cancelled = threading.Event()

    @property
    def running(self) -> bool:
        """Whether the engine is at work, which it may be for a while after the end of the budget."""
        return self._outcomes is not None and self._outcomes.running

    def cancel(self) -> None:
        """End the current call, and all later ones, with a `GenerationError`."""
        self._cancelled.set()

    def __call__(self, tasks: Sequence[protocol.Task]) -> FromEngine:
        """Returns the texts; raises `GenerationError` if the engine fails or there are none."""
        begun = time.monotonic()
        found: dict[tuple[int, str], protocol.Outcome] = {}
        late = False
        # Not a `with`: leaving it would wait for a thread that the engine may block.
        self._outcomes = ahead.Ahead(lambda: self._generated(tasks), len(tasks))
        try:
            for outcome in self._until(
                self._outcomes, None if self._budget is None else begun + self._budget
            ):
                found[loop.key_of(outcome.task)] = outcome
        except TimeoutError:
            late = True
        finally:
            self._stop(self._outcomes)
        outcomes = [found.get(loop.key_of(task)) for task in tasks]
        texts = [
            None if one is None or isinstance(one, protocol.Failed) else one.text
            for one in outcomes
        ]
        failed = [one for one in outcomes if isinstance(one, protocol.Failed)]
        answers = FromEngine(texts, failed, late, time.monotonic() - begun)
        if answers.missing == len(texts):
            raise GenerationError(answers.problem)
        return answers

    def _stop(self, outcomes: ahead.Ahead[protocol.Outcome]) -> None:
        outcomes.close()
        stop = getattr(self._engine, "stop", None)
        if outcomes.running and stop is not None:
            stop()

    def _generated(self, tasks: Sequence[protocol.Task]) -> Iterator[protocol.Outcome]:
        try:
            for parameters, places in protocol.by_parameters(tasks).items():
                group = [tasks[place] for place in places]
                in_flight: dict[tuple[int, str], protocol.Task] = {}
                asked = loop.passed(self._engine, group, parameters or self._parameters, in_flight)
                with closing(asked):
                    yield from asked
                if in_flight:  # it ended early, so that the other tasks stay open, too
                    return
        except TimeoutError as error:  # which means something else to whoever waits for an outcome
            raise GenerationError(f"engine {self._engine.name!r}: TimeoutError: {error}") from error

    def _until(
        self, outcomes: ahead.Ahead[protocol.Outcome], deadline: float | None
    ) -> Iterator[protocol.Outcome]:
        """Yield outcomes; raises `TimeoutError` at the deadline."""
        while not self._cancelled.is_set():
            self._check()
            left = _TICK if deadline is None else deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            try:
                outcome = outcomes.take(min(left, _TICK))
            except TimeoutError:
                continue
            except StopIteration:
                return
            yield outcome
        raise GenerationError("cancelled")
