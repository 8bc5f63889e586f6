"""lighteval: its own command, on a model whose answers are known."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from pfgen_rs import Benchmark
from pfgen_rs.generate import Mode, Prompter, read_examples
from told import HARNESSES, bundled_run, by_task, command, example, needs

pytestmark = needs("lighteval")

TASKS = "pfgen_rs.integrations.lighteval"
METRICS = {
    "pfgen": "average",
    "pfgen_fluency": "fluency",
    "pfgen_truthfulness": "truthfulness",
    "pfgen_helpfulness": "helpfulness",
}


Answers = dict[str, str]


def run(
    folder: Path, task: str, answers: Answers, tasks: str
) -> tuple[dict[str, float], pl.DataFrame]:
    """What came of a task, and its answers."""
    told = folder / "answers.json"
    told.write_text(json.dumps(answers), encoding="utf-8")
    args = ["custom", "told", str(HARNESSES / "lighteval_model.py"), task, "--custom-tasks", tasks]
    homes = {
        "HF_HOME": str(folder / "hf"),
        "HOME": str(folder),
        "PFGEN_RS_CACHE": str(folder / "cache"),
    }
    command(
        folder, "lighteval", *args, "--output-dir", "out", "--save-details", TOLD=str(told), **homes
    )
    [path] = (folder / "out").rglob("results_*.json")
    results: dict[str, float] = json.loads(path.read_text(encoding="utf-8"))["results"][f"{task}|0"]
    [details] = (folder / "out").rglob("details_*.parquet")
    return results, pl.read_parquet(details)


@pytest.mark.parametrize("mode", ["completion", "qa"])
def test_a_run_scores_as_its_file_does(tmp_path: Path, mini: Benchmark, mode: Mode) -> None:
    result = bundled_run(mini, "careless")
    tasks = list(by_task(result, mode))
    spoken = "" if mode == "completion" else "はい。\nA: "
    answers = {task.prompt: f" {spoken}{answer}\nQ: 次は？" for task, answer in tasks}
    got, details = run(tmp_path, f"pfgen_{mode}", answers, TASKS)

    assert round(got["pfgen"], 4) == result.score
    rows = {(row["question"], row["answer"]): row for row in result.frame.iter_rows(named=True)}
    expected = {task.prompt: rows[task.question, answer] for task, answer in tasks}
    assert len(details) == len(expected) == 140
    for detail in details.iter_rows(named=True):
        row = expected.pop(detail["doc"]["query"])
        assert detail["doc"]["specific"]["question"] == row["question"]
        assert detail["metric"] == {name: row[figure] for name, figure in METRICS.items()}
    for name, figure in METRICS.items():
        values = result.frame.get_column(figure)
        assert got[name] == pytest.approx(values.mean())
        assert got[f"{name}_stderr"] == pytest.approx(np.std(values.to_numpy(), ddof=1) / 140**0.5)


def test_tasks_of_ones_own(tmp_path: Path, mini: Benchmark) -> None:
    """The page's example: other trials and seeds. Thoughts are left out, and what is empty scores 0."""
    (tmp_path / "mine.py").write_text(example("lighteval", "python"), encoding="utf-8")
    prompter = Prompter(read_examples("mini"), "qa", num_examples=3, seed="s")
    answers = {task.prompt: "<think>光合成" for trial in (1, 2) for task in prompter.tasks(trial)}
    question = mini["Q02"]
    [task] = prompter.tasks(2, [question.text])
    answers[task.prompt] = "<think>A: はて</think>\nA: 光合成です。"
    got, details = run(tmp_path, "pfgen_qa", answers, "mine.py")
    score = mini.score("Q02", "光合成です。").average
    assert score > 0
    assert sorted(metric["pfgen"] for metric in details["metric"]) == [0] * 27 + [score]
    assert got["pfgen"] == pytest.approx(score / 28)
