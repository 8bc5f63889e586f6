"""`gate` as people and CI systems run it: exit codes, sentences, files, and the examples."""

import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import polars as pl
import pytest
import yaml

import pfgen_rs
from helpers import SCRIPT, environment, pfgen
from pfgen_rs import Benchmark, InputError, SettingsError
from pfgen_rs.report.gates import gate_junit, gate_markdown
from places import ROOT

RUNS = {name: str(path) for name, path in pfgen_rs.sample_runs().items()}
FALL = RUNS["faithful"], RUNS["careless"]
CODES = {"pass": 0, "drop": 1, "rise": 1, "cannot tell": 3}


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two halves of the answers of a run, each with five trials."""
    folder = tmp_path_factory.mktemp("parts")
    frame = pfgen_rs.score_file(FALL[0], "mini").frame.select("question", "answer")
    number = pl.int_range(pl.len()).over("question") % 2
    paths = [folder / "even.jsonl", folder / "odd.jsonl"]
    for half, path in enumerate(paths):
        frame.filter(number == half).write_ndjson(path)
    return list(map(str, paths))


@pytest.mark.parametrize(
    ("case", "verdict", "says"),
    [
        (["careless", "faithful"], "pass", "no drop beyond 0.01 (difference +0.3662 ["),
        (["faithful", "careless"], "drop", "drop beyond 0.01 (difference -0.3662 ["),
        (["careless", "faithful", "--test", "equivalence"], "rise", "rise beyond 0.01 (difference +"),
        (["0", "1"], "cannot tell", " cannot be excluded; about "),
        (["0", "1", "--max-drop", "0.2", "--questions", "other"], "pass", "questions like these 14,"),
        (["faithful", "careless", "--metric", "fluency"], "drop", "fluency: drop beyond 0.01 (difference"),
    ],
)  # fmt: skip
def test_verdicts(parts: list[str], case: list[str], verdict: str, says: str) -> None:
    named = {**RUNS, "0": parts[0], "1": parts[1]}
    given = [named.get(word, word) for word in case]
    done = pfgen("gate", *given, "-b", "mini")
    assert (done.returncode, done.stderr) == (CODES[verdict], "")
    assert says in done.stdout.rstrip("\n")
    in_json = pfgen("gate", *given, "-b", "mini", "--format", "json")
    assert (in_json.returncode, in_json.stderr) == (done.returncode, done.stdout)
    found = json.loads(in_json.stdout)
    said = [found[key] for key in ("verdict", "exit_code", "sentence")]
    assert said == [verdict, done.returncode, done.stdout.rstrip()]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([FALL[0], FALL[0]], "error: …: given twice: name another run"),
        ([*FALL, "--max-drop", "1"], "error: invalid largest drop 1.0: expected a difference of"),
        ([*FALL, "--level", "95"], "error: invalid confidence level 95.0: expected 0.5 to 0.9999"),
        ([str(Path(FALL[0]).parent / "*"), FALL[0]], "Error: Invalid value: BASE and NEW are one run"),
        ([*FALL, "--junit", "no/gate.xml"], "Error: Invalid value for '--junit': no: not a directory"),
    ],
)  # fmt: skip
def test_wrong_words(wrong: list[str], message: str) -> None:
    done = pfgen("gate", *wrong)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1].replace(FALL[0], "…").startswith(message)


def test_both_answer_the_same_questions(mini: Benchmark) -> None:
    whole = pfgen_rs.score_file(FALL[0], mini)
    rows = whole.frame.select("question", "answer")
    less = mini.evaluate(rows.filter(pl.col("question") != mini["Q05"].text))
    with pytest.raises(InputError, match=r"1 question answered by only one of the runs \(Q05\)"):
        pfgen_rs.gate(whole, less)
    with pytest.raises(SettingsError, match="so max_dorp has no effect"):
        pfgen_rs.gate(whole, less, max_dorp=0.5)
    with pytest.raises(InputError, match="are the same run"):
        pfgen_rs.gate(whole, whole)
    with pytest.raises(SettingsError, match="unknown test 'better'"):
        pfgen_rs.gate(*FALL, mini, test="better")  # type: ignore[arg-type]
    tables = pfgen_rs.gate(rows, rows.clone(), mini, max_drop=0.2)
    assert (tables.names, tables.verdict, tables.difference) == (("base", "new"), "pass", 0)


EVIL = 'a|b`<img>\uffff\n\x00\x1b[31m&"]]>*x*'


@pytest.fixture
def evil(mini: Benchmark) -> pfgen_rs.gating.Gate:
    """A gate for runs and questions whose names do what they can."""
    runs = (pfgen_rs.score_file(path, mini) for path in FALL)
    base, new = (replace(run, run=f"{run.name}{EVIL}") for run in runs)
    found = pfgen_rs.gate(base, new, metric="all")
    questions = ({**row, "question": EVIL} for row in found.questions)
    return replace(found, questions=tuple(questions))


def test_markdown(evil: Any) -> None:
    text = gate_markdown(evil)
    assert text.startswith("### ❌ pfgen: drop\n\n| | base: mini")
    assert not re.search(r"<(?!/?sub>)|[`*\x00\x1b]", text)
    assert text.count("; one-sided 98.75 % bounds; ") == 4  # a quarter of the error each
    rows = [line.count("|") for line in text.splitlines() if line.startswith("|")]
    assert rows == [6] * 6 + [5] * 7
    worst = min(evil.questions, key=lambda row: row["difference"])
    assert f"| {worst['question_id']} a&#124;b" in text


def test_junit(evil: Any, parts: list[str], tmp_path: Path) -> None:
    [suite] = ET.fromstring(gate_junit(evil))
    counts = [suite.get(key) for key in ("tests", "failures", "errors", "skipped")]
    assert counts == ["4", "4", "0", "0"]
    for case, decision in zip(suite, evil.decisions, strict=True):
        assert "\\x00\\x1b[31m" in case.attrib["name"]
        [failure] = case
        assert (failure.tag, failure.get("type")) == ("failure", "drop")
        assert failure.get("message") == failure.text == decision.sentence
    path = tmp_path / "gate.xml"
    for runs, tag in ((parts, "skipped"), (FALL[::-1], "system-out")):
        done = pfgen("gate", *runs, "-b", "mini", "--junit", path)
        [[[said]]] = ET.parse(path).getroot()
        assert (said.tag, f"{said.text}\n") == (tag, done.stdout)


# The examples


def example(name: str) -> Any:
    return yaml.safe_load((ROOT / "examples" / "gate" / name).read_text(encoding="utf-8"))


def shell(script: str, folder: Path, **given: str) -> subprocess.CompletedProcess[str]:
    """Run a script as GitHub does, where it is installed."""
    bash = shutil.which("bash") or pytest.skip("there is no bash")
    path = os.pathsep.join([str(SCRIPT.parent), os.environ["PATH"]])
    env = environment(BENCHMARK="mini", PATH=path, GITHUB_STEP_SUMMARY="summary.md", **given)
    command = [bash, "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    return subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, encoding="utf-8", check=False
    )


@pytest.mark.parametrize(
    ("runs", "undecided", "code"),
    [("fall", "fail", 1), ("rise", "fail", 0), ("parts", "fail", 3), ("parts", "pass", 0)],
)
def test_the_action(runs: str, undecided: str, code: int, parts: list[str], tmp_path: Path) -> None:
    base, new = {"fall": FALL, "rise": FALL[::-1], "parts": parts}[runs]
    action = example("action.yml")
    steps, inputs = action["runs"]["steps"], action["inputs"]
    assert not any("${{" in each["run"] for each in steps)  # inputs are data, not part of a script
    names = {
        key: re.findall(r"^\${{ inputs.(.+) }}$", text) for key, text in steps[-1]["env"].items()
    }
    given = {key: inputs[name].get("default", "") for key, [name] in names.items()}
    del given["BENCHMARK"]
    (tmp_path / "summary.md").write_text("before\n", encoding="utf-8")
    given |= {"BASE": base, "NEW": new, "UNDECIDED": undecided}
    done = shell(steps[-1]["run"], tmp_path, **given)
    assert done.returncode == code, done.stderr
    assert "(difference " in done.stderr
    assert (tmp_path / "summary.md").read_text("utf-8").startswith("before\n### ")
    assert (tmp_path / "pfgen-gate.xml").exists()


def test_the_job_of_gitlab(tmp_path: Path) -> None:
    [job] = example("gitlab-ci.yml").values()
    _, *script = job["script"]  # but for the installation
    done = shell("\n".join(script), tmp_path, BASE=FALL[0], NEW=FALL[1], MAX_DROP="0.02")
    assert (done.returncode, done.stdout[:16]) == (1, "drop beyond 0.02")
    assert (tmp_path / job["artifacts"]["reports"]["junit"]).exists()
    assert job["allow_failure"] == {"exit_codes": 3}
