"""Tasks of one's own: files that describe them, where they are found, and all that then takes them."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helpers import pfgen
from jpeval_data import SHOTS, jp_json, write_data, write_file
from jpeval_exam import EXAM, OUTPUTS, RIGHT, SAMPLES, TASK, write_exam
from pfgen_rs.errors import ConfigError, InputError, SettingsError
from pfgen_rs.llm_jp_eval import convert, evaluate, read_tasks, registry
from pfgen_rs.llm_jp_eval.conversion import converting
from pfgen_rs.llm_jp_eval.evaluation_files import read_task, without_file
from pfgen_rs.llm_jp_eval.prompts import template
from pfgen_rs.training import StepEvaluator, TaskReward
from places import DOCS

Change = Callable[..., None]


@pytest.fixture
def change(own_tasks: Path) -> Change:
    """Adds lines before the table of the task's file, and other files."""

    def made(lines: str = "", **files: Any) -> None:
        (own_tasks / "my_exam.toml").write_text(lines + TASK, encoding="utf-8")
        for name, content in files.items():
            write_file(own_tasks / f"{name}.json", content)
        registry._forget()

    return made


def test_the_command_line_takes_a_task_of_ones_own(tmp_path: Path) -> None:
    folder = write_exam(tmp_path / "exams")
    jp_eval = "llm-jp-eval"
    where: list[str | Path] = ["--task-folder", folder]
    listed = json.loads(pfgen(jp_eval, "tasks", *where, "--format", "json").stdout)
    assert [each["category"] for each in listed if each["name"] == "my_exam"] == ["EXAM"]
    done = pfgen(jp_eval, "prompts", *where, "--tasks", "EXAM", "--out", "-")
    prompts = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["id"] for each in prompts] == [f"my_exam/test/{n}" for n in range(3)]
    assert all("例" not in each["prompt"] for each in prompts)  # there is no split `train`
    outputs, scores = tmp_path / "outputs.jsonl", tmp_path / "scores"
    lines = [
        json.dumps({"id": each["id"], "digest": each["digest"], "output": text})
        for each, text in zip(prompts, OUTPUTS, strict=True)
    ]
    outputs.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    env = {"PFGEN_RS_TASKS": os.pathsep.join(["", str(folder)])}
    done = pfgen(jp_eval, "score", outputs, "--out", scores, env=env)
    assert "my_exam  exact_match  3  0.6667" in done.stdout
    assert "my_exam_ool 0.3333" in done.stderr
    assert "|shots:4,my_exam=0|" in done.stdout
    for more in (where, []):  # also where nobody knows the task
        found = json.loads(pfgen(jp_eval, "report", scores, "--format", "json", *more).stdout)
        values = found["scores"]["scores"]
        assert values["my_exam"]["value"] == pytest.approx(2 / 3)
        assert ("EXAM" in values) == (more == where)
    unknown = pfgen(jp_eval, "score", outputs)
    assert "which a file my_exam.toml makes known (--task-folder" in unknown.stderr
    unknown = pfgen(jp_eval, "prompts", "--tasks", "my_exam", "--out", "-")
    assert "a file my_exam.toml makes known (--task-folder, PFGEN_RS_TASKS)" in unknown.stderr


def test_training_takes_a_task_of_ones_own(own_tasks: Path, tmp_path: Path) -> None:
    reward = TaskReward("my_exam", split="test")
    assert reward([each["input"] for each in SAMPLES], OUTPUTS) == [*RIGHT]
    evaluator = StepEvaluator(
        "mini",
        lambda tasks: [
            OUTPUTS[[s["input"] in t.prompt for s in SAMPLES].index(True)] for t in tasks
        ],
        every=1,
        questions=0,
        tasks=["my_exam"],
        folder=tmp_path / "curve",
    )
    with evaluator:
        evaluator(1)
    row = evaluator.curve.row(0, named=True)
    assert row["llm_jp_eval/my_exam"] == pytest.approx(2 / 3)
    assert "llm_jp_eval/AVR" not in row


# Files that describe tasks


