"""The task of inspect_ai for llm-jp-eval gives the figures of our scorer."""

import json
from pathlib import Path
from typing import Any

import pytest

import helpers
from pfgen_rs.llm_jp_eval import convert
from pfgen_rs.llm_jp_eval.catalog import CATEGORIES, tasks
from pfgen_rs.llm_jp_eval.data import TaskData, item_id, read_tasks
from pfgen_rs.llm_jp_eval.prompts import filled, template
from pfgen_rs.llm_jp_eval.results import PromptSettings, ScoreSettings, signature
from pfgen_rs.llm_jp_eval.scoring import evaluate, standard_errors

pytest.importorskip("inspect_ai")

from inspect_harness import Harness

SHOTS = 1


@pytest.fixture(scope="module")
def folder(jpeval_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All 17 tasks, converted from made-up raw files."""
    place = tmp_path_factory.mktemp("converted")
    convert(jpeval_dir / "golden" / "mini" / "raw_files", place)
    return place


@pytest.fixture
def harness(tmp_path: Path) -> Harness:
    return Harness(tmp_path)


def prompts_of(data: TaskData) -> list[str]:
    return [filled(template(data, SHOTS), sample.input) for sample in data.samples]


def outputs_of(data: TaskData) -> list[str]:
    """Right ones, wrong ones, and some in between; the same prompt has the same output."""
    kinds = (
        lambda gold: gold,
        lambda gold: f" {gold}\n\n### 入力:\n次",
        lambda gold: gold[: len(gold) // 2 + 1] + "。",
    )
    golds = dict(reversed([(sample.input, sample.output) for sample in data.samples]))
    numbers = {text: number for number, text in enumerate(golds)}
    return [kinds[numbers[sample.input] % 3](golds[sample.input]) for sample in data.samples]


def options(folder: Path, **more: Any) -> list[str]:
    given = {"data": folder, "shots": SHOTS, **more}
    return [word for name, value in given.items() for word in ("-T", f"{name}={value}")]


def answers_of(datas: list[TaskData]) -> dict[str, list[str]]:
    """What the model is told, by the end of each prompt."""
    return {
        f"None {prompt.rpartition('Q: ')[2]}": [text]
        for data in datas
        for prompt, text in zip(prompts_of(data), outputs_of(data), strict=True)
    }


def figures(log: dict[str, Any]) -> dict[str, float]:
    [score] = log["results"]["scores"]
    return {name: metric["value"] for name, metric in score["metrics"].items()}


@pytest.mark.parametrize(
    ("variant", "names"), [("upstream", list(tasks())), ("swallow", ["jsts", "MC"])]
)
def test_figures_are_those_of_our_scorer(
    harness: Harness, folder: Path, variant: str, names: list[str]
) -> None:
    datas = read_tasks(folder, ["jcommonsenseqa", "jsts"] if len(names) == 2 else names)
    log = harness.eval(
        "pfgen_rs/llm_jp_eval",
        answers_of(datas),
        *options(folder, variant=variant, tasks=",".join(names)),
    )
    outputs = {data.task: outputs_of(data) for data in datas}
    expected = evaluate(datas, outputs, variant)
    errors = {f"{n}_stderr": e for n, e in standard_errors(expected).items() if e is not None}
    averaged = (
        ["MC"] if len(names) == 2 else [*(name for name in CATEGORIES if name != "STS"), "AVR"]
    )
    averages = {name: expected.averages[name] for name in averaged}
    assert figures(log) == {**expected.scores, **errors, **averages}
    assert 0 < expected.averages["MC"] < 1
    settings = ScoreSettings(variant, prompts=PromptSettings(SHOTS, chat=True))
    assert log["eval"]["metadata"]["signature"] == signature(datas, settings)
    asked = {call["messages"][0]["content"]: call for call in harness.asked()}
    for data in datas:
        for prompt in prompts_of(data):
            call = asked[prompt]
            assert [message["role"] for message in call["messages"]] == ["user"]
            assert call["config"]["max_tokens"] == data.output_length
            assert call["config"]["temperature"] == 0.0
            assert "stop_seqs" not in call["config"]


def test_the_first_samples_of_a_task(harness: Harness, folder: Path) -> None:
    datas = read_tasks(folder, ["jemhopqa"], "dev")
    log = harness.eval(
        "pfgen_rs/llm_jp_eval",
        answers_of(datas),
        *options(folder, tasks="jemhopqa", split="dev", n=1),
    )
    expected = evaluate(datas, {"jemhopqa": outputs_of(datas[0])[:1]})
    assert figures(log)["jemhopqa_char_f1"] == expected.scores["jemhopqa_char_f1"]
    [sample] = log["samples"]
    assert sample["id"] == item_id("jemhopqa", "dev", 0)
    [score] = sample["scores"].values()
    row = expected.frame.row(0, named=True)
    assert (score["value"], score["answer"]) == (row["value"], row["pred"])


WRONG = """
import json, sys
from inspect_ai._util.error import PrerequisiteError
from pfgen_rs.integrations import inspect_ai as ours
def told(**wrong):
    try:
        ours.llm_jp_eval(data=sys.argv[1], **wrong)
    except PrerequisiteError as error:
        return str(error)
wrong = [{"tasks": "jamb"}, {"n": 0}, {"shots": "x"}, {"shots": 99}, {"variant": "old"}, {"split": "all"}]
print(json.dumps([told(**one) for one in wrong]))
"""


def test_settings_are_checked_before_anybody_is_asked(folder: Path) -> None:
    done = helpers.python(WRONG, folder)
    assert done.returncode == 0, done.stderr
    task, n, shots, many, variant, split = json.loads(done.stdout)
    assert "unknown task 'jamb': expected one of chabsa" in task
    assert "`n` must be an integer of at least 1, not 0" in n
    assert "the number of shots must be an integer of at least 0, not 'x'" in shots
    assert "choose fewer" in many
    assert "unknown variant 'old'" in variant
    assert "unknown split 'all'" in split
