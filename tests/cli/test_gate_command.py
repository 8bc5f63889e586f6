"""`gate` as people and CI systems run it: exit codes, sentences, files, and the examples."""

import json
import os
import re
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

EXAMPLES = ROOT / "examples" / "gate"
RUNS = {name: str(path) for name, path in pfgen_rs.sample_runs().items()}
FALL = RUNS["faithful"], RUNS["careless"]
CODES = {"pass": 0, "drop": 1, "rise": 1, "cannot tell": 3}


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two halves of the answers of a run, each with five trials."""
    folder = tmp_path_factory.mktemp("parts")
    frame = pfgen_rs.score_file(FALL[0], "mini").frame.select("question", "answer")
    number = pl.int_range(pl.len()).over("question") % 2
    for half in (0, 1):
        frame.filter(number == half).write_ndjson(folder / f"half-{half}.jsonl")
    return [str(folder / f"half-{half}.jsonl") for half in (0, 1)]


@pytest.mark.parametrize(
    ("case", "verdict", "says"),
    [
        (["careless", "faithful"], "pass", "no drop beyond 0.01 (difference +0.3662 ["),
        (["faithful", "careless"], "drop", "drop beyond 0.01 (difference -0.3662 ["),
        (["faithful", "careless", "--test", "regression"], "drop", "drop (difference -0.3662 ["),
        (["careless", "faithful", "--test", "equivalence"], "rise", "rise beyond 0.01 (difference +"),
        (["0", "1"], "cannot tell", " cannot be excluded; about "),
        (["0", "1", "--max-drop", "0.2", "--questions", "other"], "pass", "questions like these 14,"),
        (["faithful", "careless", "--metric", "fluency"], "drop", "drop beyond 0.01 (difference -0.38"),
    ],
)  # fmt: skip
def test_verdicts(parts: list[str], case: list[str], verdict: str, says: str) -> None:
    named = {**RUNS, "0": parts[0], "1": parts[1]}
    given = [named.get(word, word) for word in case]
    done = pfgen("gate", *given, "-b", "mini")
    assert (done.returncode, done.stderr) == (CODES[verdict], "")
    assert says in done.stdout
    assert done.stdout.count("\n") == 1
    json_done = pfgen("gate", *given, "-b", "mini", "--format", "json")
    found = json.loads(json_done.stdout)
    assert (json_done.returncode, json_done.stderr) == (done.returncode, done.stdout)
    assert (found["verdict"], found["exit_code"]) == (verdict, done.returncode)
    assert f"{found['sentence']}\n" == done.stdout


def test_all_metrics_share_the_error() -> None:
    done = pfgen("gate", *FALL, "-b", "mini", "--metric", "all", "--level", "0.9")
    lines = done.stdout.splitlines()
    assert [line.partition(":")[0] for line in lines] == list(pfgen_rs.stats.METRICS)
    assert all("one-sided 97.5 % bounds" in line for line in lines)
    assert done.returncode == 1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([FALL[0], FALL[0]], "error: …: given twice: name another run"),
        ([FALL[0], "nowhere"], "error: nowhere: cannot be read: No such file or directory"),
        ([*FALL, "--max-drop", "-0.1"], "error: invalid largest drop -0.1: expected a difference of"),
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
    with pytest.raises(InputError, match="given twice"):
        pfgen_rs.gate(FALL[0], FALL[0], mini)
    with pytest.raises(SettingsError, match="unknown test 'better'"):
        pfgen_rs.gate(*FALL, mini, test="better")  # type: ignore[arg-type]
    tables = pfgen_rs.gate(rows, rows, mini, max_drop=0.2)
    assert (tables.names, tables.verdict, tables.difference) == (("base", "new"), "pass", 0)


EVIL = 'a|b`<img>\n\x00\x1b[31m&"]]>*x*'


@pytest.fixture
def evil(mini: Benchmark) -> pfgen_rs.gating.Gate:
    """A gate for runs whose names do what they can."""
    runs = []
    for name in ("faithful", "careless"):
        run = mini.evaluate(
            pfgen_rs.score_file(RUNS[name], mini).frame.select("question", "answer")
        )
        runs.append(replace(run, run=f"{name}{EVIL}"))
    return pfgen_rs.gate(runs[0], runs[1], metric="all")


def test_markdown(evil: Any) -> None:
    text = gate_markdown(evil)
    assert text.startswith("### ❌ pfgen: drop\n\n| | base: faithful")
    assert not re.search(r"<(?!/?sub>)|[`*\x00\x1b]", text)
    rows = [line.count("|") for line in text.splitlines() if line.startswith("|")]
    assert rows == [6] * 6 + [5] * 7
    worst = min(evil.questions, key=lambda row: row["difference"])
    assert f"| {worst['question_id']} {worst['question']} | " in text


def test_junit(evil: Any, parts: list[str], tmp_path: Path) -> None:
    [suite] = ET.fromstring(gate_junit(evil))
    assert {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "4", "failures": "4", "errors": "0", "skipped": "0",
    }  # fmt: skip
    for case, decision in zip(suite, evil.decisions, strict=True):
        assert case.tag == "testcase"
        assert {"name", "classname", "time"} == set(case.attrib)
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


def step() -> dict[str, Any]:
    """The step of the action that runs the gate."""
    action = yaml.safe_load((EXAMPLES / "action.yml").read_text(encoding="utf-8"))
    assert action["runs"]["using"] == "composite"
    steps = action["runs"]["steps"]
    for each in steps:
        assert "${{" not in each["run"]  # inputs are data, not part of a script
        assert set(re.findall(r"inputs\.([\w-]+)", str(each.get("env", {})))) <= set(
            action["inputs"]
        )
    given = {
        name: re.sub(
            r"\$\{\{ inputs\.([\w-]+) \}\}",
            lambda found: str(action["inputs"][found[1]].get("default", "")),
            value,
        )
        for name, value in steps[-1]["env"].items()
    }
    return {"run": steps[-1]["run"], "env": given}


@pytest.mark.parametrize(
    ("runs", "undecided", "code"),
    [("fall", "fail", 1), ("rise", "fail", 0), ("parts", "fail", 3), ("parts", "pass", 0)],
)
def test_the_action(runs: str, undecided: str, code: int, parts: list[str], tmp_path: Path) -> None:
    base, new = {"fall": FALL, "rise": FALL[::-1], "parts": parts}[runs]
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    found = step()
    given = {**found["env"], "BASE": base, "NEW": new, "BENCHMARK": "mini", "UNDECIDED": undecided}
    path = os.pathsep.join([str(Path(SCRIPT).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", found["run"]],  # as GitHub does
        env=environment(**given, PATH=path, GITHUB_STEP_SUMMARY=str(summary)),
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert summary.read_text("utf-8").startswith("before\n### ")
    assert "difference" in done.stderr
    ET.parse(tmp_path / "pfgen-gate.xml")


def test_the_job_of_gitlab(tmp_path: Path) -> None:
    jobs = yaml.safe_load((EXAMPLES / "gitlab-ci.yml").read_text(encoding="utf-8"))
    [job] = jobs.values()
    assert job["allow_failure"] == {"exit_codes": 3}
    script = [line for line in job["script"] if not line.startswith("pip ")]
    given = {**job["variables"], "BASE": FALL[0], "NEW": FALL[1], "BENCHMARK": "mini"}
    path = os.pathsep.join([str(Path(SCRIPT).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-e", "-c", "\n".join(script)],
        env=environment(**given, PATH=path),
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert (tmp_path / job["artifacts"]["reports"]["junit"]).exists()
