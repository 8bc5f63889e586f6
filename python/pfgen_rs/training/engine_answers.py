"""Answers from an engine, within a time budget."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

from pfgen_rs.ask.loop import key_of, passed
from pfgen_rs.ask.protocol import (
    Engine,
    Failed,
    Outcome,
    Parameters,
    Task,
    by_parameters,
)
from pfgen_rs.errors import GenerationError
from pfgen_rs.io.ahead import Ahead
from pfgen_rs.io.text import visible

_TICK = 0.2  # seconds until a cancellation is noticed


@dataclass
class FromEngine:
    """What an engine answered: a text for each task, `None` where there is none.

    `failed`: the tasks that failed. `late`: whether time was over before all tasks were done. `seconds`: how
    long it took.
    """

    texts: list[str | None]
    failed: list[Failed]
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
            reason = visible(self.failed[0].reason)
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
    engine.
    """

    def __init__(self, engine: Engine, parameters: Parameters, budget: float | None = None) -> None:
        self._engine, self._parameters, self._budget = engine, parameters, budget
        self._outcomes: Ahead[Outcome] | None = None
        self._cancelled = threading.Event()

    @property
    def running(self) -> bool:
        """Whether the engine is at work, which it may be for a while after the end of the budget."""
        return self._outcomes is not None and self._outcomes.running

    def cancel(self) -> None:
        """End the current call, and all later ones, with a `GenerationError`."""
        self._cancelled.set()

    def __call__(self, tasks: Sequence[Task]) -> FromEngine:
        """Returns the texts; raises `GenerationError` if the engine fails or there are none."""
        begun = time.monotonic()
        found: dict[tuple[int, str], Outcome] = {}
        late = False
        # Not a `with`: leaving it would wait for a thread that the engine may block.
        self._outcomes = Ahead(lambda: self._generated(tasks), len(tasks))
        try:
            for outcome in self._until(
                self._outcomes, None if self._budget is None else begun + self._budget
            ):
                found[key_of(outcome.task)] = outcome
        except TimeoutError:
            late = True
        finally:
            self._stop(self._outcomes)
        outcomes = [found.get(key_of(task)) for task in tasks]
        texts = [None if one is None or isinstance(one, Failed) else one.text for one in outcomes]
        failed = [one for one in outcomes if isinstance(one, Failed)]
        answers = FromEngine(texts, failed, late, time.monotonic() - begun)
        if answers.missing == len(texts):
            raise GenerationError(answers.problem)
        return answers

    def _stop(self, outcomes: Ahead[Outcome]) -> None:
        outcomes.close()
        stop = getattr(self._engine, "stop", None)
        if outcomes.running and stop is not None:
            stop()

    def _generated(self, tasks: Sequence[Task]) -> Iterator[Outcome]:
        try:
            for parameters, places in by_parameters(tasks).items():
                group = [tasks[place] for place in places]
                in_flight: dict[tuple[int, str], Task] = {}
                asked = passed(self._engine, group, parameters or self._parameters, in_flight)
                with closing(asked):
                    yield from asked
                if in_flight:  # it ended early, so that the other tasks stay open, too
                    return
        except TimeoutError as error:  # which means something else to whoever waits for an outcome
            raise GenerationError(f"engine {self._engine.name!r}: TimeoutError: {error}") from error

    def _until(self, outcomes: Ahead[Outcome], deadline: float | None) -> Iterator[Outcome]:
        """Yield outcomes; raises `TimeoutError` at the deadline."""
        while not self._cancelled.is_set():
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
