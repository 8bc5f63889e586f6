"""The callback of Lightning, with a module of two weights; where it is installed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("lightning")
torch = pytest.importorskip("torch")

import lightning.pytorch as pl  # noqa: E402
import polars  # noqa: E402
from lightning.pytorch.loggers import CSVLogger  # noqa: E402

from generating import FakeEngine  # noqa: E402
from pfgen_rs import SettingsError  # noqa: E402
from pfgen_rs.generate import Task  # noqa: E402
from pfgen_rs.integrations.lightning import PfgenCallback  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")
FIGURES = polars.exclude("generation_seconds")


class Module(pl.LightningModule):  # type: ignore[misc]
    """Fits a line, and counts how often it was asked."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.line = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.Dropout(0.5))
        self.asked = 0

    def training_step(self, batch: Any, _: int) -> Any:
        return self.line(batch).square().mean()

    def validation_step(self, batch: Any, _: int) -> None: ...

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), lr=0.01)


def answers(module: Module, tasks: Sequence[Task]) -> list[str]:
    """Some text that depends on what was learnt; at random, as sampling is."""
    assert not module.line.training
    torch.rand(3)
    module.asked += 1
    weight = next(module.parameters()).item()
    return [f"{task.question}{weight:.6f}" for task in tasks]


def train(folder: Path, callback: PfgenCallback | None, steps: int = 4, **more: Any) -> Module:
    module = Module()
    checkpoint = more.pop("ckpt_path", None)
    trainer = pl.Trainer(
        max_steps=steps,
        accelerator="cpu",
        callbacks=[] if callback is None else [callback],
        logger=more.pop("loggers", CSVLogger(folder)),
        enable_progress_bar=False,
        enable_model_summary=False,
        log_every_n_steps=1,
        **more,
    )
    data = torch.utils.data.DataLoader(torch.ones(8, 1), batch_size=2)
    trainer.fit(module, data, data, ckpt_path=checkpoint)
    trainer.save_checkpoint(folder / "last.ckpt")
    return module


def test_every_so_many_steps(tmp_path: Path) -> None:
    callback = PfgenCallback("mini", answers, every=2, folder=tmp_path / "c", questions=3)
    module = train(tmp_path, callback)
    assert callback.evaluator is not None
    assert callback.evaluator.curve["step"].to_list() == [0, 2, 4]
    assert module.asked == 3
    logged = polars.read_csv(next(tmp_path.rglob("metrics.csv")))
    assert logged.filter(polars.col("pfgen/score").is_not_null())["step"].to_list() == [0, 2, 4]
    alone = train(tmp_path / "alone", None)
    for ours, theirs in zip(module.parameters(), alone.parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_after_validations(tmp_path: Path) -> None:
    callback = PfgenCallback("mini", answers, folder=tmp_path / "c", questions=3)
    train(tmp_path, callback, steps=8)
    assert callback.evaluator is not None
    assert callback.evaluator.curve["step"].to_list() == [0, 4, 8]


def test_resume(tmp_path: Path) -> None:
    settings: Any = {"every": 2, "questions": 3}
    whole = PfgenCallback("mini", answers, **settings)
    train(tmp_path / "whole", whole, steps=8)
    cut = PfgenCallback("mini", answers, folder=tmp_path / "c", **settings)
    train(tmp_path / "cut", cut, steps=4)
    again = PfgenCallback("mini", answers, folder=tmp_path / "c", **settings)
    train(tmp_path / "again", again, steps=8, ckpt_path=str(tmp_path / "cut" / "last.ckpt"))
    assert whole.evaluator is not None
    assert again.evaluator is not None
    expected = whole.evaluator.curve.select(FIGURES)
    found = again.evaluator.curve.select(FIGURES)
    assert found["step"].to_list() == [0, 2, 4, 6, 8]
    assert found[:3].equals(expected[:3])  # later ones differ: Lightning restores no random numbers
    assert found["difference"][3:].null_count() == 0


def failing(module: Module, tasks: Sequence[Task]) -> list[str]:
    """Fails the second time."""
    texts = answers(module, tasks)
    if module.asked == 2:
        raise RuntimeError("out of memory")
    return texts


class BrokenLogger(CSVLogger):  # type: ignore[misc]
    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:  # noqa: ARG002
        if "pfgen/score" in metrics:
            raise OSError("no network")


def test_training_goes_on_without_evaluations(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    callback = PfgenCallback("mini", failing, every=2, folder=tmp_path / "c", questions=3)
    train(tmp_path, callback, loggers=[BrokenLogger(tmp_path)])
    assert callback.evaluator is not None
    assert callback.evaluator.curve["step"].to_list() == [0, 4]
    ours = [record.getMessage() for record in caplog.records if record.name == "pfgen_rs"]
    assert sorted(ours) == [
        "1 step was not evaluated: 2",
        "BrokenLogger failed at step 0: OSError: no network",
        "BrokenLogger failed at step 4: OSError: no network",
        "step 2 is not evaluated: RuntimeError: out of memory",
    ]
    callback = PfgenCallback("mini", failing, every=2, questions=3, on_error="raise")
    with pytest.raises(RuntimeError, match="out of memory"):
        train(tmp_path, callback)


def test_an_engine_answers(tmp_path: Path) -> None:
    callback = PfgenCallback("mini", engine=FakeEngine(), every=2, questions=3)
    module = train(tmp_path, callback)
    assert module.asked == 0
    assert callback.evaluator is not None
    evaluated = callback.evaluator.curve["step"].to_list()
    assert evaluated[0] == 0
    assert sorted([*evaluated, *callback.evaluator.skipped]) == [0, 2, 4]


def test_settings_that_cannot_be() -> None:
    for wrong, match in (
        ({"every": 2.5}, "`every` must be an integer"),
        ({"temperature": 0.5}, "`temperature` cannot be combined with `generate`"),
        ({"generate": 3}, "`generate` must be a function, not int"),
        ({"generate": None}, "cannot generate answers"),
        ({"engine": FakeEngine()}, "pass either a function `generate` or an"),
        ({"budget": 3}, "`budget` can only be combined with `engine`"),
    ):
        settings: Any = {"generate": answers, **wrong}
        with pytest.raises(SettingsError, match=match):
            PfgenCallback("mini", **settings)
