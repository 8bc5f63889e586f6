"""inspect_ai: its own command on a model whose answers are known."""

import json
import math
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from helpers import environment, lines
from jpeval_exam import OUTPUTS
from pfgen_rs import Benchmark, PfgenError, score_file
from pfgen_rs.generate import Prompter, read_examples
from pfgen_rs.llm_jp_eval import evaluate, read_tasks
from pfgen_rs.llm_jp_eval.prompts import PromptSettings, filled, template
from pfgen_rs.llm_jp_eval.scoring import ScoreSettings, signature, standard_errors
from pfgen_rs.questions.locate import bundled_path
from places import ROOT
from told import section

pytest.importorskip("inspect_ai")

METRICS = ["average", "fluency", "truthfulness", "helpfulness"]
PAGE = section("harnesses.md", "inspect_ai")


class Harness:
    """The command `inspect eval`, with this package installed as pyproject.toml declares it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.calls = folder / "calls.jsonl"
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        installed = self._install(project["entry-points"]["inspect_ai"])
        self.env = environment(
            PYTHONPATH=os.pathsep.join(
                map(str, [installed, ROOT / "python", ROOT / "tests" / "support"])
            ),
            XDG_DATA_HOME=str(folder),
            NO_COLOR="1",
        )

    def eval(self, task: str, answers: dict[str, list[str]], *options: str) -> dict[str, Any]:
        """The log of a run."""
        told = self.folder / "answers.json"
        told.write_text(json.dumps(answers), encoding="utf-8")
        model = ["--model", "told/model", "-M", f"answers={told}", "-M", f"calls={self.calls}"]
        shown = ["--log-format", "json", "--display", "plain"]
        log = self._log("eval", task, *model, *shown, *options)
        assert log["status"] == "success", log["error"]
        return log

    def logs(self) -> list[Path]:
        """The log, as JSON and as inspect_ai converts it to its own format."""
        [path] = (self.folder / "logs").glob("*.json")
        self._log("log", "convert", str(path), "--to", "eval", "--output-dir", "converted")
        return [path, *(self.folder / "converted").glob("*.eval")]

    def score(self) -> dict[str, Any]:
        """The log of the run, scored again by `inspect score`."""
        [path] = (self.folder / "logs").glob("*.json")
        scorer = ["--scorer", "pfgen_rs/pfgen_scorer", "-S", "benchmark=mini", "-S", "mode=qa"]
        return self._log(
            "score",
            str(path),
            *scorer,
            "--action",
            "overwrite",
            "--overwrite",
            "--display",
            "plain",
        )

    def _log(self, *args: str) -> dict[str, Any]:
        done = subprocess.run(
            [sys.executable, "-m", "inspect_ai", *args],
            capture_output=True,
            timeout=120,
            env=self.env,
            cwd=self.folder,
            check=False,
            encoding="utf-8",
        )
        assert done.returncode == 0, done.stdout + done.stderr
        [path] = (self.folder / "logs").glob("*.json")
        log: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return log

    def asked(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.calls.read_text(encoding="utf-8").splitlines()]

    def _install(self, entries: dict[str, str]) -> Path:
        folder = self.folder / "installed" / "pfgen_rs-0.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: pfgen_rs\nVersion: 0\n")
        lines = [f"{name} = {place}" for name, place in entries.items()]
        lines = ["[inspect_ai]", *lines, "told = inspect_model"]
        (folder / "entry_points.txt").write_text("\n".join(lines))
        place = {"url": ROOT.as_uri(), "dir_info": {"editable": True}}
        (folder / "direct_url.json").write_text(json.dumps(place))
        return folder.parent


@pytest.fixture
def harness(tmp_path: Path) -> Harness:
    return Harness(tmp_path)


def by_trial(frame: pl.DataFrame) -> dict[tuple[str, int], dict[str, Any]]:
    """Rows by question and trial."""
    trials = frame.with_columns(pl.int_range(1, pl.len() + 1).over("question_id").alias("trial"))
    return {(row["question_id"], row["trial"]): row for row in trials.iter_rows(named=True)}


def metrics(log: dict[str, Any], figure: str) -> dict[str, float]:
    [score] = [score for score in log["results"]["scores"] if score["name"] == figure]
    return {name: metric["value"] for name, metric in score["metrics"].items()}


def scores(log: dict[str, Any]) -> dict[tuple[Any, int], dict[str, Any]]:
    samples = [sample for sample in log["samples"] if sample["scores"]]
    return {(s["id"], s["epoch"]): next(iter(s["scores"].values())) for s in samples}


def figures_of_file(log: dict[str, Any], benchmark: Benchmark, folder: Path) -> dict[str, float]:
    """What `score_file` says of a file with the answers of a log, in its order."""
    found = [(sample["input"], *sample["scores"].values()) for sample in log["samples"]]
    path = folder / "answers.jsonl"
    path.write_bytes(lines([(text, score["answer"]) for text, score in found if score["answer"]]))
    result = score_file(path, benchmark)
    average = result.to_dict(allow_partial=True)["scores"]["average"]
    return {"average": average, **{name: getattr(result, name) for name in METRICS[1:]}}


def test_a_run_scores_as_its_file_does(harness: Harness, mini: Benchmark) -> None:
    result = score_file(bundled_path() / "runs" / "careless", mini)
    rows = by_trial(result.frame)
    prompter = Prompter(read_examples("mini"), "chat")
    answers = {
        f"{prompter.sampling_seed(trial)} {row['question']}": [f"A: {row['answer']}"]
        for (_, trial), row in rows.items()
    }
    log = harness.eval("pfgen_rs/pfgen", answers, "-T", "benchmark=mini")

    assert log["eval"]["task"] == "pfgen_rs/pfgen"
    assert log["eval"]["metadata"]["signature"] == mini.signature
    expected = {key: {m: row[m] for m in METRICS} for key, row in rows.items()}
    assert {key: score["value"] for key, score in scores(log).items()} == expected
    for path in harness.logs():
        read = score_file(path, mini, clean="chat")
        key = ["question_id", "answer", *METRICS]
        assert read.frame.select(key).sort(key).equals(result.frame.select(key).sort(key))
        assert read.by_question.equals(result.by_question)  # trials are epochs
    published = figures_of_file(log, mini, harness.folder)
    for figure in METRICS:
        means = result.by_question["question_id"].to_list()
        means = [np.mean([expected[q, t][figure] for t in range(1, 11)]) for q in means]
        found = metrics(log, figure)
        assert found == {"pfgen_rs/mean": published[figure], "stderr": found["stderr"]}
        assert found["pfgen_rs/mean"] == pytest.approx(np.mean(means), abs=1e-4)
        assert found["stderr"] == pytest.approx(np.std(means, ddof=1) / math.sqrt(len(means)))

    tasks = [task for trial in range(1, 11) for task in prompter.tasks(trial)]
    sampling: dict[str, Any] = {
        "max_tokens": 300,
        "temperature": 1.0,
        "top_p": 0.98,
        "stop_seqs": ["Q:"],
    }
    wanted: list[dict[str, Any]] = [
        {"messages": t.messages, "config": {**sampling, "seed": t.seed}} for t in tasks
    ]
    for call in harness.asked():
        wanted.remove({**call, "config": {key: call["config"][key] for key in [*sampling, "seed"]}})
    assert wanted == []


def test_outputs_without_an_answer(harness: Harness, mini: Benchmark) -> None:
    """They are asked for again, ten times in all, and left out of the means if nothing comes."""
    prompter = Prompter(read_examples("mini"), "qa", num_examples=2, seed="7")
    seeds = [prompter.sampling_seed(trial) for trial in (1, 2)]
    late, never, refused = list(mini)[:3]
    answers = {
        f"{seeds[0]} {late.text}": ["", "A: ", "分かりません。"],
        f"{seeds[1]} {late.text}": ["分かりません。"],
        f"{seeds[0]} {never.text}": [""],
        f"{seeds[1]} {never.text}": ["風呂敷です。"],
        f"{seeds[0]} {refused.text}": ["(filtered)"],
        f"{seeds[1]} {refused.text}": ["(filtered)"],
    }
    arguments = ["benchmark=mini", "mode=qa", "num_examples=2", "seed=7", "trials=2"]
    options = [option for argument in arguments for option in ("-T", argument)]
    chosen = ["--sample-id", ",".join(question.id for question in (late, never, refused))]
    log = harness.eval("pfgen_rs/pfgen", answers, *options, *chosen)

    prompts = [call["messages"][0]["content"] for call in harness.asked()]
    last = [prompt.rpartition("Q: ")[2] for prompt in prompts]
    assert [last.count(q.text) for q in (late, never, refused)] == [4, 11, 20]
    assert set(prompts) == {
        task.prompt
        for trial in (1, 2)
        for task in prompter.tasks(trial, [q.text for q in (late, never, refused)])
    }
    reasons = [score.get("reason") for _, score in sorted(scores(log).items())]
    assert reasons == [None, None, "no_response", None, "refusal", "refusal"]
    found = [mini.score(late.id, "分かりません。"), mini.score(never.id, "風呂敷です。")]
    mean = metrics(log, "average")["pfgen_rs/mean"]
    assert metrics(harness.score(), "average") == metrics(log, "average")
    assert mean == pytest.approx(np.mean([s.average for s in found]), abs=1e-5)
    assert mean == figures_of_file(log, mini, harness.folder)["average"]
    assert {score["unscored_samples"] for score in log["results"]["scores"]} == {1}


def test_the_scorer_in_somebody_elses_task(harness: Harness, mini: Benchmark) -> None:
    """The page's example: questions are named by metadata or are the input, errors clustered as it says."""
    first, second = list(mini)[:2]
    samples = [
        {"input": "x", "id": 1, "metadata": {"question": first.text, "topic": "a"}},
        {"input": "y", "id": 2, "metadata": {"question_id": second.id, "topic": "b"}},
        {"input": second.text, "id": 3, "metadata": {"topic": "b"}},
        {"input": "z", "id": 4, "metadata": {"question": "誰も知らない問い"}},
    ]
    (harness.folder / "samples.json").write_text(json.dumps(samples), encoding="utf-8")
    [code] = re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
    (harness.folder / "theirs.py").write_text(code, encoding="utf-8")
    texts = ["一つ目です。", "光合成は植物が行います。", " 光合成\n", "答え"]
    answers = {f"None {s['input']}": [text] for s, text in zip(samples, texts, strict=True)}
    log = harness.eval("theirs.py", answers, "-T", "samples=samples.json", "--no-fail-on-error")

    [failed] = [sample for sample in log["samples"] if sample.get("error")]
    assert failed["id"] == 4
    assert "誰も知らない問い" in failed["error"]["message"]
    asked = [first, second, second]
    expected = [mini.score(q.id, text).average for q, text in zip(asked, texts, strict=False)]
    got = scores(log)
    assert [got[i, 1]["value"]["average"] for i in (1, 2, 3)] == expected
    deviations = np.array(expected) - np.mean(expected)
    clusters = [deviations[0], deviations[1] + deviations[2]]
    assert metrics(log, "average") == pytest.approx(
        {"mean": np.mean(expected), "stderr": math.sqrt(np.square(clusters).sum() * 2) / 3}
    )


