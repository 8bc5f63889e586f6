"""Runs: what is asked, what is kept, and what is gone on with."""

import errno
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import pfgen_rs
from generating import (
    BEGUN,
    CONFIG,
    QUESTIONS,
    FakeEngine,
    Place,
    answer_to,
    answers,
    claimed,
    failed,
    finished_names,
    key_of,
    names,
    wanted,
)
from helpers import CATS, SEAS
from pfgen_rs.ask import journal
from pfgen_rs.ask.journal import Journal
from pfgen_rs.ask.protocol import Answered, Failed, Outcome, available
from pfgen_rs.errors import GenerationError
from pfgen_rs.generate import RunConfig, Task, open_tasks, read_examples


class Rolling(FakeEngine):
    """Has up to `window` tasks at a time, and answers the last; `most` is how many it ever had."""

    rolling = True

    def __init__(self, reply: Any = answer_to, window: int = 3) -> None:
        super().__init__(reply)
        self.window = window
        self.most = 0

    def generate(self, tasks: Iterable[Task | None], _parameters: Any) -> Iterator[Outcome]:
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


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


class Backwards(FakeEngine):
    """Answers the last task first."""

    def generate(self, tasks: Any, parameters: Any) -> Any:
        return super().generate(tasks[::-1], parameters)


@pytest.mark.parametrize("kind", [FakeEngine, Backwards])
def test_a_run(place: Place, kind: type[FakeEngine]) -> None:
    """Lines lie in the order of the questions."""
    engine, told = kind(), []
    run = place.run(engine, progress=lambda *figures: told.append(figures), score=True)
    assert (run.finished, run.trials, run.new, run.failures) == (3, 3, 6, [])
    assert run.complete
    assert run.folder == place.folder
    assert names(run.folder) == finished_names(3)
    assert answers(run.folder) == wanted(3)
    assert (run.folder / "config.json").read_text() == run.config.to_json() + "\n"
    assert list(answers(run.folder)) == list(wanted(3))
    assert sorted(engine.asked) == sorted(wanted(3))
    assert engine.parameters == [CONFIG.parameters]
    assert [figures[:2] for figures in told] == [(n, 6) for n in range(7)]
    assert run.result is not None
    assert run.result.to_bytes() == pfgen_rs.score_file(run.folder, place.benchmark).to_bytes()


def test_finished_trials_are_not_asked_again(place: Place) -> None:
    place.run(FakeEngine(), trials=2)
    engine = FakeEngine()
    run = place.run(engine, trials=4)
    assert engine.asked == [(n, question) for n in (3, 4) for question in QUESTIONS]
    assert (run.new, answers(run.folder)) == (4, wanted(4))
    assert place.run(engine, trials=1).finished == 1
    assert len(engine.calls) == 1


