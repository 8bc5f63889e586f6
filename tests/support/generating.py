"""What tests of generation share: a tiny benchmark with samples, engines in memory, and run folders."""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from helpers import CATS, GOOD, SEAS, lines, write_benchmark
from pfgen_rs.ask.journal import Journal
from pfgen_rs.ask.protocol import Answered, Failed, Outcome, Parameters
from pfgen_rs.generate import Run, RunConfig, Task, generate, read_examples

CONFIG = RunConfig("fake", "org/model")
QUESTIONS = [CATS, SEAS]
Key = tuple[int, str]
BEGUN = [".journal.jsonl.claims", "config.json", "generation.json", "journal.jsonl"]


def write_samples(folder: Path) -> Path:
    """The tiny benchmark with its example answers."""
    write_benchmark(folder)
    (folder / "questions.jsonl").write_bytes(lines(GOOD[:2]))
    return folder


def answer_to(task: Task) -> str:
    """What engines of tests answer."""
    return f"試行{task.trial}の答え：{task.question[:3]}"


def key_of(task: Task) -> Key:
    return task.trial, task.question


class Place:
    """Where the runs of a test lie, and for which questions."""

    def __init__(self, folder: Path) -> None:
        self.benchmark = write_samples(folder / "tiny")
        self.results = folder / "result"

    def run(self, engine: Any, config: RunConfig = CONFIG, **options: Any) -> Run:
        options = {"trials": 3, "benchmark": self.benchmark, **options}
        return generate(config, engine, results=self.results, **options)

    @property
    def folder(self) -> Path:
        return CONFIG.with_questions(read_examples(self.benchmark)).folder(self.results)


def failed(run: Run) -> list[tuple[int, str, str]]:
    """Trial, question and reason of what failed."""
    return [(each.about["trial"], each.about["question"], each.reason) for each in run.failures]


class FakeEngine:
    """Answers as it is told to; `asked` and `calls` hold the tasks that it was given."""

    name = "fake"

    def __init__(self, reply: Callable[[Task], str | Exception | None] = answer_to) -> None:
        self.reply = reply
        self.calls: list[list[Task]] = []
        self.parameters: list[Parameters] = []
        self.closed = 0

    @property
    def asked(self) -> list[Key]:
        return [key_of(task) for call in self.calls for task in call]

    def generate(self, tasks: Sequence[Task], parameters: Parameters) -> Iterator[Outcome]:
        """Text is an answer, a `ValueError` a failure, `None` the end; other exceptions are raised."""
        self.calls.append(list(tasks))
        self.parameters.append(parameters)
        try:
            for task in tasks:
                reply = self.reply(task)
                if reply is None:
                    return
                if isinstance(reply, ValueError):
                    yield Failed(task, str(reply))
                elif isinstance(reply, str):
                    yield Answered(task, reply)
                else:
                    raise reply
        finally:
            self.closed += 1

    def close(self) -> None:
        """Hold nothing."""


def names(folder: Path) -> list[str]:
    """What lies in a folder, hidden files too."""
    return sorted(path.name for path in folder.iterdir())


def finished_names(trials: int) -> list[str]:
    """What lies in the folder of a run that is done."""
    return [*BEGUN, *(f"trial_{n:03d}.jsonl" for n in range(1, trials + 1)), "trials.jsonl.xz"]


def answers(folder: Path) -> dict[Key, str]:
    """The answers of the finished trials of a run, after a look whether these are whole."""
    found: dict[Key, str] = {}
    every = []
    for path in sorted(folder.glob("trial_*.jsonl")):
        text = path.read_bytes()
        assert text.endswith(b"\n")
        every += text.splitlines(keepends=True)
        records = [json.loads(line) for line in text.splitlines()]
        assert [list(record) for record in records] == [["question", "answer", "timestamp"]] * len(
            records
        )
        for record in records:
            found[int(path.stem[6:]), record["question"]] = record["answer"]
    packed = folder / "trials.jsonl.xz"
    if packed.exists():
        assert lzma.decompress(packed.read_bytes()) == b"".join(sorted(every))
    return found


def journal(folder: Path) -> list[dict[str, Any]]:
    """The records of a run's answers."""
    text = (folder / "journal.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@contextmanager
def claimed(folder: Path, trial: int) -> Iterator[tuple[Journal, Callable[[], None]]]:
    """Claims of another process on a trial: its journal, and what ends the claims."""
    keys = [(trial, question) for question in QUESTIONS]
    with Journal(folder / "journal.jsonl", ("trial", "question")) as other:
        assert all(map(other.claim, keys))

        def release() -> None:
            for key in keys:
                other.release(key)

        yield other, release


def wanted(trials: int) -> dict[Key, str]:
    """The answers of a run that is done."""
    return {
        (trial, question): f"試行{trial}の答え：{question[:3]}"
        for trial in range(1, trials + 1)
        for question in QUESTIONS
    }
