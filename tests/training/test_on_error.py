"""Evaluations that fail while training goes on: on one rank or all, in `generate` or in the background."""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pfgen_rs import InputError, PfgenError, SettingsError
from pfgen_rs.generate import Task
from pfgen_rs.training import CollectiveError, StepEvaluator, read_curve
from pfgen_rs.training.fixed_samples import QuestionSample

QUESTIONS = 3


def failing_at(*steps: int) -> tuple[Callable[..., Any], list[int]]:
    """A `generate` that fails at these calls, and the calls so far."""
    calls: list[int] = []

    def generate(tasks: Sequence[Task]) -> Any:
        calls.append(len(calls))
        if calls[-1] not in steps:
            return ["猫は眠ります。"] * len(tasks)
        raise RuntimeError("CUDA out of memory.\nTried \x1b[31m")

    return generate, calls


def evaluator(generate: Callable[..., Any], **more: Any) -> StepEvaluator:
    settings = {"every": 1, "questions": QUESTIONS, "on_error": "warn", **more}
    return StepEvaluator("mini", generate, **settings)


def test_a_step_that_fails_is_skipped(caplog: pytest.LogCaptureFixture) -> None:
    reason = r"RuntimeError: CUDA out of memory.\nTried \x1b[31m"
    generate, calls = failing_at(1, 3)
    with evaluator(generate) as ours:
        assert [step for step in (0, 1, 1, 2, 3, 4) if ours(step)] == [0, 2, 4]
        assert len(calls) == 5  # a failed step is not tried again, since other ranks would not
        ours.wait()
        assert ours.state_dict()["done"] == [0, 1, 2, 3, 4]
        assert list(ours.skipped) == [1, 3]
    assert ours.curve["step"].to_list() == [0, 2, 4]
    assert [reason in message for message in caplog.messages] == [True, True, False]
    assert caplog.messages[0].startswith("step 1 is not evaluated: ")
    assert caplog.messages[2] == "2 steps were not evaluated: 1, 3"
    assert {record.levelno for record in caplog.records} == {logging.WARNING}
    ours.close()
    assert len(caplog.messages) == 3


def test_a_step_that_fails_is_an_error_by_default() -> None:
    generate, calls = failing_at(1)
    with evaluator(generate, on_error="raise") as ours:
        ours(0)
        with pytest.raises(RuntimeError, match="out of memory"):
            ours(1)
        assert ours(1)  # again
    assert len(calls) == 3
    assert ours.curve["step"].to_list() == [0, 1]
    with pytest.raises(SettingsError, match="`on_error` must be one of raise, warn, not 'ignore'"):
        evaluator(generate, on_error="ignore")


def test_a_disk_that_fails_ends_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    generate, _ = failing_at()
    (tmp_path / "answers").write_text("a file where a folder should be")
    with evaluator(generate, folder=tmp_path) as ours:
        ours(0)
        ours(1)
        ours.wait()
        state = ours.state_dict()
        assert state["rows"] == []
        (tmp_path / "answers").unlink()  # somebody makes room
        ours(2)
        ours.wait()
        (tmp_path / "curve.parquet").unlink()
        (tmp_path / "curve.parquet").mkdir()  # now the curve cannot be replaced
        ours(3)
        ours.wait()
        assert (sorted(ours.skipped), ours.curve["step"].to_list()) == ([0, 1, 3], [2])
        ours(1)  # training goes back, which changes the curve, too
        ours.wait()
        assert sorted(ours.skipped) == [0, 1]
        ours.load_state_dict(state)
        (tmp_path / "curve.parquet").rmdir()
        ours(6)
    assert read_curve(tmp_path / "curve.parquet")[0]["step"].to_list() == [6]
    told = [message for message in caplog.messages if "cannot be written" in message]
    assert [message.partition(":")[0] for message in told] == [
        "step 0 is not evaluated",
        "step 1 is not evaluated",
        "step 3 is not evaluated",
        "dropping results from step 1 on",
        "step 1 is not evaluated",
        "the curve of the checkpoint",
    ]


def test_scores_that_fail_end_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(QuestionSample, "scored", fail)
    generate, _ = failing_at()
    with evaluator(generate) as ours:
        for step in range(3):
            assert ours(step)
        ours.wait()
        assert ours.state_dict()["rows"] == []
    assert caplog.messages[0] == "step 0 is not evaluated: ZeroDivisionError: oh"
    assert caplog.messages[3] == "3 steps were not evaluated: 0, 1, 2"
    ours = evaluator(generate, on_error="raise")
    ours(0)
    with pytest.raises(PfgenError, match="the answers of step 0: ZeroDivisionError: oh"):
        ours.wait()
    ours.close()


def test_wrong_steps_and_ranks_that_cannot_go_on_are_errors_nevertheless() -> None:
    def generate(_: Sequence[Task]) -> list[str]:
        raise CollectiveError("rank 1 failed")

    with evaluator(generate) as ours:
        with pytest.raises(InputError, match="a step must be an integer"):
            ours("x")  # type: ignore[arg-type]
        with pytest.raises(CollectiveError, match="rank 1"):
            ours(0)


def test_all_ranks_decide_alike_whoever_fails(tmp_path: Path) -> None:
    """Steps 2 and 4 fail on one rank each, and all ranks ask their models at the same steps."""
    steps = (0, 1, 2, 2, 3, 4, 4, 5, 3, 4, 6)
    asked = []
    for rank, failing in enumerate(([2], [4], [])):
        calls: list[int] = []
        step = -1

        def generate(tasks: Sequence[Task], failing: list[int] = failing) -> list[str]:
            calls.append(step)  # noqa: B023 - called in this round only
            if step in failing:  # noqa: B023
                raise RuntimeError("out of memory")
            return ["猫"] * len(tasks)

        folder = tmp_path / str(rank)
        with evaluator(generate, every=2, is_main=rank == 0, folder=folder) as ours:
            for step in steps:
                ours(step)
            ours.load_state_dict(ours.state_dict())  # as each rank has it
            for step in (6, 8):
                ours(step)
        assert folder.exists() == (rank == 0)  # the others only generate
        asked.append(calls)
    assert asked[0] == asked[1] == asked[2] == [0, 2, 4, 4, 6, 8]