def test_a_finished_run_opens_no_journal(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its folder may be one that can only be read."""
    first = place.run(FakeEngine())

    def refuse(self: Journal) -> Journal:
        raise pfgen_rs.OutputError(f"{self.path}: cannot be written")

    monkeypatch.setattr(Journal, "__enter__", refuse)
    before = {path: path.read_bytes() for path in first.folder.iterdir()}
    again = place.run(FakeEngine(), score=True)
    assert (again.finished, again.complete) == (3, True)
    assert {path: path.read_bytes() for path in first.folder.iterdir()} == before
    with pytest.raises(pfgen_rs.OutputError, match=r"journal\.jsonl: cannot be written"):
        place.run(FakeEngine(), trials=4)


@pytest.mark.parametrize("end", [None, KeyboardInterrupt(), GenerationError("no server")])
def test_answers_of_an_unfinished_trial_stay(place: Place, end: Any) -> None:
    stopping = FakeEngine(lambda task: end if key_of(task) == (2, SEAS) else answer_to(task))
    if end is None:
        assert place.run(stopping).finished == 1
    else:
        with pytest.raises(type(end)):
            place.run(stopping)
    assert stopping.closed == 1
    kept = [*BEGUN, "trial_001.jsonl"]
    assert [name for name in names(place.folder) if name != "trials.jsonl.xz"] == kept
    engine = FakeEngine()
    run = place.run(engine)
    assert engine.asked == [(2, SEAS), (3, CATS), (3, SEAS)]
    assert names(run.folder) == finished_names(3)
    assert answers(run.folder) == wanted(3)


@pytest.mark.parametrize("kind", [FakeEngine, Rolling])
def test_empty_answers_are_asked_again_with_other_seeds(place: Place, kind: Any) -> None:
    seeds: dict[Any, list[int]] = {}

    def reply(task: Task) -> str:
        seeds.setdefault(key_of(task), []).append(task.seed)
        return "\n\nQ: 何？" if len(seeds[key_of(task)]) < task.trial else answer_to(task)

    engine = kind(reply)
    run = place.run(engine)
    assert answers(run.folder) == wanted(3)
    assert [len(call) for call in engine.calls] == ([12] if kind is Rolling else [6, 4, 2])
    for (trial, _), used in seeds.items():
        assert len(used) == len(set(used)) == trial


def test_rounds_have_an_end(place: Place) -> None:
    engine = FakeEngine(lambda task: " " if key_of(task) == (2, CATS) else answer_to(task))
    run = place.run(engine)
    assert engine.asked.count((2, CATS)) == 10
    assert failed(run) == [(2, CATS, "the answer was empty in all rounds (10)")]
    assert (run.finished, run.complete) == (2, False)


@pytest.mark.parametrize("kind", [FakeEngine, Rolling])
def test_failures_are_asked_again_by_the_next_call(place: Place, kind: Any) -> None:
    def failing(task: Task) -> Any:
        return ValueError(f"so {task.trial}") if task.trial != 2 else answer_to(task)

    run = place.run(kind(failing))
    assert sorted(failed(run)) == sorted((n, q, f"so {n}") for n in (1, 3) for q in QUESTIONS)
    assert list(answers(run.folder)) == [(2, CATS), (2, SEAS)]
    assert names(run.folder) == [*BEGUN, "trial_002.jsonl", "trials.jsonl.xz"]
    last = kind()
    assert place.run(last).complete
    assert last.asked == [(n, question) for n in (1, 3) for question in QUESTIONS]
    assert answers(run.folder) == wanted(3)


def test_post_processing_is_part_of_the_run(place: Place) -> None:
    config = RunConfig("fake", "org/model", "qa", more={"think": "strip"})
    blank = FakeEngine(lambda t: f"<think>A: x</think>Q: A: {answer_to(t)}")
    run = place.run(blank, config, keep_going=True)
    assert len(run.failures) == 6  # the stop string stands first
    run = place.run(FakeEngine(lambda t: f"<think>Q: x</think>A: {answer_to(t)}Q: "), config)
    assert answers(run.folder) == wanted(3)
    assert json.loads((run.folder / "config.json").read_text())["think"] == "strip"


def test_seed_and_prefix_of_the_configuration_are_used(place: Place) -> None:
    engine = FakeEngine()
    place.run(engine, RunConfig("fake", "m", more={"seed": "日本", "prefix": "<s>"}), trials=1)
    plain = FakeEngine()
    place.run(plain, trials=1)
    [seeded], [other] = engine.calls, plain.calls
    assert all(task.prompt.startswith("<s>## ") for task in seeded)
    assert {task.seed for task in seeded} != {task.seed for task in other}


def test_benchmarks_of_every_kind(place: Place) -> None:
    loaded = pfgen_rs.load_benchmark(place.benchmark)
    first = place.run(FakeEngine(), benchmark=loaded, score=True)
    assert first.result is not None
    assert open_tasks(CONFIG, benchmark=loaded, trials=3, results=place.results) == []
    alone = type(loaded)(list(loaded), "")
    with pytest.raises(pfgen_rs.SettingsError, match="as `examples`"):
        place.run(FakeEngine(), benchmark=alone)
    again = place.run(FakeEngine(), benchmark=alone, examples=read_examples(place.benchmark))
    assert (again.folder, again.new) == (first.folder, 0)


def test_what_another_process_gave_up_is_taken_over(place: Place) -> None:
    place.folder.mkdir(parents=True)
    with claimed(place.folder, 1) as (other, release):
        other.add({"trial": 1, "question": SEAS, "answer": "別の答え", "timestamp": "2026"})
        busy = place.run(FakeEngine(), trials=2)
        assert (busy.elsewhere, busy.finished, busy.complete) == (1, 1, False)

    with claimed(place.folder, 1) as (other, release):

        def reply(task: Task) -> str:
            release()
            return answer_to(task)

        engine = FakeEngine(reply)
        run = place.run(engine)
    assert engine.asked == [(3, CATS), (3, SEAS), (1, CATS)]
    assert (run.elsewhere, run.complete) == (0, True)
    assert answers(run.folder) == {**wanted(3), (1, SEAS): "別の答え"}


def test_open_tasks(place: Place) -> None:
    def tasks() -> list[Task]:
        return open_tasks(CONFIG, benchmark=place.benchmark, trials=3, results=place.results)

    everything = tasks()
    assert [key_of(task) for task in everything] == list(wanted(3))
    assert not place.results.exists()
    place.run(
        FakeEngine(
            lambda task: None if task.trial == 2 and task.question == SEAS else answer_to(task)
        )
    )
    assert tasks() == everything[3:]


def test_engines_that_break_the_protocol(place: Place) -> None:
    class Doubled(FakeEngine):
        def generate(self, tasks: Any, parameters: Any) -> Any:
            yield from [*super().generate(tasks, parameters)] * 2

    with pytest.raises(GenerationError, match="a second one"):
        place.run(Doubled())
    assert place.run(FakeEngine()).complete


REFUSED: dict[str, tuple[str, bytes | None, bytes, str]] = {
    "configuration": ("config.json", b"0.98", b"0.99", "does not match the configuration"),
    "empty trial": ("trial_002.jsonl", None, b"", "trial_002"),
    "other question": ("trial_002.jsonl", None, b'{"question": "Q", "answer": "A"}\n', "trial_002"),
    "no answer": ("trial_002.jsonl", None, b"{}\n", "trial_002"),
    "bytes": ("trial_002.jsonl", None, b"\xff\n", "trial_002"),
    "damaged": (
        "trial_002.jsonl",
        b'"question"',
        b"question",
        r"2\.jsonl, line 1: .*remove the file",
    ),
    "no trials": (
        "trial_001.jsonl",
        None,
        b"",
        "has 2 lines that are not in the trial files beside",
    ),
    "record": (
        "journal.jsonl",
        None,
        b'{"question": "q", "trial": 1}\n',
        "line 1: is not the record of",
    ),
    "trial": (
        "journal.jsonl",
        None,
        b'{"question": "q", "trial": true, "answer": "a"}\n',
        "line 1: is not the record of",
    ),
}
"""A file, what is replaced in it (`None`: all), with what, and what is said then."""


@pytest.mark.parametrize("kind", REFUSED)
def test_strange_folders_are_refused_and_stay(place: Place, kind: str) -> None:
    name, old, new, said = REFUSED[kind]
    place.run(FakeEngine(), trials=2)
    path, engine = place.folder / name, FakeEngine()
    path.write_bytes(new if old is None else path.read_bytes().replace(old, new))
    if kind == "no trials":
        path.unlink()
    before = {path: path.read_bytes() for path in place.folder.iterdir()}
    with pytest.raises((GenerationError, pfgen_rs.InputError), match=said):
        place.run(engine)
    assert engine.calls == []
    assert {path: path.read_bytes() for path in place.folder.iterdir()} == before


def test_what_cannot_be_is_told(place: Place) -> None:
    with pytest.raises(pfgen_rs.SettingsError, match="trials must be at least 1"):
        place.run(FakeEngine(), trials=0)
    assert not place.results.exists()
    place.results.write_text("in the way")
    with pytest.raises(pfgen_rs.OutputError, match="cannot be written"):
        place.run(FakeEngine())


@pytest.mark.parametrize("name", ["config.json", "trials.jsonl.xz", "trial_001.jsonl"])
def test_leftovers_of_killed_writers_go(place: Place, name: str) -> None:
    place.run(FakeEngine(), trials=1)
    (place.folder / "trial_001.jsonl").unlink()
    (place.folder / "trials.jsonl.xz").unlink()
    (place.folder / f".{name}.0123456789abcdef.tmp").write_bytes(b"torn")
    place.run(FakeEngine(), trials=1)
    assert names(place.folder) == finished_names(1)


def test_a_disk_that_is_full_once(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever file it hits: what was answered is not asked again."""
    real, left = os.fsync, 0

    def fsync(handle: int) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    for hit in range(1, 6):  # configuration, three trials, packed trials; then the summary
        left, asked = hit, FakeEngine()
        with pytest.raises(pfgen_rs.OutputError, match="No space left"):
            place.run(asked, RunConfig("fake", f"full/{hit}"))
        again = FakeEngine()
        run = place.run(again, RunConfig("fake", f"full/{hit}"))
        answered = asked.asked[: 2 * (hit - 1)]
        assert again.asked == [key for key in wanted(3) if key not in answered]
        assert answers(run.folder) == wanted(3)
        assert names(run.folder) == finished_names(3)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2000), st.sampled_from([b"", b"\n", b"{}\n", b'{"trial": []}\n']))
