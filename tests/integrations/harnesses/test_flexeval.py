"""flexeval: its own commands, on a model whose answers are known and on a file of answers."""

import json
from pathlib import Path
from typing import Any

import pytest

from pfgen_rs import Benchmark, Result
from pfgen_rs.generate import Mode, Task
from told import bundled_run, by_task, command, example, needs

pytestmark = needs("flexeval")

SETUP = "pfgen_rs.integrations.flexeval.Pfgen"
METRIC = "pfgen_rs.integrations.flexeval.PfgenMetric"
OFFLINE = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
NAMES = {
    "average": "pfgen",
    "fluency": "pfgen_fluency",
    "truthfulness": "pfgen_truthfulness",
    "helpfulness": "pfgen_helpfulness",
}


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def asked(task: Task) -> str:
    return task.prompt if task.mode == "completion" else json.dumps(task.messages)


def assert_summary(folder: Path, result: Result) -> None:
    summary = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    assert summary["pfgen"] == result.score
    for figure in ("fluency", "truthfulness", "helpfulness"):
        assert summary[f"pfgen_{figure}"] == getattr(result, figure)
    assert summary["pfgen_length"] == result.length
    assert summary["pfgen_trials"] == result.num_trials == 10
    assert summary["pfgen_signature"] == result.signature


@pytest.mark.parametrize("mode", ["completion", "qa", "chat"])
def test_a_run_scores_as_its_file_does(tmp_path: Path, mini: Benchmark, mode: Mode) -> None:
    result = bundled_run(mini, "careless")
    tasks = list(by_task(result, mode))
    spoken = "" if mode == "completion" else "はい。\nA: "
    answers = {asked(task): f" {spoken}{answer}\nQ: 次は？" for task, answer in tasks}
    told, calls = tmp_path / "answers.json", tmp_path / "calls.jsonl"
    told.write_text(json.dumps(answers), encoding="utf-8")
    model = ["--language_model", "flexeval_model.Told", "--language_model.answers", str(told)]
    setup = ["--eval_setup", SETUP, "--eval_setup.benchmark", "mini", "--eval_setup.mode", mode]
    setup += ["--eval_setup.gen_kwargs", '{"do_sample": true}']
    if mode == "qa":  # the page's example
        (tmp_path / "pfgen.jsonnet").write_text(example("flexeval", "jsonnet"), encoding="utf-8")
        setup = ["--eval_setup", "pfgen.jsonnet"]
    saved = ["--language_model.calls", str(calls), "--save_dir", "out"]
    command(tmp_path, "flexeval_lm", *model, *setup, *saved, **OFFLINE)

    assert_summary(tmp_path / "out", result)
    rows = {(row["question"], row["answer"]): row for row in result.frame.iter_rows(named=True)}
    answered = {asked(task): rows[task.question, answer] for task, answer in tasks}
    outputs = lines(tmp_path / "out" / "outputs.jsonl")
    assert len(outputs) == len(answered) == 140
    for (prompt, sampling), output in zip(lines(calls), outputs, strict=True):
        assert {name: output[name] for name in NAMES.values()} == {
            name: answered[prompt][figure] for figure, name in NAMES.items()
        }
        stop = ["Q:", "\n\n"] if mode == "completion" else ["Q:"]
        assert sampling == {
            "max_new_tokens": 300,
            "temperature": 1.0,
            "top_p": 0.98,
            "stop_sequences": stop,
            "do_sample": True,
        }


def test_a_file_of_answers(tmp_path: Path, mini: Benchmark) -> None:
    """Questions are found in the extra information and, where there is none, in the references."""
    result = bundled_run(mini, "faithful")
    file = tmp_path / "outputs.jsonl"
    with file.open("w", encoding="utf-8") as out:
        for i, row in enumerate(result.frame.iter_rows(named=True)):
            info = {"question": row["question"]} if i % 2 else {}
            references = [] if i % 2 else [row["question_id"]]
            record = {"lm_output": row["answer"], "extra_info": info, "references": references}
            out.write(json.dumps(record) + "\n")
    metric = ["--metrics", METRIC, "--metrics.benchmark", "mini"]
    command(tmp_path, "flexeval_file", "--eval_file", file, *metric, "--save_dir", "out", **OFFLINE)
    assert_summary(tmp_path / "out", result)


def test_an_unknown_question_is_named(tmp_path: Path) -> None:
    file = tmp_path / "outputs.jsonl"
    record = {"lm_output": "答え", "extra_info": {"question": "誰も知らない問い"}, "references": []}
    file.write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(
        AssertionError, match="question '誰も知らない問い': row 0: benchmark 'mini' has no question"
    ):
        command(tmp_path, "flexeval_file", "--eval_file", file, "--metrics", METRIC, **OFFLINE)
