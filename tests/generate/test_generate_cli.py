"""`pfgen-rs generate`: options, what it prints and refuses, and processes that are killed or share a run."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import generating
from generating import answers, finished_names, key_of, names, wanted, write_samples
from helpers import CATS, SCRIPT, SEAS, TIMEOUT, environment, pfgen
from pfgen_rs import Benchmark, PfgenError, SettingsError, score_file
from pfgen_rs.ask.engines.command import CommandEngine
from pfgen_rs.ask.engines.manual import AnswersFile
from pfgen_rs.cli.app import app
from pfgen_rs.generate import Prompter, Run, RunConfig, generate, read_examples
from pfgen_rs.generate.config import config_hash
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
    chosen = [f"--set=chat_template=@{template}", '--set=extra={"a": 1}', "--stop=\\n", "--stop=終"]
    chosen += ["--mode=qa", "--name=other/name", "--shots=3", "--set=seed=日本", "--set=prefix=<s>"]
    chosen += ["--set=timeout=9", "--temperature=0", "--top-p=none", "--max-tokens=5"]
    chosen += ["--think=strip", "--set=dtype=float16", "--set=_where=there"]
    config = config_of(tmp_path, program(tmp_path), *chosen)
    del config["questions"]
    wanted: dict[str, object] = {"engine": "command", "mode": "qa", "model": "other/name"}
    wanted |= {"chat_template": "{{ messages }}\n", "dtype": "float16", "extra": {"a": 1}}
    wanted |= {"max_tokens": 5, "num_examples": 3, "prefix": "<s>", "seed": "日本"}
    assert config == {**wanted, "stop": ["\n", "終"], "temperature": 0.0, "think": "strip"}


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
            "unknown engine 'psychic': expected one of openai, anthropic, vllm, transformers",
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


# Processes that are killed, find no room, or share a run: nothing is lost, torn, or asked twice.


pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals, limits and locks")

DEADLINE = 30.0
# The command line in a process whose files cannot grow beyond so many bytes: a disk that is full.
FULL_DISK = """
import resource, sys
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)), hard))
from pfgen_rs.cli import main
main()
"""


def started(*command: object) -> subprocess.Popen[str]:
    pipe, words = subprocess.PIPE, [str(word) for word in command]
    return subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True, env=environment())


class Sharing(generating.Place):
    """A folder for runs of the tiny benchmark, and for what programs log."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.logs = folder / "logs"
        self.logs.mkdir()

    def program(self, log: str, *fault: str) -> list[str]:
        return [sys.executable, str(PROGRAM), str(self.logs / log), *fault]

    def arguments(self, log: str, *fault: str, trials: int = 4) -> list[str]:
        program = f"--command={shlex.join(self.program(log, *fault))}"
        places = [f"--benchmark={self.benchmark}", f"--out={self.results}", f"--trials={trials}"]
        return ["generate", "org/model", "--engine=command", program, *places]

    def start(self, log: str, *fault: str, **options: int) -> subprocess.Popen[str]:
        return started(SCRIPT, *self.arguments(log, *fault, **options))

    def go_on(self, log: str, trials: int = 4) -> Run:
        """What the same command does next, in this process."""
        with closing(CommandEngine("org/model", command=self.program(log))) as engine:
            config = RunConfig("command", "org/model")
            return generate(
                config, engine, benchmark=self.benchmark, trials=trials, results=self.results
            )

    def asked(self, log: str) -> list[generating.Key]:
        path = self.logs / log
        rows = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [(int(trial), question) for trial, question in (row.split("\t") for row in rows)]

    @property
    def folder(self) -> Path:
        [folder] = (self.results / "org" / "model").iterdir()
        return folder


@pytest.fixture
def place(tmp_path: Path) -> Sharing:
    return Sharing(tmp_path)


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=TIMEOUT)
    assert "pfgen_rs" not in err or "Traceback" not in err, err
    return process.returncode, out, err


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def lines_kept(place: Sharing) -> int:
    paths = place.results.rglob("journal.jsonl")
    return sum(path.read_bytes().count(b"\n") for path in paths)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 130), (signal.SIGTERM, 143)]
)
def test_a_signal_while_generating(place: Sharing, number: signal.Signals, code: int) -> None:
    process = place.start("first", "hold", "5")
    wait_for(lambda: (place.logs / "first.holding").exists() and lines_kept(place) == 5)
    process.send_signal(number)
    returned, _, err = ended(process)
    assert returned == code
    assert ("run the same command to continue" in err) == (number != signal.SIGKILL)
    # A trial that is there is whole.
    begun = [each for each in generating.BEGUN if each != "generation.json"]
    assert generating.names(place.folder) == [
        *(begun if number == signal.SIGKILL else generating.BEGUN),
        "trial_001.jsonl",
        "trial_002.jsonl",
    ]
    assert len(generating.answers(place.folder)) == 4

    assert place.go_on("second").new == 3
    assert place.asked("first") + place.asked("second") == list(generating.wanted(4))
    assert generating.answers(place.folder) == generating.wanted(4)
    assert generating.names(place.folder) == generating.finished_names(4)


