"""Evaluations in the background, and evaluations that fail while training goes on."""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats  # type: ignore[import-untyped]

from engine_tasks import until
from generating import FakeEngine
from pfgen_rs import Benchmark, GenerationError, InputError, PfgenError, SettingsError
from pfgen_rs.ask.protocol import Outcome, Parameters
from pfgen_rs.generate import Task
from pfgen_rs.training import CollectiveError, StepEvaluator, read_curve
from pfgen_rs.training.fixed_samples import QuestionSample

Reply = Callable[[Task], str | Exception | None]


def evaluator(engine: Any, **more: Any) -> StepEvaluator:
    settings = {"every": 1, "questions": 4, **more}
    return StepEvaluator("mini", engine=engine, **settings)


def curve_of(reply: Reply, **more: Any) -> pl.DataFrame:
    with evaluator(FakeEngine(reply), **more) as ours:
        ours(0)
    return ours.curve


class Held(FakeEngine):
    """Answers `ready` tasks, and the others when it is told to."""

    def __init__(self, ready: int = 0) -> None:
        super().__init__(lambda task: task.question)
        self.ready = ready
        self.free = threading.Event()

    def generate(self, tasks: Sequence[Task], parameters: Parameters) -> Iterator[Outcome]:
        for i, outcome in enumerate(super().generate(tasks, parameters)):
            if i >= self.ready:
                assert self.free.wait(30)
            yield outcome


def test_an_engine_gives_what_a_function_gives() -> None:
    engine = FakeEngine(lambda task: f" {task.question}\n\nQ: next")
    with evaluator(engine, trials=2, parameters=Parameters(stop=("Q:",), max_tokens=5)) as ours:
        assert ours(0)
    with StepEvaluator(
        "mini", lambda tasks: [task.question for task in tasks], every=1, questions=4, trials=2
    ) as theirs:
        theirs(0)
    figures = pl.exclude("generation_seconds")
    assert ours.curve.select(figures).equals(theirs.curve.select(figures))
    assert engine.parameters == [Parameters(stop=("Q:",), max_tokens=5)]
    assert engine.calls == [list(ours.sample.tasks)]


