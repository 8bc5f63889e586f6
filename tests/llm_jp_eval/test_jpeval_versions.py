"""Evaluation files of versions 1.0 to 2.x, made up by their documented keys: read, asked, and scored."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from fault_server import Asked, FaultServer, Handler, body
from jpeval_data import jp_eval, jp_json, write_file
from pfgen_rs.errors import InputError
from pfgen_rs.llm_jp_eval import evaluate, extraction, read_tasks
from pfgen_rs.llm_jp_eval.evaluation_files import Sample, read_task
from pfgen_rs.llm_jp_eval.prompts import PromptSettings, template
from pfgen_rs.llm_jp_eval.registry import add_folder
from pfgen_rs.metrics import expressions

SAMPLES = [{"input": "甲は乙か？", "output": "はい"}, {"input": "乙は丙か？", "output": "いいえ"}]
EXAMPLES = [{"input": "例の問", "output": "例の答"}, {"input": "別の問", "output": "別の答"}]
BASE: dict[str, Any] = {
    "instruction": "はい、いいえで答えよ。",
    "output_length": 20,
    "metrics": ["exact_match"],
    "samples": SAMPLES,
}
VERSIONS: dict[str, dict[str, Any]] = {
    "1.0": {**BASE, "metrics": ["exact_match", "char_f1"], "few_shots": EXAMPLES},
    "1.1": {**BASE, "metrics": ["char_f1", "set_f1"], "few_shots": []},
    "1.3": {**BASE, "few_shots": []},
    "1.4": {**BASE, "metrics": ["exact_match", "comet_wmt22"], "few_shots": [], "version": "1.4"},
    "2.0": {
        **BASE,
        "description": "made up",
        "license": "none",
        "label_list": ["はい", "いいえ"],
        "num_few_shots": 1,
        "answer_pattern_id": "custom",
        "answer_extract_pattern": "答え[:：](.*?)(?:。|$)",
        "language": "ja",
    },
    "2.1": {
        **BASE,
        "samples": [{**each, "metadata": {"id": 1}} for each in SAMPLES],
        "answer_pattern_id": "ANSWER_TAGS_JP",
        "custom_prompt_template": "問：{instruction}{few_shots_text}\n{input}\n答：",
        "profile": "swallow",
        "language": "en",
        "num_few_shots": None,
    },
}
SAID = {"2.0": "考えると、答え：{}。以上", "2.1": " 推論<answer> {} </answer>"}


def written(folder: Path, file: dict[str, Any], task: str = 'metrics = ["exact_match"]\n') -> Path:
    """A folder of evaluation files of `quiz`, which the folder `tasks` in it makes known."""
    (folder / "tasks").mkdir(parents=True)
    (folder / "tasks/quiz.toml").write_text(task, encoding="utf-8")
    write_file(folder / "evaluation/test/quiz.json", file)
    write_file(folder / "evaluation/train/quiz.json", {**BASE, "samples": EXAMPLES * 3})
    return folder


@pytest.mark.parametrize("version", VERSIONS)
def test_a_file_of_each_version_is_run_and_scored(
    version: str, tmp_path: Path, own_tasks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    folder = written(tmp_path, VERSIONS[version])
    outputs = {each["input"]: SAID.get(version, "{}").format(each["output"]) for each in SAMPLES}

    def say(handler: Handler, asked: Asked) -> None:
        [text] = [said for given, said in outputs.items() if given in asked.prompt]
        handler.reply(200, body(text, False))

    what = ["--data", folder, "--task-folder", folder / "tasks", "--tasks", "quiz"]
    with FaultServer(default=say) as server:
        engine = ["--engine", "openai", "--base-url", server.url, "--set", "retries=0"]
        found = jp_json("run", "org/m", *engine, "--out", tmp_path / "run", *what)
        prompts = [asked.prompt for asked in server.asked]
    assert set(found["scores"].values()) == {1.0}
    assert found["scores"].keys() == {
        f"quiz_{name}" for name in VERSIONS[version]["metrics"] if name != "comet_wmt22"
    }
    assert ("quiz_comet_wmt22" in found["not_computed"]) == (version == "1.4")
    assert found["out_of_label"] == ({"quiz_ool": 0.0} if version == "2.0" else {})
    shots = {"1.0": 2, "2.0": 1}.get(version, 4)
    assert [prompt.count("の答") for prompt in prompts] == [shots, shots]
    assert all(prompt.startswith("問：はい、") for prompt in prompts) == (version == "2.1")
    assert f"|shots:4,quiz={shots}|" in found["signature"] or shots == 4
    scored = jp_json("score", tmp_path / "run/outputs.jsonl", *what)
    assert (scored["scores"], scored["signature"]) == (found["scores"], found["signature"])


@pytest.fixture
def quiz(tmp_path: Path, own_tasks: Path) -> Path:
    """The path of the file of version 2.0, in a folder that makes `quiz` known."""
    add_folder(written(tmp_path, VERSIONS["2.0"]) / "tasks")
    return tmp_path / "evaluation/test/quiz.json"


def test_what_a_file_states_counts_and_what_is_asked_for_counts_more(quiz: Path) -> None:
    root = quiz.parents[2]
    data = read_task(root, "quiz")
    assert (data.labels, data.language, data.num_few_shots) == (("はい", "いいえ"), "ja", 1)
    assert template(data, data.number_of_shots(4)).count("の答") == 1
    assert read_task(root, "quiz", shots=3).number_of_shots(4) == 3
    write_file(quiz, {**VERSIONS["1.0"], "num_few_shots": 1})
    own = read_task(root, "quiz")
    assert own.shots == own.few_shots == tuple(Sample(**each) for each in EXAMPLES)
    assert PromptSettings().template(own).count("の答") == 1
    write_file(quiz, {"samples": SAMPLES, "metrics": None, "label_list": []})
    with pytest.raises(InputError, match="lacks the key 'instruction'"):
        read_task(root, "quiz")


def test_outputs_without_a_label_are_counted(quiz: Path) -> None:
    datas = read_tasks(quiz.parents[2], ["quiz"])
    found = evaluate(datas, {"quiz": ["答え：はい", "たぶん"]})
    assert (found.scores, found.out_of_label) == ({"quiz_exact_match": 0.5}, {"quiz_ool": 0.5})
    assert "quiz_ool" not in found.averages


UNKNOWN: list[tuple[dict[str, Any], str]] = [
    ({"system_prompt": "x"}, "unknown key 'system_prompt': expected one of instruction, "),
    ({"answer_pattern_id": "SECRET"}, "unknown answer pattern 'SECRET': expected one of ANSWER_TA"),
    (
        {"answer_extract_pattern": None},
        "'answer_pattern_id' 'custom' lacks 'answer_extract_pattern'",
    ),
    ({"answer_extract_pattern": "答え"}, "the answer pattern '答え' has no group"),
    (
        {"answer_extract_pattern": "(答え"},
        r"the answer pattern '\(答え' is not a regular expression",
    ),
    ({"metrics": ["magic"]}, "unknown metric 'magic'"),
    ({"profile": "9.9"}, "unknown profile '9.9': expected one of 1.3.0"),
    ({"label_list": [1]}, r"'labels\[0\]' must be text, not 1"),
    ({"num_few_shots": "4"}, "'num_few_shots' must be a whole number, not '4'"),
]


@pytest.mark.parametrize(("change", "message"), UNKNOWN)
def test_what_is_not_known_is_an_error_that_names_it(
    quiz: Path, change: dict[str, Any], message: str
) -> None:
    write_file(quiz, {**VERSIONS["2.0"], **change})
    with pytest.raises(InputError, match=message) as error:
        read_task(quiz.parents[2], "quiz")
    assert error.value.path == quiz


def test_templates_of_jinja_are_refused_unless_another_is_named(quiz: Path, tmp_path: Path) -> None:
    write_file(quiz, {**BASE, "custom_prompt_template": "{{ instruction }}{% if x %}{% endif %}"})
    what = ["--data", tmp_path, "--tasks", "quiz", "--out", tmp_path / "prompts.jsonl"]
    done = jp_eval("prompts", *what)
    assert "the template of quiz (test/quiz.json) is one of Jinja" in done.stderr
    (tmp_path / "own.txt").write_text("{instruction}{few_shots_text}{input}", encoding="utf-8")
    assert jp_eval("prompts", *what, "--template", tmp_path / "own.txt").exit_code == 0


# Extraction


CASES = [
    ("ANSWER_TAGS_EN", "a<answer>\n 1 </answer><answer>2</answer>", "1"),
    ("answer_tags_jp", "<answer>答</answer", ""),
    ("CHOICE_ONLY_EN", " (B). ", "B"),
    ("CHOICE_ONLY_JP", "Bです", ""),
    ("BOXED", r"so \boxed{\frac{\sqrt{2}}{3}} or \boxed{1}", r"\frac{\sqrt{2}}{3}"),
    ("答えは(.*)、(.)?", "答えは甲\n乙、", "甲\n乙"),
    (r"(?i)ANSWER: (\w+)", "the answer: Yes!", "Yes"),
    (r"(あ)?(い)", "い", "い"),
]


@pytest.mark.parametrize(("stated", "text", "expected"), CASES)
def test_patterns_extract_answers(stated: str, text: str, expected: str) -> None:
    pattern = extraction.answer_pattern(stated)
    assert extraction.extracted([text, "", text], pattern, "quiz") == [expected, "", expected]
    found = re.search(pattern, text, re.DOTALL)
    assert expected == "".join(found.groups("") if found else "").strip()


def test_extraction_takes_a_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    long = "あ" * 400_000 + "\ud800<answer>\ud800</answer>"
    pattern = extraction.PATTERNS["ANSWER_TAGS_JP"]
    assert extraction.extracted([long] * 3, pattern, "quiz") == ["\ud800"] * 3
    monkeypatch.setattr(expressions, "TIME_LIMIT", 0.3)
    message = r"quiz: the answer pattern '\(\(a\+\)\+\)b' takes longer than"
    with pytest.raises(InputError, match=message):
        extraction.extracted(["a" * 60], "((a+)+)b", "quiz")
    assert extraction.extracted(["<answer>b</answer>"], pattern, "quiz") == ["b"]


def test_no_output_hides_an_answer_elsewhere(quiz: Path) -> None:
    """The profile reads an output before the answer is extracted: 1.3.0 cuts it at an empty line."""
    datas = read_tasks(quiz.parents[2], ["quiz"])
    outputs = {"quiz": ["考え\n\n答え：はい", "答え：いいえ"]}
    assert evaluate(datas, outputs).scores == {"quiz_exact_match": 0.5}
    task = 'metrics = ["exact_match"]\nreading = ["nfkc"]\n'
    (quiz.parents[2] / "tasks/quiz.toml").write_text(task, encoding="utf-8")
    add_folder(quiz.parent)  # files are read anew
    datas = read_tasks(quiz.parents[2], ["quiz"])
    assert evaluate(datas, outputs).scores == {"quiz_exact_match": 1.0}
    assert json.loads(quiz.read_text("utf-8"))["label_list"] == [*datas[0].labels]
