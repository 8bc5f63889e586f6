"""Each of these is spelled in one module: why a file cannot be read, and the names of a run's files."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import pfgen_rs
from pfgen_rs.errors import unreadable
from pfgen_rs.io import run_files

ROOT = Path(pfgen_rs.__file__).parent
NAMES = {
    *run_files.RESPONSES,
    run_files.CONFIG,
    run_files.RESULT,
    run_files.README,
    run_files.EXAMPLES,
}


def literals(path: Path) -> Iterator[str]:
    """Texts in a module's code; of f-strings the parts. Docstrings are left out."""
    tree = ast.parse(path.read_text("utf-8"))
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            yield node.value


def modules_with(wanted: set[str], *, anywhere: bool) -> set[str]:
    found = set()
    for path in ROOT.rglob("*.py"):
        for text in literals(path):
            if any(text == name or (anywhere and name in text) for name in wanted):
                found.add(path.relative_to(ROOT).as_posix())
    return found


def test_why_a_file_cannot_be_read_is_said_in_one_place() -> None:
    assert modules_with({"cannot be read: "}, anywhere=True) <= {
        "errors.py",
        "ask/engines/vllm.py",  # a template, which is no file
        "runs/sample.py",  # the times in a file that can be read
    }


def test_names_of_run_files_stand_in_one_place() -> None:
    assert modules_with(NAMES, anywhere=False) == {"io/run_files.py"}
    assert modules_with({"trial_"}, anywhere=False) == {"io/run_files.py"}  # of an f-string


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        (PermissionError(13, "Permission denied", "secret.txt"), "Permission denied"),
        (OSError("timed out"), "timed out"),  # has no strerror
        (ValueError("embedded null byte"), "embedded null byte"),
    ],
)
def test_the_reason_is_named(error: Exception, problem: str) -> None:
    assert unreadable(error) == f"cannot be read: {problem}"


def test_names_of_trials() -> None:
    name = run_files.trial_file_name(3)
    assert name == "trial_003.jsonl"
    assert run_files.is_trial_file(name)
    assert (run_files.trial_number(name), run_files.trial_number("journal.jsonl")) == (3, None)
