"""Where metrics go, read back; loggers that are slow; and the curve drawn."""

import json
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import polars as pl
import pytest
import tensorboardX

import helpers
from helpers import events
from pfgen_rs import InputError, OutputError, PfgenError, SettingsError
from pfgen_rs.report import plots
from pfgen_rs.training import (
    JsonLines,
    MLflow,
    StepEvaluator,
    TensorBoard,
    WandB,
    loggers,
    plot_curve,
    read_curve,
)

METRICS = {"pfgen/score": 0.5, "pfgen/fluency": 0.25}


def run(*given: Any) -> StepEvaluator:
    """Three steps, each a little better."""
    step = 0
    with StepEvaluator(
        "mini", lambda tasks: [t.question * step for t in tasks], every=1, loggers=given
    ) as evaluator:
        for step in range(3):
            evaluator(step, tokens=1000 * step)
    return evaluator


def test_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "pfgen.jsonl"
    curve = run(JsonLines(path)).curve
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["step"] for line in lines] == [0, 1, 2]
    for name in ("score", "score_low", "helpfulness", "length", "empty", "tokens"):
        assert [line[f"pfgen/{name}"] for line in lines] == curve[name].to_list()
    assert "pfgen/difference" not in lines[0]  # nothing to compare with
    assert lines[2]["pfgen/difference"] == curve["difference"][2]
    with pytest.raises(OutputError, match="cannot be written"):
        JsonLines(path / "x.jsonl")
    before = path.read_text()
    again = JsonLines(path)
    assert path.read_text() == before
    path.unlink()
    path.mkdir()
    with pytest.raises(OutputError, match="cannot be written"):
        again(METRICS, 1)


def test_tensorboard(tmp_path: Path) -> None:
    logger = TensorBoard(tmp_path / "tb")
    curve = run(logger).curve
    found = [(step, value) for tag, step, value in events(tmp_path / "tb") if tag == "pfgen/score"]
    expected = list(curve.select("step", pl.col("score").cast(pl.Float32)).iter_rows())
    assert found == expected
    with tensorboardX.SummaryWriter(str(tmp_path / "own")) as writer:
        TensorBoard(writer)(METRICS, 7)
    assert events(tmp_path / "own") == [("pfgen/score", 7, 0.5), ("pfgen/fluency", 7, 0.25)]
    with pytest.raises(InputError, match="a writer or a folder, not int"):
        TensorBoard(3)
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=r"file/tb: cannot be written"):
        TensorBoard(tmp_path / "file" / "tb")


