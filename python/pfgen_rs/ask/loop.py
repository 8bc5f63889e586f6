"""The loop that passes tasks to an engine, and asking with a journal that keeps what comes back."""

import hashlib
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, TypedDict

from pfgen_rs.ask import costs, protocol
from pfgen_rs.ask.journal import Journal, Key
from pfgen_rs.ask.protocol import LOG, Answered, Details, Engine, Failed, Outcome, Task
from pfgen_rs.ask.request import Group, Request
from pfgen_rs.errors import GenerationError, SettingsError
from pfgen_rs.io.text import counted, shortened

AskingProgress = Callable[[int, int, float, int], None]
"""Called with the number of answers, their total, new answers per second, and the number of failures."""
Read = Callable[[Request, Answered], Mapping[str, Any]]

_BATCH = 1000  # requests at a time for engines that take lists
_OPEN = "These tasks stay open: run the command again"
_SHOWN = 120  # characters of an output
_NEEDS = {
    "history": "earlier turns of a dialogue",
    "chat": "chats",
    "completion": "completions",
}


def key_of(task: Task) -> tuple[int, str]:
    """Returns what identifies a task among those of a call: its trial and its question."""
    return task.trial, task.question


def passed(
    engine: Engine,
    tasks: Iterable[Task | None],
    parameters: protocol.Parameters,
    in_flight: dict[tuple[int, str], Task],
    most: int | None = None,
    waits: Callable[[], object] | None = None,
) -> Generator[Outcome]:
    """Pass tasks to an engine, and yield what becomes of each, once.

    A rolling engine takes the tasks as it has room for them, and may meet `None` (see `Engine`); others get
    those that are available, at most `most`. `in_flight` has the tasks that the engine has taken and not
    dealt with, as keys and values: what it leaves there stays open. `waits` is called when all outcomes that
    are `ready` (see `Engine`) have been taken. Closing the iterator stops the engine.
    Raises `GenerationError` for an outcome of no such task.
    """

    def taken() -> Iterator[Task | None]:
        for task in tasks:
            if task is not None:
                in_flight[key_of(task)] = task
            yield task

    given: Any = taken() if protocol.is_rolling(engine) else protocol.available(taken(), most)
    outcomes = engine.generate(given, parameters) if given else iter(())
    try:
        for outcome in outcomes:
            trial, question = key_of(outcome.task)
            if in_flight.pop((trial, question), None) is None:
                raise GenerationError(
                    f"engine {engine.name!r} returned an outcome for an unknown task, or a second one: "
                    f"{question!r} in trial {trial}"
                )
            yield outcome
            if waits is not None and not getattr(outcomes, "ready", 0):
                waits()
    finally:
        if hasattr(outcomes, "close"):
            outcomes.close()


class UnreadError(Exception):
    """An answer that must not be stored, and why.

    `again`: ask once more with another seed; otherwise its request counts as failed. `cure`: what to do if
    other answers are like that.
    """

    def __init__(self, reason: str, *, cure: str = "", again: bool = False) -> None:
        super().__init__(reason)
        self.cure, self.again = cure, again


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


class Limits(TypedDict, total=False):
    """Arguments of everything that asks a model; see `ask`."""

    budget: costs.Budget | None
    keep_going: bool
    progress: AskingProgress | None


def open_requests(journal: Journal, groups: Sequence[Group]) -> list[Group]:
    """Returns the requests that a journal, open or not, does not answer yet; changes nothing."""
    answered = journal.stored_keys(valid=any(g.respondent.retry is not None for g in groups))
    return [
        replace(
            group,
            requests=[
                r for r in group.requests if journal.key(r.fields(group.respondent)) not in answered
            ],
        )
        for group in groups
    ]