WRONG: list[tuple[str, str]] = [
    ("", "lacks the key 'metrics'"),
    ("metrics = 3", "'metrics' must be a list, not 3"),
    ("metrics = ['a', 3]", r"'metrics\[1\]' must be text, not 3"),
    ("metrics = []\ncategroy = 'QA'", "unknown key 'categroy': expected one of name, "),
    ("metrics = []\noutput_length = '3'", "'output_length' must be a whole number, not '3'"),
    ("metrics = []\nfew_shots = true", "'few_shots' must be a whole number, not True"),
    ("metrics = []\nname = 'a b'", "invalid name 'a b': expected one such as my_exam"),
    ("metrics = []\nname = 'jamp'", "the name 'jamp' is already that of .*jamp.toml"),
    ("metrics = []\nsplits = ['valid']", r"unknown splits\[0\] 'valid': expected one of train"),
    ("metrics = []\n[data]\neval = 'x.json'", r"unknown splits\[0\] 'eval'"),
    ("metrics = []\n[data]\ntest = 3", "'data.test' must be a path, not 3"),
    ("metrics = []\nsource = 'web'", "'source' must be a table, not 'web'"),
    ("metrics = []\n[source]\nname = 'x'", "lacks the key 'source.repository'"),
    ("metrics = []\n[source]\nurl = 'x'", "unknown key 'source.url'"),
    ("metrics = []\nanswer_pattern = '(答'", r"the answer pattern '\(答' is not a regular expr"),
    ("metrics = ", "invalid TOML"),
    ("tasks = 3", "'tasks' must be a list"),
    ("tasks = []\nshots = 4", "'shots' must be a list, not 4"),
    ("tasks = []\nsampling = {temperature = 'hot'}", "'sampling.temperature' must be a number"),
    ("tasks = []\ncategories = {QA = 'jamp_char_f1'}", "'categories.QA' must be a list"),
]


@pytest.mark.parametrize(("content", "message"), WRONG)
def test_wrong_files_are_named(content: str, message: str, own_tasks: Path) -> None:
    path = own_tasks / "wrong.toml"
    path.write_text(content, encoding="utf-8")
    registry._forget()
    with pytest.raises((InputError, ConfigError), match=message) as error:
        registry.profiles() if "tasks" in content else registry.tasks()
    assert str(error.value).startswith(f"{path}: ")


def test_a_profile_of_ones_own_is_a_list_of_tasks(own_tasks: Path) -> None:
    path = own_tasks / "board.toml"
    path.write_text("tasks = ['my_exam', 'jamp']\nshots = [0]\nreading = ['nfkc']\n")
    registry._forget()
    assert [each.name for each in registry.chosen_tasks(None, "board")] == ["my_exam", "jamp"]
    path.write_text("tasks = ['my_exam', 'jump']\n")
    registry._forget()
    with pytest.raises(InputError, match=r"board.toml: 'tasks' has the unknown task 'jump'"):
        registry.chosen_tasks(None, "board")


