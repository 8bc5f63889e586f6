"""Runs with engines that take tasks as they have room: no trial waits for those before it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import fault_server as faults
from engine_tasks import engine
from fault_server import FaultServer
from generating import (
    CONFIG,
    QUESTIONS,
    FakeEngine,
    answer_to,
    answers,
    claimed,
    finished_names,
    key_of,
    names,
    wanted,
    write_samples,
)
from helpers import CATS
from pfgen_rs import OutputError
from pfgen_rs.ask import journal
from pfgen_rs.ask.engines.command import CommandEngine
from pfgen_rs.ask.protocol import Answered, Failed, Outcome, Parameters, available
from pfgen_rs.generate import Task, read_examples
from pfgen_rs.generate.config import RunConfig
from pfgen_rs.generate.run_folder import Failure, RunFolder
from pfgen_rs.generate.runner import Run, generate


class Rolling(FakeEngine):
    """Has up to `window` tasks at a time, and answers the last; `most` is how many it ever had."""

    rolling = True

    def __init__(self, reply: Any = answer_to, window: int = 3) -> None:
        super().__init__(reply)
        self.window = window
        self.most = 0

    def generate(self, tasks: Iterable[Task | None], _parameters: Parameters) -> Iterator[Outcome]:
        source, held = iter(tasks), list[Task]()
        self.calls.append([])
        try:
            while True:
                more = available(source, self.window - len(held))
                held += more
                self.calls[-1] += more
                self.most = max(self.most, len(held))
                if not held:
                    return
                task = held.pop()
                reply = self.reply(task)
                if reply is None:
                    return
                if isinstance(reply, ValueError):
                    yield Failed(task, str(reply))
                else:
                    yield Answered(task, str(reply))
        finally:
            self.closed += 1


class Place:
    """Where the runs of a test lie."""

    def __init__(self, folder: Path) -> None:
        self.benchmark = write_samples(folder / "tiny")
        self.results = folder / "result"

    def run(self, engine: Any, **options: Any) -> Run:
        options = {"trials": 7, "benchmark": self.benchmark, **options}
        return generate(options.pop("config", CONFIG), engine, results=self.results, **options)

    @property
    def folder(self) -> Path:
        return CONFIG.with_questions(read_examples(self.benchmark)).folder(self.results)

    def claimed(self) -> int:
        return len(journal._CLAIMED)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_trials_are_claimed_as_their_tasks_are_taken(place: Place) -> None:
    claimed: list[int] = []

    def reply(task: Task) -> str:
        claimed.append(place.claimed())
        return answer_to(task)

    asked = Rolling(reply, window=1)
    run = place.run(asked)
    assert claimed == [1] * 14
    assert asked.calls == [asked.calls[0]]
    assert asked.asked == list(wanted(7))
    assert answers(run.folder) == wanted(7)
    assert names(run.folder) == finished_names(7)


def test_a_task_that_takes_long_delays_no_other(place: Place) -> None:
    order: list[Any] = []

    def reply(task: Task) -> str:
        order.append(key_of(task))
        return answer_to(task)

    asked = Rolling(reply, window=3)
    run = place.run(asked, batch=4)
    assert len(asked.calls) == 1
    assert order[-1] == (1, CATS)  # asked first, and answered last
    assert answers(run.folder) == wanted(7)


def test_as_many_tasks_are_open_as_allowed(place: Place) -> None:
    asked = Rolling(window=100)
    place.run(asked, batch=1)
    assert asked.most == len(QUESTIONS)
    assert len(asked.calls) == 1
    assert answers(place.folder) == wanted(7)


def test_empty_answers_are_asked_again_at_once(place: Place) -> None:
    seeds: dict[Any, list[int]] = {}

    def reply(task: Task) -> str:
        seeds.setdefault(key_of(task), []).append(task.seed)
        return " " if len(seeds[key_of(task)]) < task.trial else answer_to(task)

    asked = Rolling(reply)
    assert answers(place.run(asked).folder) == wanted(7)
    assert len(asked.calls) == 1
    for (trial, _), used in seeds.items():
        assert len(used) == len(set(used)) == trial


def test_failures_and_ends_are_as_with_other_engines(place: Place) -> None:
    run = place.run(Rolling(lambda t: ValueError("no") if t.trial == 2 else answer_to(t)))
    assert run.failures == [Failure(question, 2, "no") for question in QUESTIONS]
    assert run.finished == 6

    quitting = Rolling(lambda task: answer_to(task) if task.trial < 9 else None, window=1)
    run = place.run(quitting, trials=10)
    assert (run.finished, run.unfinished, len(quitting.calls)) == (7, 3, 1)

    class Idle(Rolling):
        def generate(self, *_: Any) -> Iterator[Outcome]:
            return iter(())

    assert place.run(Idle(), trials=10).answers == 0
    assert place.run(Rolling(), trials=10, retry_failed=True).complete


def test_trials_of_other_processes_are_tried_at_the_end(place: Place) -> None:
    place.run(Rolling(), trials=1)
    with claimed(place.folder, 2) as (_, release):

        def reply(task: Task) -> str:
            release()
            return answer_to(task)

        asked = Rolling(reply, window=1)
        run = place.run(asked, trials=3)
    assert asked.asked == [(n, question) for n in (3, 2) for question in QUESTIONS]
    assert (run.elsewhere, run.complete) == ([], True)


def fail_to_claim(failing: int, monkeypatch: pytest.MonkeyPatch) -> None:
    real = RunFolder.claim

    def claim(folder: RunFolder, trial: int) -> bool:
        if trial == failing:
            raise OutputError("no room")
        return real(folder, trial)

    monkeypatch.setattr(RunFolder, "claim", claim)


def test_a_claim_that_fails_ends_the_engine_s_work(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_to_claim(3, monkeypatch)
    asked = Rolling(window=1)
    with pytest.raises(OutputError, match="no room"):
        place.run(asked)
    assert asked.closed == 1
    assert list(answers(place.folder)) == list(wanted(2))


def test_a_server_that_puts_one_task_off_delays_that_task_alone(place: Place) -> None:
    pytest.importorskip("aiohttp", reason="the package aiohttp is not installed")
    slow = f"Q: {CATS}"
    later = faults.status(429, "later", {"retry-after": "2"})
    config = RunConfig("openai-api", "m", "chat")
    with FaultServer({slow: [later]}, faults.answer("はい。")) as server:
        asking = engine(server, concurrency=4, backoff=None)
        run = place.run(asking, config=config, trials=40, batch=8)
        assert run.complete
    put_off = server.attempts(slow)[0]
    first, again = (asked for asked in server.asked if asked.body == put_off.body)
    assert again.at - first.at >= 2
    assert len(server.asked) == 81
    assert [asked for asked in server.asked if asked.at >= again.at] == [again]


HOLDING = """
import json, sys
def answer(task):
    text = f"試行{task['trial']}の答え：{task['question'][:3]}"
    print(json.dumps({"id": task["id"], "answer": text}), flush=True)
first, seen = None, 0
for line in sys.stdin:
    task = json.loads(line)
    seen += 1
    if first is None:
        first = task
    else:
        answer(task)
    if seen == 14:
        answer(first)
"""


def test_a_program_gets_a_task_for_each_answer(place: Place, tmp_path: Path) -> None:
    """This one answers the first task once it has all: it would never get them in batches."""
    script = tmp_path / "holding.py"
    script.write_text(HOLDING, encoding="utf-8")
    asked = CommandEngine("m", command=[sys.executable, "-X", "utf8", str(script)], timeout=5.0)
    assert place.run(asked, batch=4).complete
    asked.close()
    assert answers(place.folder) == wanted(7)


def test_a_program_is_stopped_if_no_more_can_be_claimed(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_to_claim(3, monkeypatch)
    script = tmp_path / "holding.py"
    script.write_text(HOLDING, encoding="utf-8")
    asked = CommandEngine("m", command=[sys.executable, "-X", "utf8", str(script)], timeout=5.0)
    with pytest.raises(OutputError, match="no room"):
        place.run(asked, batch=4)
    assert asked._program is None
