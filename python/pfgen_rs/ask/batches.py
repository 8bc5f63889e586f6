"""Asking in batches: submit, wait, collect, and continue after any interruption."""

import time
import uuid
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pfgen_rs.ask import retrying, server
from pfgen_rs.ask.batch_forms import Reply, State, Submission, name_of
from pfgen_rs.ask.batch_ledger import Ledger, ledger_path
from pfgen_rs.ask.batch_server import BatchServer, Damage, LostError
from pfgen_rs.ask.client import Call, without_key
from pfgen_rs.ask.protocol import LOG, Answered, Details, Failed, Outcome, Parameters, Task, Usage
from pfgen_rs.ask.request import digest_of
from pfgen_rs.ask.retrying import Again
from pfgen_rs.ask.server_engine import ServerEngine
from pfgen_rs.errors import GenerationError, SettingsError
from pfgen_rs.io.text import counted, plural

_FIRST, _LONGEST = 10.0, 60.0  # seconds between two looks at a batch
_LOOKS = 3
"""Looks for a batch whose creation was not noted, before it is taken not to exist: it may be on its way."""
_MISSED = 30
"""Looks in a row without a response, after which a call ends."""
_DIGITS, _MARK = 24, 8  # of each part of a request's name, and of what follows it


class BatchEngine:
    """Asks in batches what `engine` would ask one by one, by the same name and with the same requests.

    `poll`: seconds between two looks at a batch (`None`: from 10, rising to 60). Without `wait`, it takes
    what is there, submits the rest, and leaves that open. Answers are yielded before failures. `status`:
    what it is waiting for, as text. Raises `SettingsError` for other values.
    """

    collects = True

    def __init__(
        self, engine: ServerEngine, *, poll: float | None = None, wait: bool = True
    ) -> None:
        if poll is not None and not (isinstance(poll, int | float) and poll > 0):
            raise SettingsError(f"poll must be a positive number of seconds, not {poll!r}")
        if not isinstance(wait, bool):
            raise SettingsError(f"wait must be true or false, not {wait!r}")
        self._engine, self.poll, self.wait = engine, poll, wait
        self.name, self.model = engine.name, engine.model
        self.abilities = engine.abilities
        self.status = ""
        self._ledger: Path | None = None

    @property
    def usage(self) -> Usage:
        """The requests so far and their tokens."""
        return self._engine.usage

    def prepare(self, journal: Path) -> None:
        """Keep the ledger beside this journal."""
        self._ledger = ledger_path(journal)

    def generate(self, tasks: Sequence[Task], parameters: Parameters) -> Iterator[Outcome]:
        """Yield one outcome per task, or end early if it is not to wait.

        Raises `GenerationError` if the server refuses a batch as a whole, or has lost one in the ledger.
        """
        if self._ledger is None:
            raise SettingsError("batches need a folder: call prepare with the path of its journal")
        try:
            with Ledger(self._ledger) as ledger:
                yield from _Asking(self, self._engine, ledger).run(tasks, parameters)
        finally:
            self.status = ""

    def close(self) -> None:
        """Close the engine."""
        self._engine.close()


@dataclass(frozen=True, slots=True)
class _Asked:
    """A task and its request.

    `options`: those that are sent out of the `whole`. `refused`: those that the server refused before.
    """

    task: Task
    parameters: Parameters
    path: str
    body: Mapping[str, Any]
    whole: Mapping[str, Any]
    options: Mapping[str, Any]
    refused: tuple[retrying.Unwanted, ...] = ()

    @property
    def id(self) -> str:
        """Names the task and its content."""
        return f"{self.task.name[:_DIGITS]}-{digest_of(self.body)[:_DIGITS]}"


