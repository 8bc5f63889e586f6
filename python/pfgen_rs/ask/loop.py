"""The loop that passes tasks to an engine, and asking with a journal that keeps what comes back."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from pfgen_rs.ask.breaker import Breaker
from pfgen_rs.ask.costs import Budget
from pfgen_rs.ask.journal import Journal, Key
from pfgen_rs.ask.protocol import (
    Answered,
    Details,
    Engine,
    Failed,
    Outcome,
    Parameters,
    RollingEngine,
    Task,
    abilities,
    available,
    closing_outcomes,
    is_rolling,
)
from pfgen_rs.ask.request import Group, Request, Respondent
from pfgen_rs.ask.waits import LOG
from pfgen_rs.errors import GenerationError, SettingsError

AskingProgress = Callable[[int, int, float, int], None]
"""Called with the number of answers, their total, new answers per second, and the number of failures."""
Read = Callable[[Request, Answered], Mapping[str, Any]]

_BATCH = 256  # requests at a time for engines that take lists


def key_of(task: Task) -> tuple[int, str]:
    """Returns what identifies a task among those of a call: its trial and its question."""
    return task.trial, task.question


def passed(
    engine: Engine | RollingEngine,
    tasks: Iterable[Task | None],
    parameters: Parameters,
    in_flight: dict[tuple[int, str], Task],
    most: int | None = None,
) -> Iterator[Outcome]:
    """Pass tasks to an engine, and yield what becomes of each, once.

    A rolling engine takes the tasks as it has room for them, and may meet `None` (see `RollingEngine`);
    others get those that are available, at most `most`. `in_flight` has the tasks that the engine has taken
    and not dealt with, as keys and values: what it leaves there stays open. Closing the iterator stops the
    engine. Raises `GenerationError` for an outcome of no such task.
    """

    def taken() -> Iterator[Task | None]:
        for task in tasks:
            if task is not None:
                in_flight[key_of(task)] = task
            yield task

    if is_rolling(engine):
        outcomes = engine.generate(taken(), parameters)
    else:
        batch = available(taken(), most)
        outcomes = engine.generate(batch, parameters) if batch else iter(())
    with closing_outcomes(outcomes):
        for outcome in outcomes:
            trial, question = key_of(outcome.task)
            if in_flight.pop((trial, question), None) is None:
                raise GenerationError(
                    f"engine {engine.name!r} returned an outcome for an unknown task, or a second one: "
                    f"{question!r} in trial {trial}"
                )
            yield outcome


class Tally:
    """Counts answers, and tells them whoever wants to know; `new`: those of this call."""

    def __init__(self, report: AskingProgress | None, total: int, done: int) -> None:
        self._report, self._total = report, total
        self.done, self.new = done, 0
        self._begun = 0.0

    def add(self, count: int = 1) -> None:
        """Count new answers."""
        self.done += count
        self.new += count

    def tell(self, failed: int) -> None:
        """Report the counts; `failed`: the number of failures."""
        if self._report is None:
            return
        now, rate = time.monotonic(), 0.0
        if self.new <= 1:  # exclude the time for loading a model
            self._begun = now
        else:
            rate = (self.new - 1) / max(now - self._begun, 1e-9)
        self._report(self.done, self._total, rate, failed)


class UnreadError(Exception):
    """An answer that must not be stored, and why; its request counts as failed."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A request that failed: what it was about, its record's fields, and the reason."""

    subject: str
    about: Mapping[str, Any]
    reason: str


@dataclass(frozen=True)
class Asked:
    """The outcome of a call of `ask`.

    `total`: number of requests; `stored`: how many of them are answered; `new`: answered by this call;
    `failures`: those that failed in this call, which the next one asks again; `elsewhere`: in progress in
    other processes; `unaffordable`: not asked because of the budget; `spent`: with a budget, the cost so far.
    """

    total: int
    stored: int
    new: int
    failures: list[Failure] = field(default_factory=list)
    elsewhere: int = 0
    unaffordable: int = 0
    spent: float | None = None

    @property
    def complete(self) -> bool:
        """Whether every request is answered."""
        return self.stored == self.total


def open_requests(journal: Journal, groups: Sequence[Group]) -> list[Group]:
    """Returns the requests that a journal, open or not, does not answer yet; changes nothing."""
    answered = journal.stored_keys(valid=any(g.respondent.retry is not None for g in groups))
    return [
        replace(
            group, requests=[r for r in group.requests if _key(journal, group, r) not in answered]
        )
        for group in groups
    ]


def _key(journal: Journal, group: Group, request: Request) -> Key:
    return journal.key(_request_fields(request, group.respondent))


def _request_fields(request: Request, respondent: Respondent) -> dict[str, Any]:
    return {**request.about, "sample": request.sample, "digest": request.digest(respondent)}


