"""The registry of engines, coroutines in a thread of their own, and journals that share what they lock."""

import asyncio
import inspect
import json
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from engine_tasks import tasks
from generating import FakeEngine
from helpers import pfgen
from pfgen_rs.ask import engines
from pfgen_rs.ask.engines.command import task_line
from pfgen_rs.ask.engines.manual import AnswersFile
from pfgen_rs.ask.gathering import Gathered
from pfgen_rs.ask.journal import Journal
from pfgen_rs.ask.protocol import ABILITIES, Parameters, abilities
from pfgen_rs.ask.window import Window
from pfgen_rs.errors import SettingsError
from pfgen_rs.io.cleaning import Mode
from places import ROOT

TURNS = (("user", "u1"), ("assistant", "a1"))
COLUMNS = ("completion", "chat", "history", "seed", "logprobs", "usage")


@pytest.mark.parametrize("name", engines.names())
def test_every_engine(name: str) -> None:
    kind = engines.kind(name)
    assert kind.name
    assert kind.__doc__
    assert {"chat"} <= abilities(kind) <= ABILITIES
    assert len(inspect.signature(kind.generate).parameters) == 3
    assert callable(kind.close)
    assert "api_key" not in engines.options(name)
    assert engines.recorded_name(name) == kind.name
    if "more" not in engines.options(name):  # else any option may be one of its library
        needs: dict[str, dict[str, object]] = {
            "command": {"command": "true"},
            "manual": {"path": "answers.jsonl"},
        }
        with pytest.raises(SettingsError, match=rf"engine {name}: .*'colour'.* \(its options: "):
            engines.make(name, "m", **needs.get(name, {}), colour="red")


@pytest.mark.parametrize(("page", "yes"), [("generate.md", "yes"), ("generate.ja.md", "○")])
def test_the_pages_say_what_engines_can_do(page: str, yes: str) -> None:
    text = (ROOT / "docs" / "how-to" / page).read_text(encoding="utf-8")
    table = [
        " | ".join(
            [name, *(yes if each in abilities(engines.kind(name)) else "–" for each in COLUMNS)]
        )
        for name in engines.names()
    ]
    assert "\n".join(f"| {row} |" for row in table) in text


