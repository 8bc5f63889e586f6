"""What is loaded when, how the package's names behave, and how fast scoring is."""

import ast
import importlib
import json
import os
import pickle
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl
import pytest

import oracle
import pfgen_rs
from helpers import environment
from pfgen_rs import Benchmark, Question, errors
from pfgen_rs.cli.app import COMMANDS
from pfgen_rs.io.chunk import Options
from pfgen_rs.io.reading import Reading
from pfgen_rs.io.source import Source
from pfgen_rs.questions.locate import bundled_path
from places import published_runs

DATA = {"numpy", "polars"}
HEAVY = {*DATA, "importlib.metadata", "jinja2", "matplotlib", "platformdirs", "rich", "typer"}


def run(code: str, **variables: str) -> str:
    command = [sys.executable, "-c", code]
    env = environment(**variables)
    return subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout


def loaded(code: str, **variables: str) -> set[str]:
    """Modules that this loads."""
    before = "import sys\nbefore = set(sys.modules)\n"
    listing = "print(chr(10), __import__('json').dumps([*set(sys.modules) - before]))"
    return set(json.loads(run(f"{before}{code}\n{listing}", **variables).splitlines()[-1]))


def loaded_by(*command_lines: Sequence[str], **variables: str) -> set[str]:
    """Modules that these command lines load, one after the other in one process."""
    code = (
        "import pfgen_rs.cli\n"
        f"for arguments in {command_lines!r}:\n"
        "    sys.argv = ['pfgen-rs', *arguments]\n"
        "    try: pfgen_rs.cli.main()\n"
        "    except SystemExit: pass\n"
    )
    return loaded(code, **variables)


def test_importing_the_package_loads_its_errors_alone() -> None:
    names = loaded("import pfgen_rs")
    assert not names & HEAVY
    ours = {name for name in names if name.startswith("pfgen_rs")}
    assert ours == {"pfgen_rs", "pfgen_rs.errors", "pfgen_rs.lazy"}
    more = "from pfgen_rs import InputError, __version__; assert __version__"
    assert not loaded(more) & HEAVY


def test_all_names_are_the_same_everywhere() -> None:
    assert sorted(pfgen_rs.__all__) == pfgen_rs.__all__
    assert set(pfgen_rs.__all__) <= set(dir(pfgen_rs))
    bound = run("from pfgen_rs import *; print(*dir())").split()
    assert set(pfgen_rs.__all__) <= set(bound)


PUBLIC = {
    Benchmark: "about check evaluate explain find from_references ids index index_path models prepare save "
    "score score_batch scorer signature sources with_settings without_models",
    pfgen_rs.Result: "by_category by_question clean compare config cut_short empty fluency foreign frame "
    "generation height helpfulness input_hash interval is_partial length length_std missing model name "
    "num_trials path planned problems questions read_as run sample score score_std signature summary "
    "to_bytes to_dict to_html to_json to_pandas to_polars truthfulness with_summation",
}


@pytest.mark.parametrize("kind", PUBLIC)
def test_what_users_call_is_listed_and_nothing_else(kind: type) -> None:
    assert [name for name in dir(kind) if not name.startswith("_")] == PUBLIC[kind].split()
    packages = {"install", "stats", "studies"}
    assert set(dir(pfgen_rs)) == {*pfgen_rs.__all__, *packages}


def test_an_unknown_name_is_an_attribute_error_with_a_suggestion() -> None:
    with pytest.raises(AttributeError, match="'pfgen_rs' has no attribute 'score_fiel'") as e:
        pfgen_rs.score_fiel  # type: ignore[attr-defined] # noqa: B018
    assert (e.value.name, e.value.obj) == ("score_fiel", pfgen_rs)


def test_scan_is_the_function_whatever_was_imported_before() -> None:
    run("import pfgen_rs.scanning, pfgen_rs; assert pfgen_rs.scan is pfgen_rs.scanning.scan")
    run("import pfgen_rs; pfgen_rs.scan; import pfgen_rs.scanning; assert callable(pfgen_rs.scan)")


def test_names_are_pickled() -> None:
    for value in (pfgen_rs.Settings(max_n=3), pfgen_rs.load_benchmark, pfgen_rs.Benchmark):
        assert pickle.loads(pickle.dumps(value)) == value
    text = pickle.dumps(pfgen_rs.Settings(max_n=3))
    assert run(f"import pickle; print(pickle.loads({text!r}).max_n)") == "3\n"


LAZY = ("pfgen_rs", "pfgen_rs.install", "pfgen_rs.stats")


@pytest.mark.parametrize("name", LAZY)
def test_a_package_exports_what_type_checkers_see(name: str) -> None:
    package = importlib.import_module(name)
    tree = ast.parse(Path(str(package.__file__)).read_text("utf-8"))
    [block] = [node for node in tree.body if isinstance(node, ast.If)]
    assert isinstance(block.test, ast.Name)
    assert block.test.id == "TYPE_CHECKING"
    seen = {
        alias.name: str(node.module)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    for export, home in seen.items():
        assert getattr(package, export) is getattr(importlib.import_module(home), export)
    eager = {name for name in package.__all__ if hasattr(errors, name)}
    assert set(package.__all__) == {*seen, *eager}


BARE = {f"pfgen_rs.cli.{name}" for name in ("app", "process")}
SUBCOMMANDS = [["build", "check"], ["build", "run"], ["data", "install"], ["index", "top"]]


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], [], ["scor", "a.jsonl"]])
def test_the_command_line_without_a_command_loads_no_command(arguments: list[str]) -> None:
    names = loaded_by(arguments)
    assert not names & {*DATA, "platformdirs", "rich"}
    assert {name for name in names if name.startswith("pfgen_rs.cli.")} == BARE