def test_tensorboard_that_is_not_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("tensorboardX", "torch.utils.tensorboard"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(PfgenError, match=r"pip install 'pfgen_rs\[tensorboard\]'") as caught:
        TensorBoard(tmp_path)
    assert str(caught.value).count("tensorboardX") == 2  # the package, and why it is not imported
    assert "torch" not in str(caught.value)


class Run:
    """A run of W&B as far as it is called: what is for an earlier step is dropped, as W&B does it."""

    def __init__(self) -> None:
        self.step = 0
        self.history: list[dict[str, Any]] = []
        self.axes: dict[str, str] = {}

    def define_metric(self, name: str, step_metric: str | None = None) -> None:
        assert step_metric is not None
        self.axes[name] = step_metric

    def log(self, data: dict[str, Any], step: int | None = None) -> None:
        if step is not None and step < self.step:
            return
        self.step = self.step + 1 if step is None else step
        self.history.append(data)


def test_wandb_keeps_what_comes_late() -> None:
    ours = Run()
    ours.log({"loss": 1.0}, step=50)  # training is further on
    curve = run(WandB(ours)).curve
    logged = ours.history[1:]
    assert [row["pfgen/step"] for row in logged] == [0, 1, 2]
    assert [row["pfgen/score"] for row in logged] == curve["score"].to_list()
    names = {name for row in logged for name in row} - {"pfgen/step"}
    assert ours.axes == dict.fromkeys(names, "pfgen/step")


def test_wandb_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = ModuleType("wandb")
    module.run = None
    monkeypatch.setitem(sys.modules, "wandb", module)
    with pytest.raises(InputError, match=r"call wandb\.init first"):
        WandB()(METRICS, 0)
    module.run = Run()
    WandB()(METRICS, 3)
    assert module.run.history == [{**METRICS, "pfgen/step": 3}]
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(PfgenError, match=r"pip install 'pfgen_rs\[wandb\]'"):
        WandB()
    with pytest.raises(InputError, match=r"a run of wandb\.init, not str"):
        WandB("project")


# Loggers that are slow, blocked or broken: neither training nor the curve waits for them.

PATIENCE = "pfgen_rs.training.loggers._PATIENCE"
STEPS = 100  # more than a logger may lag behind


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
    evaluator = StepEvaluator(
        "mini", lambda _: ["猫"], every=1, questions=1, folder=folder, loggers=logger
    )
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


# The curve drawn.


def test_a_plot_shows_the_curve(tmp_path: Path) -> None:
    evaluator = run()
    curve = evaluator.curve
    for x in ("step", "tokens"):
        [axes] = plots.learning_curves({"": curve}, x=x).axes
        for line, name in zip(
            axes.lines[:1] + axes.lines[-3:],
            ("score", "fluency", "truthfulness", "helpfulness"),
            strict=True,
        ):
            assert list(line.get_xdata()) == curve[x].to_list()  # type: ignore[arg-type]
            assert list(line.get_ydata()) == curve[name].to_list()  # type: ignore[arg-type]
        corners: Any = axes.collections[0].get_paths()[0].vertices
        assert corners[:, 1].max() == curve["score_high"].max()
    evaluator.plot(tmp_path / "curve.svg", title="<猫>", language="ja")
    assert "<dc:title>&lt;猫&gt;</dc:title>" in (tmp_path / "curve.svg").read_text()
    plot_curve(curve, tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes()[:4] == b"\x89PNG"


def test_a_curve_that_cannot_be_drawn() -> None:
    curve = run().curve
    with pytest.raises(PfgenError, match="nothing to draw"):
        plots.learning_curves({"": curve.head(0)})
    with pytest.raises(PfgenError, match="nothing to draw"):
        plots.learning_curves({"": curve.with_columns(tokens=None)}, x="tokens")
    with pytest.raises(PfgenError, match="unknown x axis 'epoch': expected one of step, tokens"):
        plots.learning_curves({"": curve}, x="epoch")
    without = curve.drop("score_low", "score_high")
    assert not plots.learning_curves({"": without}).axes[0].collections


class MLflowModule(ModuleType):
    """What is logged to which run, and from which thread; active runs are those of a thread."""

    def __init__(self) -> None:
        super().__init__("mlflow")
        self.logged: list[tuple[str, int, float]] = []
        self.ended = 0

    def active_run(self) -> None:
        """None is active."""

    def start_run(self) -> Any:
        """A new run."""
        return SimpleNamespace(info=SimpleNamespace(run_id="new"))

    def log_metrics(self, metrics: dict[str, float], *, step: int, run_id: str) -> None:
        """Log to a run."""
        self.logged.append((run_id, step, metrics["pfgen/score"]))

    def end_run(self) -> None:
        """End the active run."""
        self.ended += 1


def test_mlflow(monkeypatch: pytest.MonkeyPatch) -> None:
    module = MLflowModule()
    monkeypatch.setitem(sys.modules, "mlflow", module)
    for given, expected in ((None, "new"), ("known", "known")):
        curve = run(MLflow(given)).curve
        scores = curve["score"].to_list()
        assert module.logged == [(expected, step, scores[step]) for step in range(3)]
        module.logged.clear()
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(PfgenError, match=r"pip install 'pfgen_rs\[mlflow\]'"):
        MLflow()


def test_loggers_by_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    mlflow, wandb, ours = MLflowModule(), ModuleType("wandb"), Run()
    ours.finish = lambda: ours.history.append({"finished": 1})  # type: ignore[attr-defined]
    wandb.init = lambda: ours  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "mlflow", mlflow)
    monkeypatch.setitem(sys.modules, "wandb", wandb)
    with ExitStack() as stack:
        for name in loggers.NAMES:
            loggers.named(name, tmp_path, stack)({"pfgen/score": 0.5}, 7)
    assert json.loads((tmp_path / "metrics.jsonl").read_text()) == {"step": 7, "pfgen/score": 0.5}
    assert any((tmp_path / "tensorboard").iterdir())
    assert ours.history == [{"pfgen/score": 0.5, "pfgen/step": 7}, {"finished": 1}]
    assert (mlflow.logged, mlflow.ended) == ([("new", 7, 0.5)], 1)
    with ExitStack() as stack, pytest.raises(SettingsError, match="`log` must be one of jsonl"):
        loggers.named("print", tmp_path, stack)
