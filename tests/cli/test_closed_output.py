"""Standard output that is closed or full is an error of every command."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from helpers import SCRIPT, TIMEOUT, environment, write_benchmark, write_run

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")
COMMANDS = ["score RUN -b TINY", "--help", "score --help", "--version", "explain Q01 猫 -b TINY"]


def run(tmp_path: Path, command: str, redirected: str) -> subprocess.CompletedProcess[str]:
    names = {"RUN": write_run(tmp_path / "run"), "TINY": write_benchmark(tmp_path / "tiny")}
    words = [str(names.get(word, word)) for word in command.split()]
    return subprocess.run(
        ["sh", "-c", f'"$0" "$@" {redirected}', SCRIPT, *words],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=TIMEOUT,
        check=False,
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_closed_standard_output(tmp_path: Path, command: str) -> None:
    done = run(tmp_path, command, ">&-")
    message = "error: standard output: cannot be written: Bad file descriptor\n"
    assert (done.returncode, done.stderr) == (2, message)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("command", COMMANDS)
def test_full_standard_output(tmp_path: Path, command: str) -> None:
    done = run(tmp_path, command, ">/dev/full")
    message = "error: standard output: cannot be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (2, message)


def test_all_streams_closed(tmp_path: Path) -> None:
    assert run(tmp_path, COMMANDS[0], "<&- >&- 2>&-").returncode == 2


def test_files_are_complete_although_nothing_can_be_printed(tmp_path: Path) -> None:
    done = run(tmp_path, f"{COMMANDS[0]} --out {tmp_path / 'out'}", ">&-")
    assert done.returncode == 2
    assert (tmp_path / "out" / "result.json").read_bytes().startswith(b"{")


def test_a_reader_that_has_gone_ends_the_command_quietly(tmp_path: Path) -> None:
    for command in COMMANDS[:2]:
        read, write = os.pipe()
        os.close(read)
        done = run(tmp_path, command, f">&{write}") if write < 10 else None
        os.close(write)
        if done is not None:
            assert (done.returncode, done.stderr) == (141, "")
