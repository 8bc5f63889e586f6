"""The main loop of a run: claim trials, pass tasks to the engine, record outcomes."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from pfgen_rs.errors import GenerationError
from pfgen_rs.generate.answers import cleaned
from pfgen_rs.generate.config import RunConfig
from pfgen_rs.generate.engines.protocol import Engine, Failed, Outcome
from pfgen_rs.generate.open_trial import OpenTrial
from pfgen_rs.generate.prompts import SEEDS, Prompter, Task
from pfgen_rs.generate.run_folder import RunFolder
from pfgen_rs.generate.unscored import read_failures, record_failures

__all__ = ["GenerationProgress", "Work"]

# Called with the number of answers, their total, new answers per second, and the number of failed tasks.
GenerationProgress = Callable[[int, int, float, int], None]
Key = tuple[int, str]

_CLAIMS = 128  # at a time; each is an open file


class Work:
    """The work of one process on a run.

    Trials are claimed in order while fewer than `batch` tasks are open. `new`: the number of answers so far;
    `given_up`: tasks that failed in this call, by trial and question; `elsewhere`: trials claimed by other
    processes.
    """

    def __init__(
        self,
        folder: RunFolder,
        prompter: Prompter,
        config: RunConfig,
        *,
        trials: int,
        rounds: int,
        batch: int,
        retry_failed: bool,
        progress: GenerationProgress | None,
    ) -> None:
        self._folder, self._prompter, self._config = folder, prompter, config
        self._rounds, self._batch, self._retry_failed = rounds, batch, retry_failed
        self._waiting = [n for n in range(trials, 0, -1) if not folder.is_finished(n)]
        self._claimed: dict[int, OpenTrial] = {}
        self._open: dict[Key, Task] = {}
        self._left: dict[int, int] = {}
        self._empty: Counter[Key] = Counter()
        self._failed: defaultdict[int, dict[str, str]] = defaultdict(dict)
        self._report = progress
        self._total = trials * len(prompter.questions)
        self._done = self._total - len(self._waiting) * len(prompter.questions)
        self._begun = 0.0
        self._skipped = 0
        self.new = 0
        self.given_up: set[Key] = set()
        self.elsewhere: list[int] = []

    def run(self, engine: Engine) -> None:
        """Run until no tasks are open or the engine leaves some open; always releases its claims."""
        self._read_failures()
        try:
            while self._claim() and self._ask(engine):
                pass
        finally:
            with ExitStack() as stack:
                for number in list(self._claimed):
                    stack.callback(self._settle, number)

    def _read_failures(self) -> None:
        for question, trial, reason in read_failures(self._folder.path):
            if self._folder.is_finished(trial):  # its process was killed just after finishing it
                record_failures(self._folder.path, trial, {})
            else:
                self._failed[trial][question] = reason

    def _claim(self) -> bool:
        """Open tasks; returns whether any are open."""
        self._fill()
        if not self._open and self.elsewhere:  # their processes may have exited
            self._waiting, self.elsewhere = self.elsewhere[::-1], []
            self._fill()
        return bool(self._open)

    def _fill(self) -> None:
        while self._waiting and len(self._open) < self._batch and len(self._claimed) < _CLAIMS:
            number = self._waiting.pop()
            trial = self._folder.claim(number)
            if trial is not None:
                self._claimed[number] = trial
                self._begin(number, trial)
            elif not self._folder.is_finished(number):
                self.elsewhere.append(number)

    def _begin(self, number: int, trial: OpenTrial) -> None:
        self._done += len(trial.lines)
        given_up = () if self._retry_failed else self._failed[number]
        wanted = [question for question in trial.missing if question not in given_up]
        for task in self._prompter.tasks(number, wanted):
            self._open[number, task.question] = task
        self._skipped += len(trial.missing) - len(wanted)
        self._left[number] = len(wanted)
        if not wanted:
            self._settle(number)

    def _settle(self, number: int) -> None:
        """End the claim on a trial, finishing it if complete."""
        trial = self._claimed.pop(number)
        try:
            missing = trial.missing
            if not missing:
                trial.finish()
            failed = self._failed[number]
            reasons = {question: failed[question] for question in missing if question in failed}
            record_failures(self._folder.path, number, reasons)
        finally:
            trial.release()

    def _ask(self, engine: Engine) -> bool:
        """Pass all open tasks to the engine; returns whether it dealt with all of them."""
        asked = dict(self._open)
        self._tell()
        with _closing_outcomes(
            engine.generate(list(asked.values()), self._config.parameters)
        ) as outcomes:
            for outcome in outcomes:
                key = outcome.task.trial, outcome.task.question
                if asked.pop(key, None) is None:
                    raise GenerationError(
                        f"engine {engine.name!r} returned an outcome for an unknown task, or a second "
                        f"one: {key[1]!r} in trial {key[0]}"
                    )
                self._take(key, outcome)
        return not asked

    def _take(self, key: Key, outcome: Outcome) -> None:
        number, question = key
        if isinstance(outcome, Failed):
            self._give_up(key, outcome.reason)
            return
        config = self._config
        text = cleaned(outcome.text, config.mode, config.parameters.stop, think=config.think)
        if not text:
            self._again(key)
            return
        self._claimed[number].add(question, text)
        self.new += 1
        self._done += 1
        self._tell()
        self._end(key)

    def _again(self, key: Key) -> None:
        """Retry with another seed, since the same one would give the same empty answer."""
        self._empty[key] += 1
        if self._empty[key] >= self._rounds:
            self._give_up(key, f"the answer was empty in all rounds ({self._rounds})")
            return
        task = self._open[key]
        self._open[key] = replace(task, seed=(task.seed + 1) % SEEDS)

    def _give_up(self, key: Key, reason: str) -> None:
        self._failed[key[0]][key[1]] = reason
        self.given_up.add(key)
        self._tell()
        self._end(key)

    def _end(self, key: Key) -> None:
        del self._open[key]
        number = key[0]
        self._left[number] -= 1
        if not self._left[number]:
            self._settle(number)

    def _tell(self) -> None:
        if self._report is None:
            return
        now, rate = time.monotonic(), 0.0
        if self.new <= 1:  # exclude the time for loading a model
            self._begun = now
        else:
            rate = (self.new - 1) / max(now - self._begun, 1e-9)
        self._report(self._done, self._total, rate, self._skipped + len(self.given_up))


@contextmanager
def _closing_outcomes(outcomes: Iterator[Outcome]) -> Iterator[Iterator[Outcome]]:
    """Close the iterator at the end, if it can be closed, which stops the engine's work."""
    try:
        yield outcomes
    finally:
        close = getattr(outcomes, "close", None)
        if close is not None:
            close()