def ask(
    journal: Journal,
    groups: Sequence[Group],
    engine: Engine,
    read: Read,
    *,
    mode: str = "chat",
    budget: costs.Budget | None = None,
    keep_going: bool = False,
    progress: AskingProgress | None = None,
) -> Asked:
    """Ask an engine what the journal does not answer yet, and append each answer as it arrives.

    Groups are asked one after the other. `journal` is open. A record consists of the request's `about`,
    `sample` and `digest`, what `read` makes of the answer, the model, the tokens used, the parameters that
    the server refused, and the time (UTC). No request is asked twice, not even by several processes at once,
    except those whose record has a `problem`, if `respondent.retry` is set. Requests that fail are not
    stored, and are asked again by the next call. If too many in a row fail, or have outputs that are blank or
    have a problem, the call ends with `GenerationError` (see `Breaker`), unless `keep_going` is set; what is
    stored stays.

    Raises `SettingsError` if the engine lacks what the requests need, before anything is sent.
    """
    if not groups:
        return Asked(0, 0, 0)
    needed = {group.mode or mode for group in groups}
    if any(request.has_history for group in groups for request in group.requests):
        needed.add("history")
    for lacking in sorted(needed - protocol.abilities(engine)):
        raise SettingsError(
            f"the engine {engine.name!r} does not support {_NEEDS[lacking]}, which these requests need"
        )
    return _Asking(journal, groups, read, mode, budget, keep_going, progress).run(engine)


