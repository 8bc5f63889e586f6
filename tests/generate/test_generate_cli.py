"""`pfgen-rs generate`: what its options mean, what it prints, and how it refuses."""

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from generating import answers, finished_names, key_of, names, wanted, write_samples
from helpers import CATS, SEAS, pfgen
from pfgen_rs import PfgenError, SettingsError, score_file
from pfgen_rs.ask.engines.manual import AnswersFile
from pfgen_rs.cli.app import app
from pfgen_rs.generate import Prompter, read_examples
from pfgen_rs.generate.config import RunConfig, config_hash
from places import SUPPORT

PROGRAM = SUPPORT / "answering_program.py"
RUNNER = CliRunner()


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return write_samples(tmp_path / "tiny")


def command(tmp_path: Path, *more: str | Path, engine: str = "manual") -> list[str]:
    """The arguments for a run of two trials of the tiny benchmark."""
    given = [f"--engine={engine}", f"--benchmark={tmp_path / 'tiny'}", "--trials=2"]
    return ["generate", "org/model", *given, f"--out={tmp_path / 'result'}", *map(str, more)]


def program(tmp_path: Path, *fault: str) -> str:
    return f"--command={shlex.join([sys.executable, str(PROGRAM), str(tmp_path / 'log'), *fault])}"


def folder_in(tmp_path: Path) -> Path:
    [folder] = (tmp_path / "result" / "org" / "model").iterdir()
    return folder


def config_of(tmp_path: Path, *more: str, engine: str = "command") -> dict[str, Any]:
    """The configuration that a command line makes."""
    done = RUNNER.invoke(app, command(tmp_path, *more, engine=engine))
    assert done.exit_code == (engine == "manual"), done.output
    [path] = tmp_path.glob("result/**/config.json")
    config: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return config


def test_generating_and_scoring(tmp_path: Path, tiny: Path) -> None:
    done = pfgen(*command(tmp_path, program(tmp_path), "--score", engine="command"))
    folder = folder_in(tmp_path)
    said = f"benchmark {tiny}: 2 questions, 2 trials, into {folder}\n"
    assert (done.returncode, done.stderr) == (0, said)
    summary, *table = done.stdout.splitlines()
    assert summary == f"{folder}: 2 of 2 trials, 4 new answers"
    score = f"{score_file(folder, tiny).score:.4f}"
    assert any("org/model" in line and score in line for line in table)
    assert answers(folder) == wanted(2)
    assert names(folder) == finished_names(2)


def test_failures(tmp_path: Path, tiny: Path) -> None:
    done = pfgen(*command(tmp_path, program(tmp_path, "error", "3"), engine="command"))
    assert done.returncode == 1
    assert done.stdout.endswith("1 of 2 trials, 3 new answers\n")
    _, at_once, first, second = done.stderr.splitlines()
    assert at_once.startswith(f"first failure: trial 2, {SEAS}: too\\u202elong")
    assert first.startswith(f"warning: trial 2, {SEAS}: too\\u202elong")  # what could act is shown
    assert second == "warning: 1 request failed: run the same command to ask again"


