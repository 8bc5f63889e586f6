"""The READMEs have the outputs, figures and pictures that hold now; `test_snippets.py` runs all commands."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import pictures
from helpers import SCRIPT, environment
from places import ROOT

READMES = ROOT / "README.md", ROOT / "README.ja.md"
ENGLISH = READMES[0].read_text(encoding="utf-8")
MOST_BYTES = 150_000

each = pytest.mark.parametrize("readme", READMES, ids=lambda path: path.name)


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", ENGLISH, re.DOTALL | re.MULTILINE)


def test_the_table_is_what_the_commands_print(tmp_path: Path) -> None:
    script = blocks("sh")[1]
    assert "pfgen-rs score mini-runs/*" in script
    assert_shown(blocks("text")[0], run(tmp_path, ["bash", "-euc", script]))


def test_the_numbers_are_what_python_prints(tmp_path: Path) -> None:
    [code] = blocks("python")
    assert_shown(blocks("text")[1], run(tmp_path, [sys.executable, "-c", code]))


def test_the_lines_of_answers_are_scored(tmp_path: Path) -> None:
    (tmp_path / "answers.jsonl").write_text(blocks("json")[0], encoding="utf-8")
    printed = run(tmp_path, [sys.executable, "-m", "pfgen_rs", "score", "answers.jsonl"])
    assert "questions:2/14" in printed


def run(folder: Path, command: list[str]) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment(
            COLUMNS="80", PATH=os.pathsep.join([str(Path(SCRIPT).parent), os.environ["PATH"]])
        ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def assert_shown(text: str, printed: str) -> None:
    """What is shown was printed, but for spaces at the ends of lines; `…` stands for anything."""
    found = "\n".join(line.rstrip() for line in printed.strip("\n").splitlines())
    pattern = ".*?".join(map(re.escape, text.strip("\n").split("…")))
    assert re.fullmatch(pattern, found.strip("\n")), printed


# Figures


def measures(name: str) -> dict[str, Any]:
    text = (ROOT / "benches" / f"{name}.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)["measures"]
    return found


@each
def test_times_are_those_that_were_measured(readme: Path) -> None:
    text = readme.read_text(encoding="utf-8")
    reporting, every = measures("reporting"), measures("bench")["all_metrics"]
    seconds = every["details"]["seconds_a_response"]
    [one] = [line for line in text.splitlines() if " µs" in line]
    assert re.findall(r"[\d,.]*\d", one.rpartition("|")[0].rpartition("|")[2]) == [
        f"{seconds['ours'] * 1e6:.2f}",
        f"{seconds['oracle'] * 1e6:,.0f}",
        f"{every['value']:,.0f}",
    ]
    assert re.search(rf"516 .*\| {reporting['report_many_stale']['value']:.1f} (s|秒) \|", text)


@each
def test_versions_are_those_that_are_asked_for(readme: Path) -> None:
    text = readme.read_text(encoding="utf-8")
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"Rust {cargo['workspace']['package']['rust-version']} " in text
    assert f"Python {project['requires-python'].removeprefix('>=')} " in text


# Pictures


@pytest.mark.parametrize("picture", pictures.PICTURES.values(), ids=lambda path: path.name)
def test_pictures_are_small_and_show_the_scores_of_now(picture: Path) -> None:
    content = picture.read_bytes()
    assert len(content) < MOST_BYTES
    text = pictures.scores(pictures.sample_results())
    assert text.count("mini/") == 3
    assert f"{pictures.TEXT}\0{text}".encode() in content, "run python benches/pictures.py"
