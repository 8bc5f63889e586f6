"""The examples in the README run, and its commands exist."""

import doctest
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from pfgen_rs import benchmark
from pfgen_rs.metrics import ngram_index, units
from pfgen_rs.questions import locate
from pfgen_rs.training import rewards
from places import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```python\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
PYTHON = BLOCK.findall(README)
COMMANDS = re.findall(
    r"^    (pfgen-rs (?:score data|explain|index|data list).*)$", README, flags=re.MULTILINE
)


@pytest.mark.parametrize("source", PYTHON)
def test_python_examples_run_in_any_folder(
    source: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(source, "README.md", "exec"), {})


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_run(command: str) -> None:
    _, *arguments = shlex.split(command)
    done = subprocess.run(
        [sys.executable, "-m", "pfgen_rs", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("module", [benchmark, locate, ngram_index, rewards, units])
def test_docstring_examples_run(module: ModuleType) -> None:
    done = doctest.testmod(module)
    assert done.attempted
    assert not done.failed


def test_there_are_examples() -> None:
    assert PYTHON
    assert len(COMMANDS) >= 4