def test_carrying_prompts_elsewhere_and_answers_back(tmp_path: Path, tiny: Path) -> None:
    path = tmp_path / "prompts.jsonl"
    done = RUNNER.invoke(app, command(tmp_path, "--export", path, "--mode=chat"))
    assert (done.exit_code, done.stdout) == (0, f"wrote 4 tasks to {path}\n")
    assert done.stderr == f"benchmark {tiny}: 2 questions, 2 trials\n"
    shown = RUNNER.invoke(app, command(tmp_path, "--export=-", "--mode=chat"))
    assert shown.stdout == path.read_text(encoding="utf-8")
    assert not (tmp_path / "result").exists()

    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    tasks = [task for n in (1, 2) for task in Prompter(read_examples(tiny), "chat").tasks(n)]
    assert [(record["trial"], record["question"]) for record in records] == list(map(key_of, tasks))
    assert [record["messages"] for record in records] == [task.messages for task in tasks]
    about = {"question", "trial", "mode", "seed", "id", "custom_id", "max_tokens", "messages"}
    assert about <= records[0].keys()
    assert (records[1]["id"], records[1]["custom_id"]) == (2, f"1/{tasks[1].question}")
    for record in records[1:]:
        record["answer"] = f"A: 試行{record['trial']}の答え：{record['question'][:3]}"
    records[0]["answer"] = " "
    brought = tmp_path / "answers.jsonl"
    brought.write_text("\n\n".join(map(json.dumps, records)), encoding="utf-8")
    first = RUNNER.invoke(app, command(tmp_path, "--import", brought, "--mode=chat"))
    assert (first.exit_code, first.stdout[-29:]) == (1, "1 of 2 trials, 3 new answers\n")
    assert first.stderr.endswith(
        "warning: 1 of the imported answers are empty or failed: their tasks stay open\n"
    )
    left = RUNNER.invoke(app, command(tmp_path, "--export=-", "--mode=chat"))
    assert [json.loads(line)["trial"] for line in left.stdout.splitlines()] == [1]
    records[0]["answer"] = f"試行1の答え：{CATS[:3]}"
    brought.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    last = RUNNER.invoke(app, command(tmp_path, "--import", brought, "--mode=chat"))
    assert last.exit_code == 0
    assert last.stderr.endswith(
        f"3 of the imported answers do not match an open task, the first: trial 1, {SEAS!r}\n"
    )
    assert answers(folder_in(tmp_path)) == wanted(2)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"question": "a", "answer": "b"}', "line 1: 'trial' must be an integer"),
        ('\n{"trial": 1, "question": "a"}', "line 2: missing key 'answer'"),
        (
            '{"trial": 1, "question": "a", "answer": "b"}\n' * 2,
            "line 2: duplicate answer in trial 1",
        ),
        ("nothing", "line 1: is not JSON"),
    ],
)
def test_bad_imports(tmp_path: Path, tiny: Path, content: str, said: str) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(PfgenError, match=said):
        AnswersFile("m", path)
    done = RUNNER.invoke(app, command(tmp_path, "--import", path))
    assert isinstance(done.exception, PfgenError)
    assert not (tmp_path / "result").exists()
    with pytest.raises(PfgenError, match="cannot be read"):
        AnswersFile("m", tmp_path / "none")


def test_the_configuration(tmp_path: Path, tiny: Path) -> None:
    config = config_of(tmp_path, program(tmp_path))
    assert len(config.pop("questions")) == 12
    assert config == json.loads(RunConfig("command", "org/model").to_json())


def test_what_was_chosen_is_recorded(tmp_path: Path, tiny: Path) -> None:
    template = tmp_path / "template.jinja"
    template.write_text("{{ messages }}\n", encoding="utf-8")
    chosen = [
        f"--set=chat_template=@{template}",
        "--mode=qa",
        "--name=other/name",
        "--shots=3",
        "--set=seed=日本",
        "--set=prefix=<s>",
        "--set=timeout=9",
        "--temperature=0",
        "--top-p=none",
        "--max-tokens=5",
        "--stop=\\n",
        "--stop=終",
        "--think=strip",
        "--set=dtype=float16",
        '--set=extra={"a": 1}',
        "--set=_where=there",
    ]
    config = config_of(tmp_path, program(tmp_path), *chosen)
    del config["questions"]
    assert config == {
        "chat_template": "{{ messages }}\n",
        "dtype": "float16",
        "engine": "command",
        "extra": {"a": 1},
        "max_tokens": 5,
        "mode": "qa",
        "model": "other/name",
        "num_examples": 3,
        "prefix": "<s>",
        "seed": "日本",
        "stop": ["\n", "終"],
        "temperature": 0.0,
        "think": "strip",
    }


def test_none_is_left_to_the_engine_and_out_of_the_file(tmp_path: Path, tiny: Path) -> None:
    nothing = ["--stop=none", "--max-tokens=None", "--temperature=none", "--top-p=none"]
    config = config_of(tmp_path, program(tmp_path), *nothing)
    assert config.keys() == {"engine", "mode", "model", "num_examples", "questions"}
    [folder] = (tmp_path / "result/org/model").iterdir()
    assert folder.name == config_hash(config)
    asked = RUNNER.invoke(app, command(tmp_path, "--trials=3", "--export=-", *nothing))
    sampling = {"stop", "max_tokens", "temperature", "top_p"}
    keys = [json.loads(line).keys() for line in asked.stdout.splitlines()]
    assert len(keys) == 6
    assert not any(sampling & found for found in keys)