class _Asking:
    """One call of `ask`. Everything happens in the thread that consumes the engine's outcomes."""

    def __init__(
        self,
        journal: Journal,
        groups: Sequence[Group],
        read: Read,
        mode: str,
        budget: costs.Budget | None,
        keep_going: bool,
        progress: AskingProgress | None,
    ) -> None:
        self._journal, self._read_answer, self._mode = journal, read, mode
        retries = any(group.respondent.retry is not None for group in groups)
        self._repeated = journal.forget_invalid() if retries else Counter[Key]()
        self._entries = [(group, request) for group in groups for request in group.requests]
        self._keys: list[Key] = [journal.key(r.fields(g.respondent)) for g, r in self._entries]
        self._waiting = deque(n for n, key in enumerate(self._keys) if key not in journal)
        self._budget = budget
        self._asked: dict[tuple[int, str], Task] = {}  # with the engine
        self._numbers: dict[tuple[int, str], int] = {}
        self._kept: list[tuple[int, dict[str, Any]]] = []  # records that are not yet written
        self._elsewhere: list[int] = []
        self._unaffordable = 0
        self._failures: list[Failure] = []
        subjects = {request.subject for _, request in self._entries}
        self._breaker = None if keep_going else Breaker(len(subjects), stored=len(journal) > 0)
        self._progress, self._begun = progress, 0.0
        self._done, self._new = len(self._keys) - len(self._waiting), 0
        self._group = groups[0]  # whose requests follow each other

    def run(self, engine: Engine) -> Asked:
        self._collects = protocol.collects(engine)
        if hasattr(engine, "prepare"):
            engine.prepare(self._journal.path)
        self._tell()
        try:
            while self._pass(engine) and self._retake_elsewhere():
                pass
        finally:
            for key in self._asked:
                self._journal.release(self._keys[self._numbers[key]])
        self._journal.refresh()
        return Asked(
            total=len(self._keys),
            stored=sum(key in self._journal for key in self._keys),
            new=self._new,
            failures=self._failures,
            elsewhere=sum(self._keys[n] not in self._journal for n in self._elsewhere),
            unaffordable=self._unaffordable,
            spent=None if self._budget is None else self._budget.spent,
        )

    def _pass(self, engine: Engine) -> bool:
        """Ask everything that is waiting; returns false if the engine left something open."""
        while self._waiting:
            if not self._waits():
                self._group = self._entries[self._waiting[0]][0]
            parameters = self._group.respondent.parameters
            most = None if self._collects else _BATCH
            asking = passed(engine, self._tasks(), parameters, self._asked, most, self._write)
            with closing(asking):
                try:
                    for outcome in asking:
                        self._take(outcome)
                finally:
                    self._write()
            if self._asked or (protocol.is_rolling(engine) and self._waits()):
                return False
        return True

    def _retake_elsewhere(self) -> bool:
        """Take over what other processes left open when they ended; returns whether there is anything."""
        self._journal.refresh()
        left = [n for n in self._elsewhere if self._keys[n] not in self._journal]
        self._elsewhere = left
        free = {n for n in left if self._journal.claim(self._keys[n])}
        for number in free:
            self._journal.release(self._keys[number])
        if not free:
            return False
        self._elsewhere = [n for n in left if n not in free]
        self._waiting.extend(sorted(free))
        return True

    def _waits(self) -> bool:
        """Whether the next request that waits can be asked with the present ones."""
        if not self._waiting or self._collects:  # tasks have their own parameters then
            return bool(self._waiting)
        return self._entries[self._waiting[0]][0] is self._group

    def _tasks(self) -> Iterator[Task | None]:
        while True:
            number = self._next()
            if number is not None:
                group, request = self._entries[number]
                task = request.task(number + 1, group.respondent, group.mode or self._mode)
                if self._collects:  # only batches are found again by names
                    name, own = self._name(number, request), group.respondent.parameters
                    task = replace(task, name=name, parameters=own)
                self._numbers[key_of(task)] = number
                yield task
            elif self._asked:  # what comes may have to be asked again, or leave more of the budget
                yield None
            else:
                return

    def _name(self, number: int, request: Request) -> str:
        """Returns what names a task in later calls, too; when it is asked again, it has another name."""
        key = self._keys[number]
        name = repr((key, request.sample, self._repeated[key]))
        return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()

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
                group, request = self._entries[number]
                longest = group.respondent.limit
                if self._budget is None or self._budget.reserve(number, request, longest):
                    return number
                self._postpone(number)
                return None
            self._journal.release(key)
        return None

    def _postpone(self, number: int) -> None:
        """Put off a request that the budget does not allow; give its group up if nothing is in progress."""
        self._journal.release(self._keys[number])
        self._waiting.appendleft(number)
        if self._asked and self._collects and not (self._new or self._failures):
            LOG.warning(
                "the budget allows %s of %s at a time: batches follow each other",
                f"{len(self._asked):,}",
                counted(len(self._asked) + len(self._waiting), "request"),
            )
        if not self._asked:
            while self._waits():
                self._waiting.popleft()
                self._unaffordable += 1

    def _take(self, outcome: Outcome) -> None:
        number = self._numbers[key_of(outcome.task)]
        try:
            if isinstance(outcome, Failed):
                self._fail(number, outcome)
            else:
                self._keep(number, outcome)
        finally:
            is_kept = bool(self._kept) and self._kept[-1][0] == number
            if not is_kept:
                self._journal.release(self._keys[number])
        if not is_kept:
            self._tell()

    def _write(self) -> None:
        """Append the records of answers that came together, and give up their claims."""
        kept, self._kept = self._kept, []
        if not kept:
            return
        try:
            added = self._journal.add(*(record for _, record in kept))
            self._done += added
            self._new += added
        finally:
            for number, _ in kept:
                self._journal.release(self._keys[number])
        self._tell()

    def _keep(self, number: int, answered: Answered) -> None:
        details = answered.details or Details()
        text, usage = answered.text, details.usage
        if self._budget is not None:
            known = usage is not None and usage.reported
            self._budget.settle(number, usage if known else None)
        group, request = self._entries[number]
        try:
            fields = self._read_answer(request, answered)
        except UnreadError as error:
            if error.again:
                self._entries[number] = group, replace(request, sample=request.sample + 1)
                self._waiting.append(number)
            else:
                self._note_failure(number, str(error))
            self._count_unread(number, str(error), text, error.cure)
            return
        self._kept.append((number, self._record(number, fields, details)))
        problem = fields.get("problem")
        if problem is not None:
            self._count_unread(number, problem, text, then=_how_to_retry(details))
        elif not text.strip():
            self._count_unread(number, "empty", text, then="Choose another folder")
        elif self._breaker is not None:
            self._breaker.answered()

    def _record(self, number: int, fields: Mapping[str, Any], details: Details) -> dict[str, Any]:
        group, request = self._entries[number]
        usage, seconds = details.usage, details.seconds
        tokens = None  # if not reported
        if usage is not None and usage.reported:
            names = ("prompt_tokens", "completion_tokens")
            tokens = {name: getattr(usage, name) for name in names}
            if usage.cached_tokens:
                tokens["cached_tokens"] = usage.cached_tokens
        return {
            **request.fields(group.respondent),
            **fields,
            **group.respondent.fields(request.sample),
            "usage": tokens,
            "left_out": list(details.left_out),
            "served": details.model,
            "seconds": None if seconds is None else round(seconds, 3),
            "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds"),
            **({} if details.batch is None else {"batch": details.batch}),
        }

    def _count_unread(
        self, number: int, reason: str, output: str, cure: str = "", then: str = _OPEN
    ) -> None:
        if self._breaker is not None:
            example = shortened(output.strip(), _SHOWN)
            reason = f"{reason}, as in {example!r}" if example and not cure else reason
            self._breaker.unread(self._entries[number][1].subject, reason, cure, then)

    def _fail(self, number: int, failed: Failed) -> None:
        if self._budget is not None:
            self._budget.cancel(number)
        self._note_failure(number, failed.reason)
        if self._breaker is not None and not self._collects:
            self._breaker.failed(failed, len(self._asked))

    def _note_failure(self, number: int, reason: str) -> None:
        _, request = self._entries[number]
        if not self._failures:
            LOG.warning("first failure: %s: %s", request.name, reason)
        self._failures.append(Failure(request.name, request.about, reason))

    def _tell(self) -> None:
        if self._progress is None:
            return
        now, rate = time.monotonic(), 0.0
        if self._new <= 1:  # exclude the time for loading a model
            self._begun = now
        else:
            rate = (self._new - 1) / max(now - self._begun, 1e-9)
        self._progress(self._done, len(self._keys), rate, len(self._failures))