def test_a_torn_journal(tmp_path_factory: pytest.TempPathFactory, cut: int, rubbish: bytes) -> None:
    place = Place(tmp_path_factory.mktemp("torn"))
    place.run(FakeEngine(lambda task: None if key_of(task) == (3, SEAS) else answer_to(task)))
    for path in place.folder.glob("trial*"):
        path.unlink()
    path = place.folder / "journal.jsonl"
    content = path.read_bytes()[:cut] + rubbish
    path.write_bytes(content)
    engine = FakeEngine()
    lines = [line for line in content.splitlines(keepends=True) if line.endswith(b"\n")]
    try:
        kept = sum(bool(json.loads(line)["answer"]) for line in lines if line.strip())
    except (ValueError, KeyError):
        with pytest.raises(pfgen_rs.InputError, match=r"journal\.jsonl, line .*remove the line"):
            place.run(engine)
        return
    run = place.run(engine)
    assert engine.asked == list(wanted(3))[kept:]
    assert answers(run.folder) == wanted(3)


def test_a_trial_whose_file_is_lost_is_written_again(place: Place) -> None:
    place.run(FakeEngine())
    before = (place.folder / "trial_002.jsonl").read_bytes()
    (place.folder / "trial_002.jsonl").unlink()
    (place.folder / "trials.jsonl.xz").unlink()
    engine = FakeEngine()
    assert place.run(engine).complete
    assert engine.asked == []
    assert (place.folder / "trial_002.jsonl").read_bytes() == before