class _Asking:
    """One call of `BatchEngine.generate`."""

    def __init__(self, owner: BatchEngine, engine: ServerEngine, ledger: Ledger) -> None:
        self._owner, self._engine, self._ledger = owner, engine, ledger
        self._form, self._place = engine.form, engine.place
        self._server = BatchServer(engine)
        self._batches = self._server.form
        self._again: list[_Asked] = []
        self._failed: list[tuple[Submission, str, Failed]] = []
        self._refusals: list[str] = []
        self._missed = 0
        self._mark = uuid.uuid4().hex[:_MARK]  # of what is submitted by this call

    def run(self, tasks: Sequence[Task], parameters: Parameters) -> Iterator[Outcome]:
        self._again = [self._asked(task, task.parameters or parameters) for task in tasks]
        self._warn_of_others({each.id for each in self._again} - self._ledger.open)
        while self._again:
            asked = {each.id: each for each in self._again}
            self._again = []
            left = yield from self._collected(asked, self._submitted(asked))
            if left:
                LOG.warning(
                    "%s in batches at the server: the same command collects the answers",
                    counted(left, "request"),
                )
                break
        else:
            yield from self._failures()
        if self._refusals:
            raise GenerationError("; ".join(self._refusals))

    def _failures(self) -> Iterator[Outcome]:
        """Yield what failed, having noted it, so that later calls ask it again."""
        for submission in {each.tag: each for each, _, _ in self._failed}.values():
            ids = [i for each, i, _ in self._failed if each.tag == submission.tag]
            self._ledger.settled(submission, ids)
        yield from (failed for _, _, failed in self._failed)

    def _asked(
        self, task: Task, parameters: Parameters, refused: tuple[retrying.Unwanted, ...] = ()
    ) -> _Asked:
        options = self._form.options(task, parameters)
        without = self._engine.optional.left_out.union(each.option for each in refused)
        sent = {name: value for name, value in options.items() if name not in without}
        path, body = self._form.request(task, sent)
        return _Asked(task, parameters, path, body, options, sent, refused)

    def _warn_of_others(self, ids: set[str]) -> None:
        """Say which of these new requests are in batches with other settings: paid, but not used."""
        names = {each[:_DIGITS] for each in ids}
        others = sum(each[:_DIGITS] in names for each in self._ledger.open)
        if others:
            LOG.warning(
                "%s in batches that were submitted with other settings: their answers are not used, unless "
                "you ask with those settings",
                f"{counted(others, 'request')} {plural(others, 'is', 'are')}",
            )

    # Submitting.

    def _submitted(self, asked: Mapping[str, _Asked]) -> list[tuple[Submission, list[str]]]:
        """Returns the batches that hold requests, having submitted what is in none."""
        for submission, _ in self._ledger.holding(asked).values():
            if submission.base_url != self._place.url:
                raise GenerationError(
                    f"requests are in a batch at {submission.base_url}, not at {self._place.url}: collect "
                    f"them with --base-url {submission.base_url}, or, to ask them again, "
                    f"{self._to_give_up(submission)}"
                )
            if submission.batch is None and not self._find(submission):
                self._ledger.dropped(submission)
        held = {each for _, ids in self._ledger.holding(asked).values() for each in ids}
        for path, lines in self._portions([v for k, v in asked.items() if k not in held]):
            self._submit(path, list(lines), list(lines.values()))
        return list(self._ledger.holding(asked).values())

    def _portions(self, asked: Sequence[_Asked]) -> Iterator[tuple[str, dict[str, bytes]]]:
        """Split requests into batches within the provider's limits, each of one path."""
        for path in sorted({each.path for each in asked}):
            lines: dict[str, bytes] = {}
            size = 0
            for each in (each for each in asked if each.path == path):
                custom_id = f"{each.id}-{self._mark}"
                line = self._batches.line(custom_id, path, each.body)
                size += len(line) + 1
                if lines and (len(lines) == self._batches.most or size > self._batches.most_bytes):
                    yield path, lines
                    lines, size = {}, len(line) + 1
                lines[custom_id] = line
            yield path, lines

    def _submit(self, path: str, ids: Sequence[str], lines: Sequence[bytes]) -> None:
        self._owner.status = "submitting"
        patience = self._engine.connection
        file = self._batches.upload(self._server.json, lines)
        submission = self._ledger.submitting(self._place.url, ids, file)
        where, content = self._batches.creation(submission, path, lines)
        for attempt in range(patience["retries"] + 1):
            reply = self._server.reply(Call("POST", where, content), retries=0)
            if isinstance(reply, dict):
                self._ledger.created(submission, self._batches.state(reply).batch)
                return
            if isinstance(reply, retrying.ErrorReply):
                if not attempt:
                    self._ledger.dropped(submission)
                raise self._server.refused(reply)
            last = reply
            # Without a clear answer, there may be such a batch all the same, now or when a later call looks.
            time.sleep(patience["backoff"].first if reply.after is None else reply.after)
            if self._find(submission):
                return
        raise self._server.unanswered(last)

    def _find(self, submission: Submission) -> bool:
        """Look for a batch whose creation was not noted; notes what it finds, and returns whether it did."""
        for look in range(_LOOKS):
            if look:
                pause(self._owner, look)
            known = self._ledger.batches
            for state in self._batches.found(self._server.json, submission):
                if state.batch not in known and self._is(state, submission):
                    self._ledger.created(submission, state.batch)
                    return True
        return False

    def _is(self, state: State, submission: Submission) -> bool:
        """Whether a batch is the one that was to be created."""
        if self._batches.is_found_by_name:
            return True
        look = 0
        while not state.ended:
            if not self._owner.wait:
                raise GenerationError(
                    f"the last call ended while it created a batch, and only the results of {state.batch} "
                    "will tell whether it is this one: run the same command again when it has ended"
                )
            self._owner.status = _shown([state])
            pause(self._owner, look)
            look += 1
            state = self._batches.state(self._server.json("GET", self._batches.path(state.batch)))
        first = next(self._server.records(state, Damage()), None)
        return first is not None and first[0] in set(submission.ids)

    # Waiting and collecting.

    def _collected(
        self, asked: Mapping[str, _Asked], batches: list[tuple[Submission, list[str]]]
    ) -> Generator[Outcome, None, int]:
        """Yield the answers of batches as these end; returns how many requests are still open."""
        look = 0
        while batches:
            running, states = [], []
            for submission, ids in batches:
                try:
                    state = self._look(submission)
                    if state is not None and state.ended:
                        of_it = {each: asked[each] for each in ids}
                        yield from self._taken(state, submission, of_it)
                        continue
                except LostError as error:
                    self._refusals.append(
                        f"{error}. Check the API key ({self._place.service.key}) and its project, and run "
                        f"the same command; if that is no help, {self._to_give_up(submission)}, and it "
                        f"asks {counted(len(ids), 'request')} again"
                    )
                    continue
                running.append((submission, ids))
                states += [] if state is None else [state]
            batches = running
            self._owner.status = _shown(states)
            if batches and not self._owner.wait:
                break
            if batches:
                pause(self._owner, look)
                look += 1
        return sum(len(ids) for _, ids in batches)

    def _to_give_up(self, submission: Submission) -> str:
        return f"remove the lines with {submission.tag} from {self._ledger.path}"

    def _look(self, submission: Submission) -> State | None:
        """Returns how a batch stands, `None` if the server does not respond for a while."""
        batch = str(submission.batch)
        reply = self._server.reply(Call("GET", self._batches.path(batch)))
        if isinstance(reply, Again):
            self._missed += 1
            if self._missed > _MISSED or not self._owner.wait:
                raise self._server.unanswered(reply)
            LOG.warning("%s: still waiting for batch %s", reply.reason, batch)
            return None
        self._missed = 0
        return self._batches.state(self._server.content(reply, f"batch {batch} is"))

    def _taken(
        self, state: State, submission: Submission, asked: Mapping[str, _Asked]
    ) -> Iterator[Outcome]:
        """Yield the answers of a batch that has ended, and put the rest aside."""
        if state.refused:
            self._ledger.settled(submission, list(asked))
            words = server.in_short(state.refused, self._place.key)
            self._refusals.append(f"the server refuses batch {state.batch}: {words}")
            return
        left, taken, damage = dict(asked), [], Damage()
        sent = set(submission.ids)
        try:
            for custom_id, reply in self._server.records(state, damage):
                known = left.pop(name_of(custom_id), None) if custom_id in sent else None
                if known is None:
                    damage.note(custom_id, is_known=custom_id in sent)
                    continue
                outcome = self._outcome(known, reply, state.batch)
                if isinstance(outcome, Answered):
                    yield outcome
                    taken.append(known.id)
                elif isinstance(outcome, Failed):
                    self._failed.append((submission, known.id, outcome))
                else:
                    self._again.append(self._asked(known.task, known.parameters, outcome))
        finally:
            self._ledger.settled(submission, taken)
        damage.warn(state.batch, self._place.key)
        reason = self._batches.missing.get(state.status, "the batch ended without a result of it")
        self._failed += [
            (submission, i, Failed(each.task, reason + damage.told, individual=True))
            for i, each in left.items()
        ]

    def _outcome(
        self, asked: _Asked, reply: Reply, batch: str
    ) -> Outcome | tuple[retrying.Unwanted, ...]:
        """Returns the answer to a task, its failure, or the optional parameters that the server refuses."""
        task, key, optional = asked.task, self._place.key, self._engine.optional
        self._engine.count(Usage(requests=1))
        if isinstance(reply, str):
            return Failed(task, server.in_short(reply, key), individual=True)
        if isinstance(reply, retrying.ErrorReply):
            option = optional.unwanted(reply, asked.options.keys())
            if option is not None:
                words = retrying.described(reply, key)
                return (*asked.refused, retrying.Unwanted(option, words))
            verdict = retrying.refusal(reply, self._form.model, self._place)
            return Failed(task, server.redacted(verdict.reason, key), individual=True)
        self._engine.count(self._form.usage(reply))
        outcome = self._form.answer(task, reply, key)
        if isinstance(outcome, Failed):
            return outcome._replace(reason=server.redacted(outcome.reason, key))
        optional.accept(asked.refused, asked.options)
        left_out = tuple(sorted(asked.whole.keys() - asked.options.keys()))
        known = outcome.details or Details()
        details = replace(known, left_out=left_out, batch=batch, sent=asked.options)
        return without_key(outcome._replace(details=details), self._place)


def pause(engine: BatchEngine, look: int) -> None:
    """Wait until it is time for another look; `look`: number of looks before, from 0."""
    poll = engine.poll
    time.sleep(min(_LONGEST, _FIRST * (1 + look / 2)) if poll is None else poll)


def _shown(states: Sequence[State]) -> str:
    if not states:
        return ""
    done, total = (sum(getattr(state, key) for state in states) for key in ("done", "total"))
    what = states[0].status.replace("_", " ") if len(states) == 1 else ""
    batches = f"{len(states):,} {plural(len(states), 'batch', 'batches')} {what}".strip()
    return f"{batches}: {done:,} of {total:,}"
