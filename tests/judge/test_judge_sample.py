"""The bundled sample for judges is what its script makes, and what its README promises."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.main import get_group

import judge_sample
from helpers import environment, pfgen
from pfgen_rs.cli import judge
from pfgen_rs.judge import read_verdict_text
from pfgen_rs.judge.pairs import read_humans, read_pairs
from pfgen_rs.judge.sample import JUDGES, sample_path
from pfgen_rs.judge.verdict_folder import VerdictFolder

WHICH = {"careful": "last", "hasty": "first"}


def records(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (sample_path() / name).read_text("utf-8").splitlines()]


def test_the_script_makes_exactly_these_files() -> None:
    made = judge_sample.files()
    found = {p for p in sample_path().rglob("*") if p.is_file() and p.name != "README.md"}
    assert {p.relative_to(sample_path()).as_posix() for p in found} == made.keys()
    assert all((sample_path() / name).read_bytes() == content for name, content in made.items())


@pytest.mark.parametrize("judge", JUDGES)
def test_recorded_verdicts_are_what_the_outputs_say(judge: str) -> None:
    for each in records(f"verdicts/{judge}/judgments.jsonl"):
        read = read_verdict_text(each["output"], WHICH[judge])  # type: ignore[arg-type]
        shown = None if each["finish_reason"] == "length" else read.shown
        assert each["shown"] == shown
        assert (each["problem"] is None) == (shown is not None)
        probabilities = each["probabilities"]
        if probabilities is not None:
            assert max(probabilities, key=probabilities.__getitem__) == shown
            assert 0.97 < sum(probabilities.values()) < 1


@pytest.mark.parametrize(("judge", "decided"), [("careful", 25), ("hasty", 17)])
def test_recorded_verdicts_are_read_as_verdict_folders(judge: str, decided: int) -> None:
    folder = VerdictFolder(sample_path() / "verdicts" / judge)
    found = folder.decisions()
    assert len(found) == 30
    assert folder.judge_name.startswith(f"demo/{judge}-judge · ")
    assert found["strict"].null_count() == 30 - decided
    assert found["probability"].null_count() == 0
    assert found["single"].any()
    pairs = read_pairs(sample_path() / "pairs.jsonl")
    assert folder.pairs() == pairs
    known = {pair.id for pair in pairs}
    assert len(read_humans(sample_path() / "humans.jsonl", known)) == 90


PROGRAM = Path(sys.executable).parent / "pfgen-rs"


def printed(output: str, mark: str) -> list[str]:
    return [line[2:] for line in output.splitlines() if line.startswith(f"{mark} ")]


def test_every_command_prints_the_same_when_it_is_typed() -> None:
    done = pfgen("judge", "demo")
    assert done.returncode == 0
    assert "error" not in done.stderr
    folder, *commands = printed(done.stdout, "$")
    assert folder == f"cd {sample_path()}"
    assert [each.removeprefix("pfgen-rs judge ") for each in commands] == [
        words for _, words in judge._STEPS
    ]
    for command in commands:
        typed = subprocess.run(
            [PROGRAM, *shlex.split(command)[1:]],
            cwd=sample_path(),
            env=environment(),
            capture_output=True,
            check=True,
        )
        assert typed.stdout
        assert f"$ {command}\n{typed.stdout.decode()}" in done.stdout


def test_what_is_not_run_has_commands_and_options_that_exist() -> None:
    shown = printed(pfgen("judge", "demo").stdout, "#")
    assert len(shown) == 3
    group = get_group(judge.app)
    context = typer.Context(group)
    for line in shown:
        name, *rest = line.removeprefix("pfgen-rs judge ").split()
        _, command, _ = group.resolve_command(context, [name])
        assert command is not None
        options = {option for each in command.params for option in each.opts}
        assert {each for each in rest if each.startswith("--")} <= options


def test_a_step_that_fails_does_not_end_the_demo(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = (("broken", "decide nowhere"), *judge._STEPS[:1])
    monkeypatch.setattr(judge, "_STEPS", steps)
    with pytest.raises(typer.Exit) as ended:
        judge.demo()
    assert ended.value.exit_code == 2
    captured = capsys.readouterr()
    assert "error: nowhere: is not a folder of verdicts" in captured.err
    assert "decisions by probability" in captured.out
