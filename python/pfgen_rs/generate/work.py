"""The main loop of a run: claim trials, pass tasks to the engine, record outcomes."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, replace
from typing import Any

from pfgen_rs.ask.breaker import Breaker
from pfgen_rs.ask.engines import cure_for_thinking
from pfgen_rs.ask.loop import AskingProgress, Tally, key_of, passed, record_of
from pfgen_rs.ask.protocol import (
    SEEDS,
    Details,
    Engine,
    Failed,
    Outcome,
    Task,
    closing_outcomes,
    is_rolling,
)
from pfgen_rs.ask.request import digest_of
from pfgen_rs.ask.waits import LOG
from pfgen_rs.generate.config import RunConfig
from pfgen_rs.generate.prompts import Prompter
from pfgen_rs.generate.run_folder import RunFolder, read_failures, record_failures
from pfgen_rs.generate.usage import UsageFile
from pfgen_rs.io.cleaning import cleaned

Key = tuple[int, str]  # trial and question

_SHOWN = 40  # characters


class Work:
    """The work of one process on a run.

    Trials are claimed in order while fewer than `batch` tasks are open, and for a rolling engine only when it
    takes their tasks. `given_up`: tasks that failed in this call, by trial and question; `elsewhere`: trials
    claimed by other processes.

    Failures count as such once a task has been answered after them, or at the end of the run: if all tasks
    fail, the run ends early and they stay open (see `Breaker`), unless `keep_going` is set.
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
        keep_going: bool,
        usage: UsageFile,
        progress: AskingProgress | None,
    ) -> None:
        self._folder, self._prompter, self._config = folder, prompter, config
        self._rounds, self._batch, self._retry_failed = rounds, batch, retry_failed
        self._waiting = [n for n in range(trials, 0, -1) if not folder.is_finished(n)]
        self._claimed: set[int] = set()
        self._open: dict[Key, Task] = {}
        self._ready: deque[Key] = deque()  # open, but not with the engine
        self._asked: dict[Key, Task] = {}  # with the engine
        self._left: dict[int, int] = {}
        self._empty: Counter[Key] = Counter()
        self._held: dict[Key, str] = {}  # failed since the last answer
        self._failed: defaultdict[int, dict[str, str]] = defaultdict(dict)
        self._breaker, self._keep_going = Breaker(len(prompter.questions)), keep_going
        self._told_failure = False
        self._usage = usage
        self._asked_model: str | None = None
        finished = (trials - len(self._waiting)) * len(prompter.questions)
        self._tally = Tally(progress, trials * len(prompter.questions), finished)
        self._skipped = 0
        self.given_up: set[Key] = set()
        self.elsewhere: list[int] = []

    @property
    def new(self) -> int:
        """The number of answers so far."""
        return self._tally.new

    def run(self, engine: Engine) -> None:
        """Run until no tasks are open or the engine leaves some open; always releases its claims."""
        self._read_failures()
        self._asked_model = getattr(engine, "model", None)
        most = 1 if is_rolling(engine) else self._batch
        try:
            while self._claim(most) and self._ask(engine):
                pass
            self._give_up_held()
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

    def _claim(self, most: int) -> bool:
        """Claim trials until `most` tasks are open; returns whether any are."""
        self._fill(most)
        if not self._open and self.elsewhere:  # their processes may have exited
            self._waiting, self.elsewhere = self.elsewhere[::-1], []
            self._fill(most)
        return bool(self._open)

    def _fill(self, most: int) -> None:
        while self._waiting and len(self._open) < most:
            number = self._waiting.pop()
            if self._folder.claim(number):
                self._claimed.add(number)
                self._begin(number)
            elif not self._folder.is_finished(number):
                self.elsewhere.append(number)

    def _begin(self, number: int) -> None:
        missing = self._folder.missing(number)
        self._tally.done += len(self._prompter.questions) - len(missing)
        given_up = () if self._retry_failed else self._failed[number]
        wanted = [question for question in missing if question not in given_up]
        for task in self._prompter.tasks(number, wanted):
            self._open[number, task.question] = task
            self._ready.append((number, task.question))
        self._skipped += len(missing) - len(wanted)
        self._left[number] = len(wanted)
        if not wanted:
            self._settle(number)

    def _settle(self, number: int) -> None:
        """End the claim on a trial, finishing it if complete."""
        self._claimed.remove(number)
        try:
            missing = self._folder.missing(number)
            if not missing:
                self._folder.finish(number)
            failed = self._failed[number]
            reasons = {question: failed[question] for question in missing if question in failed}
            record_failures(self._folder.path, number, reasons)
        finally:
            self._folder.release(number)

    def _ask(self, engine: Engine) -> bool:
        """Pass open tasks to the engine; returns whether it dealt with all that it could have."""
        self._tell()
        parameters = self._config.parameters
        tasks = self._tasks_as_needed() if is_rolling(engine) else self._tasks_now()
        with closing_outcomes(passed(engine, tasks, parameters, self._asked)) as outcomes:
            for outcome in outcomes:
                # Before the outcome: what was paid for an answer is never missing where the answer is.
                self._usage.save()
                self._take(key_of(outcome.task), outcome)
        return not (self._asked or (is_rolling(engine) and self._ready))

    def _tasks_now(self) -> list[Task]:
        return [self._next_task() for _ in range(len(self._ready))]

    def _tasks_as_needed(self) -> Iterator[Task | None]:
        """Yield tasks as the engine takes them, claiming trials for them."""
        while True:
            if not self._ready:
                self._fill(min(self._batch, len(self._open) + 1))
            if self._ready:
                yield self._next_task()
            elif self._asked:
                yield None
            else:
                return

    def _next_task(self) -> Task:
        return self._open[self._ready.popleft()]

    def _take(self, key: Key, outcome: Outcome) -> None:
        if isinstance(outcome, Failed):
            self._fail(key, outcome.reason)
            if self._is_counted(key):
                self._breaker.failed(outcome, len(self._asked))
            return
        config = self._config
        text = cleaned(outcome.text, config.mode, config.parameters.stop, think=config.think)
        if text:
            self._keep(key, text, outcome.details or Details())
        else:
            self._again(key, outcome.text)

    def _keep(self, key: Key, text: str, details: Details) -> None:
        self._breaker.answered()
        self._give_up_held()
        self._warn_of_model(details.model)
        self._folder.add(*key, text, self._about(self._open[key], details))
        del self._open[key]
        self._tally.add()
        self._tell()
        self._end(key)

    def _about(self, task: Task, details: Details) -> dict[str, Any]:
        """Returns what is kept of an answer besides the published fields, as far as it is known."""
        config = self._config
        asked = {"model": config.model, "mode": task.mode, "seed": task.seed}
        about = {
            "digest": digest_of({**asdict(config.parameters), **asked, "messages": task.messages}),
            **record_of(details),
            "system_fingerprint": details.system_fingerprint,
            "finish_reason": details.finish_reason,
        }
        return {name: value for name, value in about.items() if value not in (None, [])}

    def _warn_of_model(self, model: str | None) -> None:
        known = self._folder.models
        if model is None or model in known:
            return
        if known:
            before = ", ".join(map(repr, sorted(known)))
            LOG.warning(
                "the model that answers is now %r: earlier answers are by %s", model, before
            )
        elif model != self._asked_model:
            LOG.warning("the model that answers is %r: %r was asked for", model, self._asked_model)

    def _again(self, key: Key, text: str) -> None:
        """Retry with another seed, since the same one would give the same empty answer."""
        self._empty[key] += 1
        if self._empty[key] >= self._rounds:
            self._fail(key, f"the answer was empty in all rounds ({self._rounds})")
        else:
            task = self._open[key]
            self._open[key] = replace(task, seed=(task.seed + 1) % SEEDS)
            self._ready.append(key)
        if self._is_counted(key):
            self._breaker.blank(key[1], *why_blank(text, self._config))

    def _is_counted(self, key: Key) -> bool:
        """Whether failing may end the run: not if this task failed before in a run that has answers."""
        return not self._keep_going and not (self._tally.done and key[1] in self._failed[key[0]])

    def _fail(self, key: Key, reason: str) -> None:
        if not self._told_failure:
            self._told_failure = True
            LOG.warning("first failure: trial %d, %s: %s", *key, reason)
        del self._open[key]
        if self._is_counted(key):
            self._held[key] = reason
        else:
            self._give_up(key, reason)
        self._tell()

    def _give_up_held(self) -> None:
        held, self._held = self._held, {}
        for key, reason in held.items():
            self._give_up(key, reason)

    def _give_up(self, key: Key, reason: str) -> None:
        self._failed[key[0]][key[1]] = reason
        self.given_up.add(key)
        self._end(key)

    def _end(self, key: Key) -> None:
        number = key[0]
        self._left[number] -= 1
        if not self._left[number]:
            self._settle(number)

    def _tell(self) -> None:
        self._tally.tell(self._skipped + len(self.given_up) + len(self._held))


def why_blank(text: str, config: RunConfig) -> tuple[str, str]:
    """Returns the reason why nothing of `text` is left after cleaning, and advice."""
    stop = config.parameters.stop
    if not text.strip():
        return (
            "the model generated no text",
            f"try another --mode; {cure_for_thinking(config.engine)}",
        )
    if config.think == "strip" and cleaned(text, config.mode, stop):
        return "the model generated nothing but thinking", cure_for_thinking(config.engine)
    shown = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
    ends = ", ".join(map(repr, stop)) or "none"
    reason = f"nothing is left of {shown!r} after cleaning (stop strings: {ends})"
    return reason, "try other stop strings (--stop) or another --mode"