SHARING = """
import sys
from pfgen_rs.ask.engines import command as engine_command
from pfgen_rs.generate import RunConfig, generate

engine_command._OPEN = 2
benchmark, results, *command = sys.argv[1:]
engine = engine_command.CommandEngine("org/model", command=command)
config = RunConfig("command", "org/model")
generate(config, engine, benchmark=benchmark, results=results, trials=8)
engine.close()
"""


def test_two_processes_share_a_run(place: Sharing) -> None:
    command = (sys.executable, "-c", SHARING, place.benchmark, place.results)
    processes = [started(*command, *place.program(log, "meet")) for log in ("first", "second")]
    results = [ended(process) for process in processes]
    first, second = place.asked("first"), place.asked("second")
    assert first
    assert second
    assert sorted(first + second) == sorted(generating.wanted(8))
    assert [code for code, _, _ in results] == [0, 0]
    assert generating.answers(place.folder) == generating.wanted(8)
    assert generating.names(place.folder) == generating.finished_names(8)


def test_a_claim_ends_with_its_process(place: Sharing) -> None:
    holder = place.start("first", "hold", "1")
    wait_for(lambda: (place.logs / "first.holding").exists() and lines_kept(place) == 1)
    code, out, err = ended(place.start("second", trials=6))
    assert (code, out) == (0, f"{place.folder}: 2 of 6 trials, 4 new answers\n")
    assert err.splitlines()[1:] == ["warning: 7 requests in progress in other processes"]
    assert place.asked("second") == [
        (n, question) for n in (5, 6) for question in generating.QUESTIONS
    ]
    holder.kill()
    ended(holder)
    assert place.go_on("third", 6).elsewhere == 0
    assert place.asked("third") == list(generating.wanted(4))[1:]
    assert generating.answers(place.folder) == generating.wanted(6)
    assert generating.names(place.folder) == generating.finished_names(6)


@pytest.mark.parametrize("room", [100, 750])
def test_a_full_disk(place: Sharing, room: int) -> None:
    """Not even the configuration fits, or a line and a half of a trial."""
    command = [sys.executable, "-c", FULL_DISK, str(room), *place.arguments("first", trials=8)]
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment(), timeout=TIMEOUT, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "error: " in done.stderr
    assert "cannot be written" in done.stderr
    kept = lines_kept(place)
    assert kept == {100: 0, 750: 1}[room]
    assert all(
        (path.read_bytes() or b"\n").endswith(b"\n")
        for path in place.results.rglob("journal.jsonl")
    )
    assert place.go_on("second", 8).complete
    assert place.asked("second") == list(generating.wanted(8))[kept:]
    assert generating.answers(place.folder) == generating.wanted(8)
    assert generating.names(place.folder) == generating.finished_names(8)


def test_a_program_that_dies(place: Sharing) -> None:
    code, out, err = ended(place.start("first", "die", "3"))
    assert (code, out) == (2, "")
    assert "\nout of luck\n" in err  # what programs say passes through
    assert "exited with code 3" in err
    assert place.go_on("second").complete
    assert place.asked("first") + place.asked("second") == list(generating.wanted(4))


def test_a_saved_set_is_asked_without_examples(tmp_path: Path) -> None:
    bench = Benchmark.from_references({"空は？": ["青い空です。"], "海は？": ["青い海です。"]})
    bench.save(tmp_path / "own")
    asked = ("generate", "m", "--engine", "manual", "--trials", "1", "-b", tmp_path / "own")
    refused = pfgen(*asked, "--export", tmp_path / "tasks.jsonl")
    assert "without examples (--shots 0) it is not needed" in refused.stderr
    done = pfgen(*asked, "--shots", "0", "--export", tmp_path / "tasks.jsonl")
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "tasks.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["question"] for line in lines] == ["空は？", "海は？"]