def test_an_engine_without_declared_abilities_has_the_two_modes(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_bytes(b"")
    assert abilities(FakeEngine()) == abilities(AnswersFile("m", path)) == {"completion", "chat"}


def test_options_decide_which_engines_have_them() -> None:
    assert engines.names_with("timeout") == ["openai", "anthropic", "command"]
    assert engines.names_with("colour") == []
    with pytest.raises(SettingsError, match="unknown engine 'psychic': expected one of openai, "):
        engines.make("psychic", "m")


OTHER = """
from pfgen_rs.ask import Answered

class Parrot:
    name = "parrot"

    def __init__(self, model, *, word="ok"):
        self.word = word

    def generate(self, tasks, parameters):
        for task in tasks:
            yield Answered(task, self.word)

    def close(self):
        pass
"""


def test_an_engine_of_another_package(tmp_path: Path) -> None:
    info = tmp_path / "parrots-1.dist-info"
    info.mkdir()
    (tmp_path / "parrots.py").write_text(OTHER)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: parrots\nVersion: 1\n")
    points = ["parrot = parrots:Parrot", "openai = parrots:Parrot"]  # the second hides nothing
    points.append("finch = parrots:Finch")
    (info / "entry_points.txt").write_text("\n".join(["[pfgen_rs.engines]", *points]))
    asked = ("generate", "org/m", "-b", "mini", "--trials=1", f"--out={tmp_path}", "--set=word=hm")
    env = {"PYTHONPATH": str(tmp_path)}
    done = pfgen(*asked, "--engine=parrot", env=env)
    assert done.returncode == 0, done.stderr
    [trial] = tmp_path.rglob("trial_001.jsonl")
    answers = [json.loads(line)["answer"] for line in trial.read_text("utf-8").splitlines()]
    assert set(answers) == {"hm"}
    config = json.loads((trial.parent / "config.json").read_text("utf-8"))
    assert (config["engine"], config["word"]) == ("parrot", "hm")
    none = pfgen(*asked, "--engine=crow", env=env)
    assert none.returncode == 2
    assert "unknown engine 'crow'" in none.stderr
    assert "manual, parrot, finch" in none.stderr
    broken = pfgen(*asked, "--engine=finch", env=env)
    assert (broken.returncode, "Traceback" in broken.stderr) == (2, False)
    assert "error: engine 'finch' of parrots:Finch: module 'parrots' has no" in broken.stderr
    beside = pfgen(*asked, "--engine=parrot", "--concurrency=2", env=env)
    assert "--concurrency requires the engine openai" in beside.stderr


@pytest.mark.parametrize("mode", ["chat", "qa"])
def test_earlier_turns_lie_between_the_system_message_and_the_prompt(mode: Mode) -> None:
    [task] = tasks(mode=mode)
    turns = [{"role": role, "content": text} for role, text in TURNS]
    expected = [*task.messages[:-1], *turns, task.messages[-1]]
    later = replace(task, history=TURNS)
    assert later.messages == expected
    record = json.loads(task_line(1, later, Parameters()))
    assert record["messages"] == expected
    assert "prompt" not in record


# Coroutines in a thread of their own, fed from a lazy iterator: order, limits, errors and threads.


Work = Callable[[int], Awaitable[int]]


def opening(work: Work) -> Callable[[], AbstractAsyncContextManager[Work]]:
    @asynccontextmanager
    async def opened() -> AsyncIterator[Work]:
        yield work

    return opened


async def same(item: int) -> int:
    await asyncio.sleep(0)
    return item


class Source:
    """Items that are made when they are taken; `most` is how far they were ever ahead of `done`."""

    def __init__(self, count: int) -> None:
        self.taken = self.done = self.most = 0
        self.threads: set[int] = set()
        self._count = count

    def __iter__(self) -> Iterator[int | None]:
        while self.taken < self._count:
            self.threads.add(threading.get_ident())
            self.taken += 1
            self.most = max(self.most, self.taken - self.done)
            yield self.taken


@pytest.mark.parametrize("concurrency", [1, 2, 5, 64])
def test_every_item_is_done_once_and_taken_by_the_consumer(concurrency: int) -> None:
    source, results = Source(500), []
    for result in Gathered(source, opening(same), Window(concurrency)):
        source.done += 1
        results.append(result)
    assert sorted(results) == list(range(1, 501))
    assert concurrency <= source.most <= 2 * concurrency
    assert source.threads == {threading.get_ident()}


def test_one_that_takes_long_holds_nobody_up() -> None:
    over = threading.Event()

    async def work(item: int) -> int:
        while item == 1 and not over.is_set():
            await asyncio.sleep(0.005)
        return item

    results = Gathered(iter(range(1, 301)), opening(work), Window(4))
    assert {next(results) for _ in range(299)} == set(range(2, 301))
    over.set()
    assert list(results) == [1]


def test_items_that_come_up_with_results_are_done_too() -> None:
    """Each result brings the next item; until then there is none."""
    ready, taken = [1], 0

    def source() -> Iterator[int | None]:
        nonlocal taken
        while taken < 50:
            if ready:
                taken += 1
                yield ready.pop()
            else:
                yield None

    results = []
    for result in Gathered(source(), opening(same), Window(8)):
        results.append(result)
        ready.append(result + 1)
    assert results == list(range(1, 51))


def test_waiting_takes_no_time_of_the_processor() -> None:
    async def work(item: int) -> int:
        await asyncio.sleep(1.0)
        return item

    def source() -> Iterator[int | None]:
        yield 1
        while True:
            yield None

    results = Gathered(source(), opening(work), Window(64))
    begun = time.process_time()
    assert next(results) == 1
    assert time.process_time() - begun < 0.5
    results.close()


def test_an_error_comes_after_the_results_before_it_and_cancels_the_rest() -> None:
    cancelled = threading.Semaphore(0)

    async def work(item: int) -> int:
        if item == 3:
            await asyncio.sleep(0.1)
            raise ValueError("three")
        if item > 3:
            try:
                await asyncio.sleep(60)
            finally:
                cancelled.release()
        return item

    results = Gathered(range(1, 100), opening(work), Window(4))
    assert [next(results), next(results)] == [1, 2]
    with pytest.raises(ValueError, match="three"):
        list(results)
    for _ in range(3):
        assert cancelled.acquire(timeout=10)
    assert not cancelled.acquire(blocking=False)


def test_an_error_of_the_source_or_of_opening_is_raised() -> None:
    def source() -> Iterator[int | None]:
        yield 1
        yield None
        raise OSError("no more files")

    results = Gathered(source(), opening(same), Window(4))
    assert next(results) == 1
    with pytest.raises(OSError, match="no more files"):
        next(results)

    @asynccontextmanager
    async def broken() -> AsyncIterator[Work]:
        raise ValueError("no client")
        yield same

    with pytest.raises(ValueError, match="no client"):
        list(Gathered([1], broken, Window(2)))


def test_what_was_opened_is_closed_at_the_end() -> None:
    closed = []

    @asynccontextmanager
    async def opened() -> AsyncIterator[Work]:
        try:
            yield same
        finally:
            closed.append(True)

    assert list(Gathered([1, 2], opened, Window(2))) == [1, 2]
    assert closed == [True]
    assert list(Gathered([], opened, Window(2))) == []
    results = Gathered(range(100), opened, Window(2))
    next(results)
    results.close()
    assert closed[1:] in ([True], [True, True])
    assert len([t for t in threading.enumerate() if t.name == "pfgen-rs"]) == 0


# Journals of one process share what they lock.


CLAIMS = """
import sys
from pathlib import Path
from pfgen_rs.ask.journal import Journal
with Journal(Path(sys.argv[1]), ("id",)) as journal:
    print(journal.claim(("a",)), journal.claim(("b",)))
"""


def test_closing_a_journal_keeps_the_claims_of_another(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with Journal(path, ("id",)) as first:
        assert first.claim(("a",))
        with Journal(path, ("id",)) as second:
            assert second.claim(("b",))
        command = [sys.executable, "-c", CLAIMS, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