def ask(
    journal: Journal,
    requests: Sequence[Request],
    engine: Engine,
    respondent: Respondent,
    read: Read,
    *,
    mode: str = "chat",
    budget: Budget | None = None,
    keep_going: bool = False,
    progress: AskingProgress | None = None,
) -> Asked:
    """Ask an engine what the journal does not answer yet, and append each answer as it arrives.

    `journal` is open. A record consists of the request's `about`, `sample` and `digest`, what `read` makes of
    the answer, the model, the tokens used, the parameters that the server refused, and the time (UTC). No
    request is asked twice, not even by several processes at once, except those whose record has a `problem`,
    if `respondent.retry` is set. Requests that fail are not stored, and are asked again by the next call. If
    too many in a row fail, or have outputs that are blank or have a problem, the call ends with
    `GenerationError` (see `Breaker`), unless `keep_going` is set; what is stored stays.

    Raises `SettingsError` if the engine lacks what the requests need, before anything is sent.
    """
    return ask_groups(
        journal,
        [Group(respondent, requests)],
        engine,
        read,
        mode=mode,
        budget_of=lambda _: budget,
        keep_going=keep_going,
        progress=progress,
    )


def ask_groups(
    journal: Journal,
    groups: Sequence[Group],
    engine: Engine,
    read: Read,
    *,
    mode: str = "chat",
    budget_of: Callable[[Respondent], Budget | None] | None = None,
    keep_going: bool = False,
    progress: AskingProgress | None = None,
) -> Asked:
    """Ask groups of requests one after the other, each with its own parameters; otherwise as `ask`.

    `budget_of` returns the budget that is left when a group begins.
    """
    if not groups:
        return Asked(0, 0, 0)
    _check_abilities(engine, [request for group in groups for request in group.requests], mode)
    work = _Asking(journal, groups, read, mode, budget_of, keep_going, progress)
    return work.run(engine)


def _check_abilities(engine: Engine, requests: Sequence[Request], mode: str) -> None:
    able = abilities(engine)
    needed = {mode}
    if any(len(r.messages) - (r.messages[0][0] == "system") > 1 for r in requests):
        needed.add("history")
    lacking = sorted(needed - able)
    if lacking:
        words = {
            "history": "earlier turns of a dialogue",
            "chat": "chats",
            "completion": "completions",
        }
        raise SettingsError(
            f"the engine {engine.name!r} does not support {words[lacking[0]]}, which these requests need"
        )


