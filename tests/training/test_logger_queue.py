"""Loggers that are slow, blocked or broken: neither training nor the curve waits for them."""

import json
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import helpers
from pfgen_rs.generate import Task
from pfgen_rs.training import JsonLines, StepEvaluator, read_curve

PATIENCE = "pfgen_rs.training.loggers._PATIENCE"
STEPS = 100  # more than a logger may lag behind


def said(tasks: Sequence[Task]) -> list[str]:
    return ["猫は眠ります。"] * len(tasks)


class Blocked:
    """A logger that returns when it is told to, and records what it was given."""

    def __init__(self) -> None:
        self.free = threading.Event()
        self.steps: list[int] = []

    def __call__(self, _: dict[str, float], step: int) -> None:
        assert self.free.wait(30)
        self.steps.append(step)


def train(logger: Any, folder: Path, steps: int = STEPS) -> tuple[StepEvaluator, float]:
    """Evaluate each step; the longest time that training was blocked, in seconds."""
    evaluator = StepEvaluator("mini", said, every=1, questions=1, folder=folder, loggers=logger)
    longest = 0.0
    for step in range(steps):
        begun = time.perf_counter()
        evaluator(step)
        evaluator.state_dict()
        longest = max(longest, time.perf_counter() - begun)
    return evaluator, longest


def test_a_blocked_logger_blocks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(PATIENCE, 0.3)
    blocked, lines = Blocked(), JsonLines(tmp_path / "lines.jsonl")
    evaluator, longest = train([blocked, lines], tmp_path / "c")
    assert longest < 5
    begun = time.perf_counter()
    evaluator.close()
    assert 0.2 < time.perf_counter() - begun < 5
    assert read_curve(tmp_path / "c" / "curve.parquet")[0]["step"].to_list() == list(range(STEPS))
    written = [json.loads(line)["step"] for line in lines.path.read_text().splitlines()]
    assert written == list(range(STEPS))
    assert caplog.messages == [
        "the logger Blocked lags behind by 64 steps: dropping step 64 and others until it has room",
        f"the logger Blocked was too slow: {STEPS} steps not logged",
    ]
    blocked.free.set()


def test_a_logger_that_catches_up_misses_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    blocked = Blocked()
    evaluator, _ = train(blocked, tmp_path, 20)
    threading.Timer(0.2, blocked.free.set).start()
    evaluator.close()
    assert blocked.steps == list(range(20))
    assert not caplog.messages


@pytest.mark.filterwarnings("error")
def test_a_warning_that_is_an_error_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[int] = []

    def bad(_: dict[str, float], step: int) -> None:
        told.append(step)
        raise OSError("no network")

    evaluator, _ = train(bad, tmp_path, 2)
    evaluator.close()
    assert told == [0, 1]
    assert caplog.messages[1] == "the logger bad failed at step 1: OSError: no network"


UNCLOSED = """
import sys, time
from pfgen_rs.training import StepEvaluator, loggers
loggers._PATIENCE = float(sys.argv[2])
def slow(metrics, step):
    time.sleep(float(sys.argv[1]))
    print(step, flush=True)
evaluator = StepEvaluator("mini", lambda tasks: ["猫"] * len(tasks), every=1, questions=1, loggers=slow)
for step in range(5):
    evaluator(step)
"""


def test_what_waits_is_logged_at_exit() -> None:
    done = helpers.python(UNCLOSED, 0.1, 30)
    assert (done.returncode, done.stdout.split()) == (0, ["0", "1", "2", "3", "4"]), done.stderr


def test_a_blocked_logger_does_not_keep_the_process() -> None:
    begun = time.perf_counter()
    done = helpers.python(UNCLOSED, 1000, 0.3)
    assert (done.returncode, done.stdout) == (0, "")
    assert "the logger slow was too slow: 5 steps not logged" in done.stderr
    assert time.perf_counter() - begun < 20