def test_blank_answers_are_scored_and_failed_ones_left_out(
    mini: Benchmark, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Of four questions and three trials, one question has one answer, one none; two answers are blank."""
    told: list[dict[str, float]] = []

    def reply(task: Task) -> str | Exception:
        at = ours.sample.questions.index(task.question)
        if at == 0 or (at == 1 and task.trial > 1):
            return ValueError("overloaded\x1b[31m")
        return "\n" if at == 2 and task.trial > 1 else mini.find(task.question).text * task.trial

    with evaluator(
        FakeEngine(reply),
        trials=3,
        folder=tmp_path,
        loggers=lambda metrics, _: told.append(metrics),
    ) as ours:
        ours(0)
        ours.wait()
        ours(1)
    table = pl.read_parquet(tmp_path / "answers" / "step_00000000.parquet")
    row = ours.curve.row(0, named=True)
    assert (row["questions"], row["answers"], len(table)) == (3, 7, 7)
    assert row["empty"] == 2 / 7
    scored = mini.score_batch(table["question_id"], table["answer"])
    for name in ("fluency", "truthfulness", "helpfulness", "average", "length"):
        assert table[name].to_list() == scored[name].to_list()
    means = table.group_by("question_id").agg(pl.col("average").mean())["average"].to_numpy()
    assert row["score"] == pytest.approx(means.mean())
    low, high = stats.t.interval(0.95, 2, means.mean(), stats.sem(means))
    assert (row["score_low"], row["score_high"]) == pytest.approx((low, high))
    assert row["length"] == table["length"].mean()
    assert row["question_scores"][0] is None
    assert sorted(row["question_scores"][1:]) == pytest.approx(sorted(means))
    later = ours.curve.row(1, named=True)
    assert (later["difference"], later["difference_low"]) == (0, 0)
    assert told[0]["pfgen/missing"] == pytest.approx(5 / 12)
    assert caplog.messages[0] == r"step 0: 5 of 12 answers failed: overloaded\x1b[31m"


def test_questions_in_common_are_compared() -> None:
    """The baseline lacks one question, the later step another."""
    step = 0

    def reply(task: Task) -> str | Exception:
        at = ours.sample.questions.index(task.question)
        return ValueError("no") if at == step else task.question * (step + 1)

    with evaluator(FakeEngine(reply)) as ours:
        ours(0)
        ours.wait()
        step = 1
        ours(1)
    before, after = (
        np.array(scores, dtype=float) for scores in ours.curve["question_scores"].to_list()
    )
    assert ours.curve["difference"][1] == pytest.approx((after - before)[2:].mean())


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (lambda _: ValueError("no such model"), "4 of 4 answers failed: no such model"),
        (lambda _: GenerationError("no server"), "no server"),
        (lambda _: TimeoutError("never"), "engine 'fake': TimeoutError: never"),
        (lambda _: None, "4 of 4 answers were not given"),
    ],
)
def test_an_engine_that_gives_nothing(
    reply: Reply, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    ours = evaluator(FakeEngine(reply))
    ours(0)
    with pytest.raises(GenerationError, match=reason):
        ours.close()
    with evaluator(FakeEngine(reply), on_error="warn") as ours:
        ours(0)
    assert ours.skipped == {0: reason}
    assert len(ours.curve) == 0


def test_training_does_not_wait_for_an_engine(tmp_path: Path) -> None:
    engine = Held()
    ours = evaluator(engine, every=2, folder=tmp_path)
    begun = time.perf_counter()
    assert ours.due(0)
    assert ours(0)
    assert not ours(0)
    assert not ours(1)
    assert not ours.due(2)
    assert not ours.due(3)
    assert not ours(2)  # the engine is busy
    state = ours.state_dict()
    assert time.perf_counter() - begun < 5
    assert (state["rows"], state["pending"], state["done"]) == ([], [0], [0])
    engine.free.set()
    ours.wait()
    assert ours.curve["step"].to_list() == [0]
    assert ours.due(4)
    assert ours(4)
    ours.wait()
    assert ours.skipped == {2: "step 0 is still being evaluated"}
    assert ours.due(2)  # should training go back there
    ours.load_state_dict(state)  # which does not know yet what step 0 came to
    assert ours.curve["step"].to_list() == [0]
    ours.close()
    names = [path.name for path in (tmp_path / "answers").iterdir()]
    assert names == ["step_00000000.parquet"]


def test_other_ranks_ask_nobody(tmp_path: Path) -> None:
    engine = FakeEngine()
    with evaluator(engine, is_main=False, folder=tmp_path / "c") as ours:
        assert not ours(0)
    assert not engine.calls
    assert not (tmp_path / "c").exists()


def test_an_evaluation_ends_with_its_budget(caplog: pytest.LogCaptureFixture) -> None:
    engine = Held(ready=3)
    ours = evaluator(engine, budget=0.3)
    begun = time.perf_counter()
    ours(0)
    ours.wait()
    assert 0.3 <= time.perf_counter() - begun < 5
    row = ours.curve.row(0, named=True)
    assert (row["answers"], row["questions"]) == (3, 3)
    assert caplog.messages == ["step 0: 1 of 4 answers were not given in time"]
    assert not ours(1)  # this engine cannot be interrupted
    assert ours.skipped == {1: "the engine is still working on an earlier step"}
    engine.free.set()
    until(lambda: engine.closed == 1)
    until(lambda: ours.due(2))
    assert ours(2)
    ours.close()
    assert ours.curve["answers"].to_list() == [3, 4]
    with evaluator(Held(), budget=0.2, on_error="warn") as none:
        none(0)
    assert none.skipped == {0: "4 of 4 answers were not given in time"}


def test_an_error_of_training_ends_the_evaluation() -> None:
    engine = Held()

    def train() -> None:
        with evaluator(engine) as ours:
            ours(0)
            raise ZeroDivisionError

    begun = time.perf_counter()
    with pytest.raises(ZeroDivisionError):
        train()
    assert time.perf_counter() - begun < 5
    engine.free.set()


def test_settings_that_contradict_each_other() -> None:
    def generate(_: Sequence[Task]) -> list[str]:
        return []

    engine, parameters = FakeEngine(), Parameters()
    for wrong, match in (
        ({}, "pass either a function `generate` or an `engine`"),
        ({"generate": generate, "engine": engine}, "pass either a function `generate` or an"),
        ({"engine": "openai"}, "`engine` must be an engine of .*, not 'openai'"),
        ({"engine": FakeEngine}, "`engine` must be an engine of"),
        ({"generate": generate, "parameters": parameters}, "`parameters` can only be combined"),
        ({"generate": generate, "budget": 3}, "`budget` can only be combined with `engine`"),
        ({"engine": engine, "budget": 0}, "`budget` must be a positive number of seconds, not 0"),
        ({"engine": engine, "budget": "1"}, "not '1'"),
        ({"engine": engine, "parameters": parameters, "stop": ["Q:"]}, "`stop` cannot be combined"),
    ):
        settings: Any = wrong
        with pytest.raises(SettingsError, match=match):
            StepEvaluator("mini", every=1, **settings)


# Evaluations that fail while training goes on: on one rank or all, in `generate` or in the background.


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


def warning_evaluator(generate: Callable[..., Any], **more: Any) -> StepEvaluator:
    settings = {"every": 1, "questions": QUESTIONS, "on_error": "warn", **more}
    return StepEvaluator("mini", generate, **settings)


def test_a_step_that_fails_is_skipped(caplog: pytest.LogCaptureFixture) -> None:
    reason = r"RuntimeError: CUDA out of memory.\nTried \x1b[31m"
    generate, calls = failing_at(1, 3)
    with warning_evaluator(generate) as ours:
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
    with warning_evaluator(generate, on_error="raise") as ours:
        ours(0)
        with pytest.raises(RuntimeError, match="out of memory"):
            ours(1)
        assert ours(1)  # again
    assert len(calls) == 3
    assert ours.curve["step"].to_list() == [0, 1]
    with pytest.raises(SettingsError, match="`on_error` must be one of raise, warn, not 'ignore'"):
        warning_evaluator(generate, on_error="ignore")


def test_a_disk_that_fails_ends_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    generate, _ = failing_at()
    (tmp_path / "answers").write_text("a file where a folder should be")
    with warning_evaluator(generate, folder=tmp_path) as ours:
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
    with warning_evaluator(generate) as ours:
        for step in range(3):
            assert ours(step)
        ours.wait()
        assert ours.state_dict()["rows"] == []
    assert caplog.messages[0] == "step 0 is not evaluated: ZeroDivisionError: oh"
    assert caplog.messages[3] == "3 steps were not evaluated: 0, 1, 2"
    ours = warning_evaluator(generate, on_error="raise")
    ours(0)
    with pytest.raises(PfgenError, match="the answers of step 0: ZeroDivisionError: oh"):
        ours.wait()
    ours.close()


def test_wrong_steps_and_ranks_that_cannot_go_on_are_errors_nevertheless() -> None:
    def generate(_: Sequence[Task]) -> list[str]:
        raise CollectiveError("rank 1 failed")

    with warning_evaluator(generate) as ours:
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
        with warning_evaluator(generate, every=2, is_main=rank == 0, folder=folder) as ours:
            for step in steps:
                ours(step)
            ours.load_state_dict(ours.state_dict())  # as each rank has it
            for step in (6, 8):
                ours(step)
        assert folder.exists() == (rank == 0)  # the others only generate
        asked.append(calls)
    assert asked[0] == asked[1] == asked[2] == [0, 2, 4, 4, 6, 8]