def test_what_precedes_prompts(tmp_path: Path, tiny: Path) -> None:
    """The prefix without its escapes, and what disables thinking."""
    asked = command(tmp_path, "--export=-", "--mode=chat", "--set=prefix=前提\\n", engine="openai")
    for more, start in (
        ["--set=enable_thinking=false", "/no_think\n前提\n例"],
        ["--set=enable_thinking=true", "前提\n例と"],
    ):
        shown = RUNNER.invoke(app, [*asked, more])
        systems = [json.loads(line)["messages"][0] for line in shown.stdout.splitlines()]
        assert {system["content"][: len(start)] for system in systems} == {start}, shown.output


def test_people_have_no_temperature(tmp_path: Path, tiny: Path) -> None:
    (tmp_path / "none.jsonl").write_text("")
    given = ["--stop=", f"--import={tmp_path / 'none.jsonl'}"]
    config = config_of(tmp_path, *given, engine="manual")
    assert config.keys() == {"engine", "max_tokens", "mode", "model", "num_examples", "questions"}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--max-tokens=0"], "invalid value '0': expected a positive integer or 'none'"),
        (["--stop=x", "--stop=none"], "'none' cannot be combined"),
        (["--set=x"], "invalid setting 'x': expected KEY=VALUE"),
        (["--set=think=strip"], "use --think for think"),
        (["--set=enable_thinking=false"], "enable_thinking requires the engine openai; for vllm"),
        ([], "the engine manual requires --import or --export"),
        (["--engine=command"], "the engine command requires a program: --command 'PROGRAM …'"),
        (["--set=chat_template=@none"], "none: cannot be read: No such file"),
        (["--engine=command", "--base-url=http://x"], "--base-url requires the engine openai"),
        (
            ["--engine=psychic"],
            "unknown engine 'psychic': expected one of openai, vllm, transformers",
        ),
        (["--import=x", "--export=y"], "--import and --export cannot be combined"),
        (["--export=/no/such/t.jsonl"], "/no/such: not a directory"),
        (["--engine=command", "--import=x"], "--import requires the engine manual"),
    ],
)
def test_bad_usage(tmp_path: Path, tiny: Path, more: list[str], said: str) -> None:
    done = RUNNER.invoke(app, command(tmp_path, *more), env={"COLUMNS": "200", "TERM": "dumb"})
    assert done.exit_code == 2
    assert said in " ".join(done.output.replace("│", "").split())
    assert not (tmp_path / "result").exists()


@pytest.mark.parametrize(
    ("more", "kind", "said"),
    [
        (["--name=../x"], SettingsError, "invalid run name"),
        (
            ["--name=" + "a" * 300],
            SettingsError,
            "a folder has a name of at most 255 bytes: set --name",
        ),
        (["--name=./llama"], SettingsError, "(if the model is a path, set --name)"),
        (["--top-p=nan"], SettingsError, "top_p must be a finite number"),
        (["--benchmark=none"], PfgenError, "unknown benchmark 'none'"),
    ],
)
def test_bad_input(tmp_path: Path, tiny: Path, more: list[str], kind: type, said: str) -> None:
    done = RUNNER.invoke(app, command(tmp_path, *more))
    assert isinstance(done.exception, kind)
    assert said in str(done.exception)
    assert not (tmp_path / "result").exists()


def test_bad_input_is_one_line(tmp_path: Path, tiny: Path) -> None:
    done = pfgen(*command(tmp_path, "--command=/no/such", engine="command"))
    assert (done.returncode, done.stdout) == (2, "")
    _, _, error = done.stderr.splitlines()
    assert error == "error: '/no/such' cannot be started: No such file or directory"


def test_other_questions(tmp_path: Path, tiny: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text('{"question": "何？", "answer": "これ。"}\n', encoding="utf-8")
    done = RUNNER.invoke(app, command(tmp_path, f"--benchmark={path}", "--export=-"))
    assert [json.loads(line)["question"] for line in done.stdout.splitlines()] == ["何？"] * 2
    assert done.stderr == f"benchmark {path}: 1 question, 2 trials\n"


def test_more_examples_than_there_are(tmp_path: Path, tiny: Path) -> None:
    done = RUNNER.invoke(app, command(tmp_path, "--shots=3", "--export=-"))
    first = "warning: prompts show 1 example answer instead of 3: no more are available"
    assert done.stderr.splitlines()[0] == first
    fewer = RUNNER.invoke(app, command(tmp_path, "--shots=1", "--export=-"))
    assert "warning" not in fewer.stderr
