"""The callback of transformers' `Trainer`, with a tiny random model; where torch is installed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import tensorboardX
import torch
import transformers

import tiny_torch
from generating import FakeEngine
from helpers import events
from pfgen_rs import SettingsError
from pfgen_rs.integrations.torch_generation import ModelGenerate
from pfgen_rs.integrations.transformers import PfgenCallback

pytestmark = pytest.mark.filterwarnings("default")

FIGURES = pl.exclude("generation_seconds")


def callback(folder: Path, **settings: Any) -> PfgenCallback:
    chosen = {"every": 2, "questions": 3, "max_new_tokens": 8, "num_examples": 1, **settings}
    return PfgenCallback("mini", folder=folder, batch_size=2, **chosen)


def test_a_curve_and_a_log(tmp_path: Path) -> None:
    said: list[tuple[int, float]] = []
    ours = callback(tmp_path / "c", loggers=[lambda m, step: said.append((step, m["pfgen/score"]))])
    trainer = tiny_torch.trainer(tmp_path, [ours], steps=4)
    trainer.train()
    assert ours.evaluator is not None
    assert ours.evaluator.curve["step"].to_list() == [0, 2, 4]
    assert [step for step, _ in said] == [0, 2, 4]
    logged = [row["step"] for row in trainer.state.log_history if "pfgen/score" in row]
    assert logged == [0, 2, 4]
    assert len(list((tmp_path / "c" / "answers").iterdir())) == 3


def test_scores_are_in_tensorboard_where_the_trainer_logs(tmp_path: Path) -> None:
    """At their own steps, of which the last one is there before the trainer's own loggers end."""
    from transformers.integrations import TensorBoardCallback

    class Ended(TensorBoardCallback):  # type: ignore[misc]
        def on_log(
            self, args: Any, state: Any, control: Any, logs: Any = None, **more: Any
        ) -> None:
            seen.append((state.global_step, "pfgen/score" in logs))
            super().on_log(args, state, control, logs, **more)

        def on_train_end(self, *args: Any, **more: Any) -> None:
            seen.append(("end", True))
            super().on_train_end(*args, **more)

    seen: list[Any] = []
    writer = tensorboardX.SummaryWriter(str(tmp_path / "tb"))
    callbacks = [Ended(writer), callback(tmp_path / "c")]
    trainer = tiny_torch.trainer(tmp_path, callbacks, steps=4, logging_steps=1)
    trainer.train()
    assert sorted(step for step, ours in seen[: seen.index(("end", True))] if ours) == [0, 2, 4]
    found = {(tag, step) for tag, step, _ in events(tmp_path / "tb")}
    assert {("train/pfgen/score", 0), ("train/pfgen/score", 2), ("train/pfgen/score", 4)} <= found
    assert ("train/loss", 3) in found