def _how_to_retry(details: Details) -> str:
    cut = details.finish_reason == "length"
    more = " and a larger --max-tokens" if cut else ""
    return f"They are kept: run the command again with --retry-invalid{more}"


# Numbers in a row that end the call: as long as nothing was answered, and afterwards.
_FAILURES = 8, 64
_UNREAD = 32, 320  # base models often generate blank answers
_QUESTIONS = 4
"""Number of different questions that must be concerned, since a model may never answer a few of them."""


class Breaker:
    """Ends a call with `GenerationError` if too many tasks in a row fail, or have answers of no use.

    `questions`: number of different ones. Failures that concern their task alone end it only if they also
    outnumber the tasks still in progress: rejections arrive long before answers do.
    """

    def __init__(self, questions: int, *, stored: bool = False) -> None:
        self._spread = min(questions, _QUESTIONS)
        self._before, self._stored = True, stored
        self._streaks: defaultdict[str, list[tuple[str, str, str]]] = defaultdict(list)

    def answered(self) -> None:
        """Count an answer, which ends all streaks."""
        self._before = False
        self._streaks.clear()

    def failed(self, failed: Failed, waiting: int) -> None:
        """Count a failure; `waiting`: number of tasks in progress."""
        what, kind, limit = "tasks failed", "failures", self._limit(_FAILURES)
        if failed.individual:
            kind, limit = "rejections", max(_FAILURES[1], waiting)
        self._count(kind, (failed.task.question, failed.reason, failed.cure), limit, what, _OPEN)

    def unread(self, question: str, reason: str, cure: str, then: str) -> None:
        """Count an output of no use; `then`: how to ask for it again."""
        # What earlier calls left open may be mainly tasks whose first answer is blank.
        what, limit = (
            "outputs could not be read",
            _UNREAD[1] if self._stored else self._limit(_UNREAD),
        )
        self._count("unread", (question, reason, cure), limit, what, then)

    def _limit(self, limits: tuple[int, int]) -> int:
        return limits[0] if self._before else limits[1]

    def _count(
        self, kind: str, event: tuple[str, str, str], limit: int, what: str, then: str
    ) -> None:
        streak = self._streaks[kind]
        streak.append(event)
        if len(streak) < limit or len({question for question, _, _ in streak}) < self._spread:
            return
        none = ", and no task was answered" if self._before else ""
        _, reason, cure = streak[0]
        cure = f"{cure[:1].upper()}{cure[1:]}. " if cure else ""
        raise GenerationError(
            f"{len(streak)} {what} in a row{none}: {reason.rstrip('.')}. {cure}{then} once the cause is "
            "removed, or ignore such failures with --keep-going"
        )