def test_settings_are_checked_before_anybody_is_asked() -> None:
    from inspect_ai._util.error import PrerequisiteError

    from pfgen_rs.integrations import inspect_ai as ours

    both = (ours.pfgen, ours.pfgen_scorer)
    for make, wrong, match in (
        (ours.pfgen, {"trials": "x"}, "`trials` must be an integer of at least 1, not 'x'"),
        (ours.pfgen, {"trials": 0}, "at least 1, not 0"),
        (ours.pfgen, {"num_examples": "x"}, "the number of examples must be an integer"),
        *(
            (each, {"think": "foo"}, "`think` must be one of keep, strip, not 'foo'")
            for each in both
        ),
        *((each, {"mode": "poem"}, "`mode` must be one of") for each in both),
    ):
        how: Any = wrong
        with pytest.raises((PfgenError, PrerequisiteError), match=match):
            make("mini", **how)


def test_a_task_of_llm_jp_eval_has_our_figures(harness: Harness, own_tasks: Path) -> None:
    [data] = read_tasks(None, ["my_exam"])
    prompts = [filled(template(data, 0), sample.input) for sample in data.samples]
    told = {f"None {prompt}": [text] for prompt, text in zip(prompts, OUTPUTS, strict=True)}
    log = harness.eval(
        "pfgen_rs/llm_jp_eval", told, "-T", "task=my_exam", "-T", f"task_folder={own_tasks}"
    )
    expected = evaluate([data], {"my_exam": OUTPUTS})
    assert metrics(log, "exact_match") == {
        "pfgen_rs/figure": expected.scores["my_exam_exact_match"],
        "pfgen_rs/stderr": standard_errors(expected)["my_exam_exact_match"],
    }
    assert [each["answer"] for each in scores(log).values()] == ["B", "A", ""]
    [first, *_] = harness.asked()
    assert first["messages"] == [{"role": "user", "content": prompts[0]}]
    assert (first["config"]["max_tokens"], first["config"]["temperature"]) == (50, 0.0)
    settings = ScoreSettings(prompts=PromptSettings(chat=True))
    assert log["eval"]["metadata"]["signature"] == signature([data], settings)
