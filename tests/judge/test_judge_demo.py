"""`pfgen-rs judge demo` shows commands that work as they are printed, with their own output."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.main import get_group

from helpers import environment, pfgen
from pfgen_rs.cli import judge
from pfgen_rs.judge.sample import sample_path

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