@pytest.mark.parametrize("on_error", ["warn", "raise"])
def test_a_logger_of_the_trainer_that_fails(
    tmp_path: Path, on_error: str, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(transformers.TrainerCallback):  # type: ignore[misc]
        def on_log(self, *_: Any, logs: Any, **__: Any) -> None:
            if "pfgen/score" in logs:
                raise RuntimeError("no network")

    ours = callback(tmp_path / "c", on_error=on_error)
    trainer = tiny_torch.trainer(tmp_path, [Broken(), ours], steps=2)
    if on_error == "raise":
        with pytest.raises(RuntimeError, match="no network"):
            trainer.train()
        return
    trainer.train()
    assert "Broken failed at step 2: RuntimeError: no network" in caplog.text


def test_training_is_not_changed(tmp_path: Path) -> None:
    def weights(*callbacks: Any) -> list[Any]:
        trainer = tiny_torch.trainer(tmp_path, list(callbacks), steps=4, dropout=0.3)
        trainer.train()
        return [p.detach().clone() for p in trainer.model.parameters()]

    alone, watched = weights(), weights(callback(tmp_path / "c"))
    assert all(torch.equal(a, b) for a, b in zip(alone, watched, strict=True))


@pytest.mark.parametrize("flag", [False, True])
def test_resume_from_a_checkpoint(tmp_path: Path, flag: bool) -> None:
    whole = callback(tmp_path / "whole")
    tiny_torch.trainer(tmp_path / "a", [whole], steps=6).train()
    cut = callback(tmp_path / "cut")
    tiny_torch.trainer(tmp_path / "b", [cut], steps=6, save=3).train()
    state = json.loads((tmp_path / "b" / "checkpoint-3" / "trainer_state.json").read_text())
    assert [r["step"] for r in state["stateful_callbacks"]["pfgen_rs:pfgen/"]["rows"]] == [0, 2]
    again = callback(tmp_path / "cut")
    resumed = tiny_torch.trainer(
        tmp_path / "b", [again], steps=6, save=3, restore_callback_states_from_checkpoint=flag
    )
    resumed.train(resume_from_checkpoint=str(tmp_path / "b" / "checkpoint-3"))
    assert whole.evaluator is not None
    assert again.evaluator is not None
    expected = whole.evaluator.curve.select(FIGURES)
    assert again.evaluator.curve.select(FIGURES).equals(expected)
    assert pl.read_parquet(tmp_path / "cut" / "curve.parquet").select(FIGURES).equals(expected)


def test_a_tokenizer_is_needed(tmp_path: Path) -> None:
    trainer = tiny_torch.trainer(tmp_path, [callback(tmp_path / "c")], steps=2)
    trainer.callback_handler.processing_class = None
    with pytest.raises(SettingsError, match=r"PfgenCallback\(tokenizer=…\) or Trainer\(processing"):
        trainer.train()


def test_prompts_that_do_not_fit_are_told(tmp_path: Path) -> None:
    ours = callback(tmp_path / "c", max_new_tokens=2000)
    with pytest.raises(SettingsError, match="exceed the model's"):
        tiny_torch.trainer(tmp_path, [ours], steps=2).train()


def test_training_goes_on_without_evaluations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    generate, calls = ModelGenerate.__call__, [0]

    def failing(self: ModelGenerate, *arguments: Any) -> list[str]:
        calls[0] += 1
        if calls[0] == 2:
            raise RuntimeError("out of memory")
        return generate(self, *arguments)

    monkeypatch.setattr(ModelGenerate, "__call__", failing)
    ours = callback(tmp_path / "c")
    trainer = tiny_torch.trainer(tmp_path, [ours], steps=4, save=2)
    trainer.train()
    assert trainer.state.global_step == 4
    assert ours.evaluator is not None
    assert ours.evaluator.curve["step"].to_list() == [0, 4]
    told = [record.getMessage() for record in caplog.records if record.name == "pfgen_rs"]
    assert told == [
        "step 2 is not evaluated: RuntimeError: out of memory",
        "1 step was not evaluated: 2",
    ]
    state = json.loads((tmp_path / "checkpoint-2" / "trainer_state.json").read_text())
    assert state["stateful_callbacks"]["pfgen_rs:pfgen/"]["done"] == [0, 2]
    calls[0] = 0
    with pytest.raises(RuntimeError, match="out of memory"):
        tiny_torch.trainer(tmp_path, [callback(tmp_path / "d", on_error="raise")], steps=4).train()


def test_an_engine_answers(tmp_path: Path) -> None:
    ours = PfgenCallback("mini", engine=FakeEngine(), every=2, questions=3)
    trainer = tiny_torch.trainer(tmp_path, [ours], steps=4)
    trainer.callback_handler.processing_class = None
    trainer.train()
    assert ours.evaluator is not None
    evaluated = ours.evaluator.curve["step"].to_list()
    assert evaluated[0] == 0
    assert sorted([*evaluated, *ours.evaluator.skipped]) == [0, 2, 4]
    assert [r["step"] for r in trainer.state.log_history if "pfgen/score" in r] == evaluated
