"""Processes that share a cache folder build an index once, whatever happens to the one that builds."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import helpers
from pfgen_rs.io.locks import lock
from pfgen_rs.questions import index_cache

fcntl = pytest.importorskip("fcntl")

BUILD = """
import logging, sys, time, pfgen_rs
from pfgen_rs.questions.question_set import QuestionSet
logging.basicConfig(level=logging.INFO, format="%(message)s")
seconds, make = float(sys.argv[2]), QuestionSet._scorer

def slowly(self, question):
    if self._cache.load(self._numbers[question.id]) is None:
        print("building", flush=True)
        time.sleep(seconds)
    return make(self, question)

QuestionSet._scorer = slowly
print(pfgen_rs.load_benchmark(sys.argv[1]).prepare(threads=1).score("Q01", "猫は眠ります。").average)
"""


@pytest.fixture
def start(tmp_path: Path) -> Callable[[float], subprocess.Popen[str]]:
    """Starts a process that needs the index, and takes these seconds a question to build it."""
    folder = helpers.write_benchmark(tmp_path / "questions")
    environment = helpers.environment(PFGEN_RS_CACHE=str(tmp_path / "shared"))

    def started(seconds: float) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", BUILD, str(folder), str(seconds)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            text=True,
        )

    return started


def files_of_cache(tmp_path: Path) -> list[str]:
    return sorted(path.suffix for path in (tmp_path / "shared" / "indexes").iterdir())


def test_processes_that_start_together_build_once(
    start: Callable[[float], subprocess.Popen[str]], tmp_path: Path
) -> None:
    running = [start(0.3) for _ in range(2)]
    said = [process.communicate() for process in running]
    assert not any(process.returncode for process in running)
    assert sum(errors.count(": built") for _, errors in said) == 1
    assert sum(out.count("building") for out, _ in said) == 2  # the two questions
    assert len({out.splitlines()[-1] for out, _ in said}) == 1
    assert files_of_cache(tmp_path) == [".pfgenidx"]


def test_another_takes_over_from_one_that_is_killed(
    start: Callable[[float], subprocess.Popen[str]], tmp_path: Path
) -> None:
    with start(60) as killed:
        assert killed.stdout is not None
        assert killed.stdout.readline() == "building\n"
        with start(0) as other:
            assert other.stderr is not None
            assert "waiting for the process that builds it" in other.stderr.readline()
            assert other.poll() is None
            killed.kill()
            out, errors = other.communicate()
    assert other.returncode == 0
    assert out.count("building") == 2
    assert ": built" in errors
    assert files_of_cache(tmp_path) == [".pfgenidx"]


def test_without_locks_everyone_builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    waits: list[None] = []
    index = tmp_path / "a.pfgenidx"
    with (
        index_cache.alone(index, lambda: waits.append(None)),
        index_cache.alone(index, lambda: waits.append(None)),
    ):
        pass
    assert waits == []


def test_nobody_waits_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_cache, "PATIENCE", 0.3)
    waits: list[None] = []
    index = tmp_path / "a.pfgenidx"
    with (tmp_path / f".{index.name}.lock").open("w") as held:
        assert lock(held.fileno())
        with index_cache.alone(index, lambda: waits.append(None)):
            assert len(waits) == 1


def test_an_index_that_cannot_be_written_is_built_side_by_side(tmp_path: Path) -> None:
    """Those that waited do not wait for each other as well."""
    index = tmp_path / "a.pfgenidx"
    waiting, inside = threading.Semaphore(0), threading.Barrier(3, timeout=5)

    def build() -> None:
        with index_cache.alone(index, waiting.release):
            inside.wait()

    with ThreadPoolExecutor(3) as pool:
        with index_cache.alone(index, lambda: None):
            running = [pool.submit(build) for _ in range(3)]
            for _ in running:
                assert waiting.acquire(timeout=60)
        for process in running:
            process.result()
    assert list(tmp_path.iterdir()) == []
