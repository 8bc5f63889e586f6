"""`score` without a run: in a terminal it says how to try it, elsewhere it is a usage error."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import pfgen_rs
from helpers import SCRIPT, TIMEOUT, environment, pfgen

pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")


def in_terminal(*arguments: str, cwd: Path) -> tuple[int, str]:
    """Exit code and standard error of `pfgen-rs`, its standard input being a terminal."""
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            [SCRIPT, *arguments],
            stdin=theirs,
            capture_output=True,
            timeout=TIMEOUT,
            env=environment(),
            cwd=cwd,
            check=False,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.stdout == b""
    return done.returncode, done.stderr.decode()


def test_the_command_that_it_names_works_from_anywhere(tmp_path: Path) -> None:
    code, err = in_terminal("score", cwd=tmp_path)
    assert code == 2
    problem, hint, command = err.splitlines()
    assert problem.startswith("error: no runs given: ")
    assert "bundled sample runs" in hint
    script, *arguments = shlex.split(command)
    assert script == "pfgen-rs"
    done = subprocess.run(
        [sys.executable, "-m", "pfgen_rs", *arguments, "--format", "csv"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment(PFGEN_RS_BENCHMARK="elsewhere"),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for name in pfgen_rs.sample_runs():
        assert name in done.stdout


def test_other_errors_of_use_stay(tmp_path: Path) -> None:
    code, err = in_terminal("score", "--threads", "x", cwd=tmp_path)
    assert code == 2
    assert "--threads" in err
    assert "sample runs" not in err


def test_without_a_terminal_it_is_a_usage_error() -> None:
    done = pfgen("score")
    assert done.returncode == 2
    assert "Missing argument" in done.stderr
    assert "sample runs" not in done.stderr
