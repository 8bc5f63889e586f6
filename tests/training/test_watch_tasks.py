"""Tasks of llm-jp-eval and loggers of `watch`, by the real command: figures are those of `StepEvaluator`."""

import json
import shlex
from pathlib import Path

import pytest

import helpers
from pfgen_rs.training import StepEvaluator, read_curve
from served_checkpoints import ANSWER, PYTHON, checkpoint

NAMES = ["jamp", "jcommonsenseqa"]


def test_tasks_and_loggers(tmp_path: Path, jpeval_dir: Path) -> None:
    folder = jpeval_dir / "golden" / "mini" / "evaluation"
    checkpoint(tmp_path, 0)
    program = ANSWER.replace('"a"', 'str(len(json.loads(line)["prompt"]) % 2)')
    (tmp_path / "program.py").write_text(program)
    command = [*PYTHON, str(tmp_path / "program.py"), "{checkpoint}"]
    given: list[str | Path] = [
        "watch",
        tmp_path / "checkpoints",
        "--command",
        shlex.join(command),
        "--once",
    ]
    asked: list[str | Path] = [
        "--task",
        ",".join(NAMES),
        "--samples",
        "3",
        "--data",
        folder,
        "--limit",
        "2",
    ]
    logs = ["--log", "jsonl", "--log", "tensorboard", "--settle", "0"]
    done = helpers.pfgen(*given, *asked, *logs)
    assert done.returncode == 0, done.stderr
    out = tmp_path / "checkpoints" / "pfgen"
    frame, _ = read_curve(out / "curve.parquet")
    with StepEvaluator(
        "mini",
        lambda tasks: [str(len(task.prompt) % 2) for task in tasks],
        every=1,
        questions=2,
        tasks=NAMES,
        n=3,
        tasks_folder=folder,
    ) as evaluator:
        evaluator(0)
        evaluator.wait()
        assert frame.drop("generation_seconds").equals(evaluator.curve.drop("generation_seconds"))
    assert frame["llm_jp_eval/jamp_answers"].to_list() == [3]
    (line,) = (out / "metrics.jsonl").read_text().splitlines()
    assert json.loads(line)["pfgen/score"] == frame["score"][0]
    logged = {name: value for name, _, value in helpers.events(out / "tensorboard")}
    assert logged["pfgen/score"] == pytest.approx(frame["score"][0])
    alone = helpers.pfgen(*given, *asked[:-1], "0", "--out", tmp_path / "alone")
    assert (alone.returncode, alone.stdout[:6]) == (0, "step_0"), alone.stderr
    assert alone.stdout == done.stdout[:8] + done.stdout[done.stdout.index("jamp ") :]
    wrong = helpers.pfgen(*given, "--log", "paper")
    assert (wrong.returncode, wrong.stderr.count("`log` must be one of jsonl")) == (2, 1)