def test_requests_are_claimed_as_they_are_taken(place: Place) -> None:
    claims: list[int] = []

    def reply(task: Task) -> str:
        claims.append(len(journal._CLAIMED))
        return answer_to(task)

    asked = Rolling(reply, window=1)
    run = place.run(asked, trials=7)
    assert claims == [1] * 14
    assert (len(asked.calls), asked.asked) == (1, list(wanted(7)))
    assert answers(run.folder) == wanted(7)
    assert names(run.folder) == finished_names(7)


def test_a_task_that_takes_long_delays_no_other(place: Place) -> None:
    order: list[Any] = []

    def reply(task: Task) -> str:
        order.append(key_of(task))
        return answer_to(task)

    asked = Rolling(reply, window=3)
    run = place.run(asked, trials=7)
    assert len(asked.calls) == 1
    assert order[-1] == (1, CATS)  # asked first, and answered last
    assert answers(run.folder) == wanted(7)


def fail_to_claim(failing: int, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Journal.claim

    def claim(self: Journal, key: Any) -> bool:
        if key[0] == failing:
            raise pfgen_rs.OutputError("no room")
        return real(self, key)

    monkeypatch.setattr(Journal, "claim", claim)


def test_a_claim_that_fails_ends_the_engine_s_work(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_to_claim(3, monkeypatch)
    asked = Rolling(window=1)
    with pytest.raises(pfgen_rs.OutputError, match="no room"):
        place.run(asked)
    assert asked.closed == 1
    assert list(answers(place.folder)) == list(wanted(2))