class _Asking:
    """One call of `ask`. Everything happens in the thread that consumes the engine's outcomes."""

    def __init__(
        self,
        journal: Journal,
        groups: Sequence[Group],
        read: Read,
        mode: str,
        budget_of: Callable[[Respondent], Budget | None] | None,
        keep_going: bool,
        progress: AskingProgress | None,
    ) -> None:
        self._journal, self._read_answer, self._mode = journal, read, mode
        if any(group.respondent.retry is not None for group in groups):
            journal.forget_invalid()
        self._entries = [(group, request) for group in groups for request in group.requests]
        self._fields = [_request_fields(r, group.respondent) for group, r in self._entries]
        self._keys: list[Key] = [journal.key(fields) for fields in self._fields]
        self._waiting = deque(n for n, key in enumerate(self._keys) if key not in journal)
        self._budget_of = budget_of
        self._asked: dict[tuple[int, str], Task] = {}  # with the engine
        self._elsewhere: list[int] = []
        self._unaffordable = 0
        self._failures: list[Failure] = []
        subjects = {request.subject for _, request in self._entries}
        self._breaker = None if keep_going else Breaker(len(subjects))
        total = len(self._entries)
        self._tally = Tally(progress, total, total - len(self._waiting))
        self._begin(groups[0])

    def _begin(self, group: Group) -> None:
        """Turn to a group, the requests of which follow each other."""
        self._group = group
        self._budget = None if self._budget_of is None else self._budget_of(group.respondent)

    def run(self, engine: Engine) -> Asked:
        self._tell()
        try:
            while self._pass(engine) and self._retake_elsewhere():
                pass
        finally:
            for task in self._asked.values():
                self._journal.release(self._keys[task.trial - 1])
        self._journal.refresh()
        return Asked(
            total=len(self._keys),
            stored=sum(key in self._journal for key in self._keys),
            new=self._tally.new,
            failures=self._failures,
            elsewhere=sum(self._keys[n] not in self._journal for n in self._elsewhere),
            unaffordable=self._unaffordable,
            spent=None if self._budget is None else self._budget.spent,
        )

    def _pass(self, engine: Engine) -> bool:
        """Ask everything that is waiting; returns false if the engine left something open."""
        while self._waiting:
            if not self._waits():
                self._begin(self._entries[self._waiting[0]][0])
            parameters = self._group.respondent.parameters
            asking = passed(engine, self._tasks(), parameters, self._asked, _BATCH)
            with closing_outcomes(asking) as outcomes:
                for outcome in outcomes:
                    self._take(outcome)
            if self._asked:
                return False
        return True

    def _retake_elsewhere(self) -> bool:
        """Take over what other processes left open when they ended; returns whether there is anything."""
        self._journal.refresh()
        left = [n for n in self._elsewhere if self._keys[n] not in self._journal]
        self._elsewhere = left
        free = [n for n in left if self._journal.claim(self._keys[n])]
        for number in free:
            self._journal.release(self._keys[number])
        if not free:
            return False
        self._elsewhere = [n for n in left if n not in set(free)]
        self._waiting.extend(sorted(free))
        return True

    def _waits(self) -> bool:
        """Whether the next request that waits is of the present group."""
        return bool(self._waiting) and self._entries[self._waiting[0]][0] is self._group

    def _tasks(self) -> Iterator[Task | None]:
        while True:
            number = self._next()
            if number is not None:
                _, request = self._entries[number]
                yield request.task(number + 1, self._group.respondent, self._mode)
            elif self._waits():  # the budget may allow more once what is in progress has come back
                yield None
            else:
                return

    def _next(self) -> int | None:
        """Claim the next request that is neither answered nor in progress elsewhere, if it is affordable."""
        while self._waits():
            number = self._waiting.popleft()
            key = self._keys[number]
            if not self._journal.claim(key):
                self._elsewhere.append(number)
                continue
            self._journal.refresh()  # it may have been answered and released since
            if key not in self._journal:
                if self._budget is None or self._budget.reserve(number, self._entries[number][1]):
                    return number
                self._postpone(number)
                return None
            self._journal.release(key)
        return None

    def _postpone(self, number: int) -> None:
        """Put off a request that the budget does not allow; give its group up if nothing is in progress."""
        self._journal.release(self._keys[number])
        self._waiting.appendleft(number)
        if not self._asked:
            while self._waits():
                self._waiting.popleft()
                self._unaffordable += 1

    def _take(self, outcome: Outcome) -> None:
        number = outcome.task.trial - 1
        try:
            if isinstance(outcome, Failed):
                self._fail(number, outcome)
            else:
                self._keep(number, outcome)
        finally:
            self._journal.release(self._keys[number])
        self._tell()

    def _keep(self, number: int, answered: Answered) -> None:
        details = answered.details or Details()
        text, usage = answered.text, details.usage
        if self._budget is not None:
            known = usage is not None and usage.reported
            tokens = (usage.prompt_tokens, usage.completion_tokens) if usage and known else None
            self._budget.settle(number, tokens)
        try:
            fields = self._read_answer(self._entries[number][1], answered)
        except UnreadError as error:
            self._note_failure(number, str(error))
            self._count_unread(
                number, str(error), text, "These tasks stay open: run the command again"
            )
            return
        self._tally.add(self._journal.add(self._record(number, fields, details)))
        problem = fields.get("problem")
        if problem is not None:
            self._count_unread(number, problem, text, _how_to_retry(details))
        elif not text.strip():
            self._count_unread(number, "empty", text, "Choose another folder")
        elif self._breaker is not None:
            self._breaker.answered()

    def _record(self, number: int, fields: Mapping[str, Any], details: Details) -> dict[str, Any]:
        group, request = self._entries[number]
        return {
            **self._fields[number],
            **fields,
            group.respondent.role: group.respondent.record(request.sample),
            **record_of(details),
            "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds"),
        }

    def _count_unread(self, number: int, reason: str, output: str, again: str) -> None:
        if self._breaker is not None:
            self._breaker.unread(self._entries[number][1].subject, reason, output, again)

    def _fail(self, number: int, failed: Failed) -> None:
        if self._budget is not None:
            self._budget.cancel(number)
        self._note_failure(number, failed.reason)
        if self._breaker is not None:
            self._breaker.failed(failed, len(self._asked))

    def _note_failure(self, number: int, reason: str) -> None:
        _, request = self._entries[number]
        if not self._failures:
            LOG.warning("first failure: %s: %s", request.subject, reason)
        self._failures.append(Failure(request.subject, request.about, reason))

    def _tell(self) -> None:
        self._tally.tell(len(self._failures))


def _how_to_retry(details: Details) -> str:
    cut = details.finish_reason == "length"
    more = " and a larger --max-tokens" if cut else ""
    return f"They are kept: run the command again with --retry-invalid{more}"


def record_of(details: Details) -> dict[str, Any]:
    """Returns what every record has of an answer besides its text; tokens are `None` if not reported."""
    usage, seconds = details.usage, details.seconds
    tokens = None
    if usage is not None and usage.reported:
        tokens = {
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
        }
    return {
        "usage": tokens,
        "left_out": list(details.left_out),
        "served": details.model,
        "seconds": None if seconds is None else round(seconds, 3),
    }