def test_folders_are_found_once_and_must_be_there(
    own_tasks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PFGEN_RS_TASKS", str(own_tasks / ".." / "exams"))
    registry._forget()
    assert registry.find_task("my_exam").is_own
    with pytest.raises(InputError, match="nowhere: no such folder of tasks"):
        registry.add_folder(tmp_path / "nowhere")
    monkeypatch.setenv("PFGEN_RS_TASKS", str(tmp_path / "nowhere"))
    registry._forget()
    with pytest.raises(InputError, match=r"no such folder of tasks \(see PFGEN_RS_TASKS\)"):
        registry.tasks()


# What they say is honoured


def test_the_folder_that_is_named_comes_first(own_tasks: Path, tmp_path: Path) -> None:
    data = write_data(tmp_path / "data")
    assert read_task(data, "my_exam").samples == read_task(None, "my_exam").samples
    other = {**EXAM, "samples": SAMPLES[:1]}
    write_file(data / "evaluation/test/my_exam.json", other)
    assert len(read_task(data, "my_exam").samples) == 1
    assert len(read_task(None, "my_exam").samples) == 3
    assert without_file(data, ["my_exam", "jamp", "mawps"], "test") == ["mawps"]
    with pytest.raises(InputError, match="my_exam has no split dev: choose among test"):
        read_task(data, "my_exam", "dev")


def test_examples_and_templates(change: Change) -> None:
    assert template(read_task(None, "my_exam"), 0).endswith("応答:\n")
    change('few_shots = 1\ntemplate = "{few_shots_text}|{input}"\n')
    [data] = read_tasks(None, ["my_exam"])
    assert (data.num_few_shots, data.shots) == (1, ())
    with pytest.raises(SettingsError, match=r"my_exam has 0 examples .*, not 1: choose fewer"):
        template(data, data.number_of_shots(4))
    change("few_shots = 1\n", my_exam={**EXAM, "few_shots": SAMPLES[:2]})
    assert read_task(None, "my_exam").number_of_shots(4) == 2  # the file counts more
    change('template = "{few_shots_text}|{input}"\n')
    data = read_task(None, "my_exam")
    assert template(data, 2).endswith("応答:\nA|{input}")
    assert template(data, 2, "{input}") == "{input}"


def test_the_task_file_is_part_of_the_digest_and_fills_in(change: Change, own_tasks: Path) -> None:
    from pfgen_rs.llm_jp_eval.evaluation_files import files_of, raw_digest

    before = read_task(None, "my_exam")
    assert files_of(before).keys() == {"test/my_exam.json"}
    instruction = 'instruction = "選べ"\noutput_length = 7\n'
    change(instruction, my_exam={"samples": SAMPLES})
    after = read_task(None, "my_exam")
    assert (after.instruction, after.output_length) == ("選べ", 7)
    assert after.metrics == ("exact_match",)
    same = read_task(None, "my_exam")
    assert raw_digest([after]) == raw_digest([same])
    change(instruction.replace("7", "8"))
    assert raw_digest([read_task(None, "my_exam")]) != raw_digest([after])
    assert evaluate([after], {"my_exam": OUTPUTS}).frame["value"].to_list() == [*RIGHT]


# Converters


SOURCE = """
metrics = ["pearson"]
instruction = "類似度は？"
output_length = 3
splits = ["train", "test"]

[source]
name = "Mine"
repository = "nobody/mine"
revision = "main"
licence = "CC0"
converter = "{}"
files = {{ "mine.txt" = "mine.txt" }}
"""


def test_tasks_may_name_a_converter_of_ones_own(own_tasks: Path, tmp_path: Path) -> None:
    @converting.converter("lines")
    def lines(files: Any) -> converting.Splits:
        texts = files[0].content.decode().splitlines()
        pairs = [(text, str(float(n))) for n, text in enumerate(texts)]
        return {"train": pairs[:1], "test": pairs[1:]}

    (own_tasks / "mine.toml").write_text(SOURCE.format("lines"), encoding="utf-8")
    (own_tasks / "odd.toml").write_text(SOURCE.format("magic"), encoding="utf-8")
    registry._forget()
    raw = tmp_path / "raw"
    raw.mkdir()
    (raw / "mine.txt").write_text("甲\n乙\n丙\n", encoding="utf-8")
    found = convert(raw, tmp_path / "data", tasks=["mine"], tuning=False)
    assert [file.path for file in found.files] == [
        "evaluation/train/mine.json",
        "evaluation/test/mine.json",
    ]
    data = read_task(tmp_path / "data", "mine")
    assert [sample.input for sample in data.samples] == ["乙", "丙"]
    with pytest.raises(SettingsError, match=r"unknown converter 'magic'.*jsquad.*lines"):
        convert(raw, tmp_path / "data", tasks=["odd"])
    with pytest.raises(InputError, match="my_exam has no source to convert"):
        convert(raw, tmp_path / "data", tasks=["my_exam"])


def test_the_published_tasks_name_converters_that_there_are() -> None:
    names = {info.source.converter for info in registry.tasks().values() if info.source}
    assert names <= {*converting.CONVERTERS.names()}
    assert set(SHOTS) <= {*registry.tasks()}
    assert jp_json("tasks")[0]["source"]["converter"] == "chabsa"


TABLE = DOCS / "specification" / "llm-jp-eval.md"


def test_the_table_of_tasks_is_that_of_the_registry() -> None:
    lines = TABLE.read_text("utf-8").splitlines()
    rows = [[cell.strip(" `") for cell in line.split("|")[1:-1]] for line in lines]
    found = {row[0]: row for row in rows if len(row) == 6 and row[0] in registry.tasks()}
    assert {*found} == {*registry.find_profile(registry.DEFAULT).tasks}
    for name, (_, category, metrics, length, _, licence) in found.items():
        info = registry.find_task(name)
        own = (info.category, ", ".join(info.metrics), str(info.output_length), info.licence)
        assert own == (category, metrics, length, licence)