def test_help_of_commands_needs_no_data() -> None:
    names = loaded_by(
        *([*command, "--help"] for command in [*([name] for name in COMMANDS), *SUBCOMMANDS])
    )
    assert {"pfgen_rs.cli.score", "pfgen_rs.cli.build"} <= names
    assert not names & {*DATA, "jinja2", "platformdirs"}
    assert not loaded_by(["data", "list"], ["data", "where", "mini"]) & DATA


def test_completion_needs_no_data() -> None:
    words = {"_PFGEN_RS_COMPLETE": "complete_bash", "COMP_CWORD": "3"}
    names = loaded_by([], **words, COMP_WORDS="pfgen-rs score --benchmark ")
    assert "pfgen_rs.cli.score" in names
    assert not names & DATA
    names = loaded_by([], **{**words, "COMP_CWORD": "1"}, COMP_WORDS="pfgen-rs sco")
    assert {name for name in names if name.startswith("pfgen_rs.cli.")} == BARE


def test_what_the_package_hands_on_is_used_above_its_home() -> None:
    """The import contracts do not see behind `from pfgen_rs import Benchmark`."""
    contracts = tomllib.loads(Path("pyproject.toml").read_text())["tool"]["importlinter"]
    layers = [layer.split(" : ") for layer in contracts["contracts"][0]["layers"]]
    height = {name: -place for place, layer in enumerate(layers) for name in layer}
    root = Path(pfgen_rs.__file__).parent
    uses = [
        (path.relative_to(root).parts[0].removesuffix(".py"), name.name)
        for path in root.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == "pfgen_rs"
        for name in node.names
        if name.name in pfgen_rs.__all__ and path.parent != root
    ]
    assert len(uses) > 50
    for package, name in uses:
        home = getattr(getattr(pfgen_rs, name), "__module__", "pfgen_rs._native").split(".")[1]
        assert height.get(home, -99) < height[package], (package, name)


def test_threads_may_race_for_the_first_use() -> None:
    run(
        "import threading, pfgen_rs\n"
        "names, found, gate = pfgen_rs.__all__, [], threading.Barrier(16)\n"
        "def use(number):\n"
        "    gate.wait()\n"
        "    turned = names[number:] + names[:number]\n"
        "    found.append({name: id(getattr(pfgen_rs, name)) for name in turned})\n"
        "threads = [threading.Thread(target=use, args=(n,)) for n in range(16)]\n"
        "for thread in threads: thread.start()\n"
        "for thread in threads: thread.join()\n"
        "assert len(found) == 16 and all(each == found[0] for each in found)\n"
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_may_be_the_first_to_use_a_name() -> None:
    out = run(
        "import os, pfgen_rs\n"
        "if not os.fork():\n"
        "    score = pfgen_rs.load_benchmark('mini').scorer()\n"
        "    print(*score(['Q02'], ['光合成']), flush=True)\n"
        "    os._exit(0)\n"
        "assert os.wait()[1] == 0\n"
        "assert 'load_benchmark' not in vars(pfgen_rs)\n"
    )
    assert out == "0.34292\n"


TIMES = 100
ROUNDS = 5
SAMPLE, MANY = 40, 10_000


def responses(run: Path, question: Question) -> pl.DataFrame:
    """What a run answers to a question."""
    chunks = Reading(Source(str(run)), Options()).chunks()
    frame = pl.concat(
        pl.DataFrame({"question": chunk.questions, "answer": chunk.answers}) for chunk in chunks
    )
    return frame.filter(pl.col("question") == question.text)


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def times_the_oracle(benchmark: Benchmark, question: Question, answers: pl.DataFrame) -> float:
    """How many times as many responses a second; the best of several rounds for both, turn by turn."""
    data = {"keywords": question.keywords, "answers": question.answers}
    slow = oracle.Question(data)
    sample = answers.get_column("answer").head(SAMPLE).to_list()
    many = answers.sample(MANY, with_replacement=True, seed=0)
    expected = [slow.score(answer)["average"] for answer in sample]
    assert benchmark.score_batch(answers)["average"].head(SAMPLE).to_list() == expected
    rounds = [
        (
            seconds(lambda: [slow.score(answer) for answer in sample]) / len(sample),
            seconds(lambda: benchmark.score_batch(many, threads=1)) / MANY,
        )
        for _ in range(ROUNDS)
    ]
    return min(theirs for theirs, _ in rounds) / min(ours for _, ours in rounds)


def most_sources(benchmark: Benchmark) -> Question:
    return max(benchmark, key=lambda question: len(question.sources))


def test_bundled_responses(mini: Benchmark) -> None:
    question = most_sources(mini)
    runs = sorted(path for path in (bundled_path() / "runs").iterdir() if path.is_dir())
    answers = pl.concat(responses(run, question) for run in runs)
    assert times_the_oracle(mini, question, answers) >= TIMES


@pytest.mark.published
def test_published_responses(published_benchmark: Benchmark, published_dir: Path) -> None:
    question = most_sources(published_benchmark)
    answers = pl.concat(responses(published_dir / run, question) for run in published_runs()[:3])
    assert times_the_oracle(published_benchmark, question, answers) >= TIMES
