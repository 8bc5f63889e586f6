"""The suite itself: its list of slow tests, and what its fixtures need."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest


def test_slow_tests_exist() -> None:
    tests = Path(__file__).parent
    names = (tests / "slow.txt").read_text("utf-8").splitlines()[1:]
    assert names == sorted(set(names))
    by_file: dict[str, set[str]] = {}
    for name in names:
        file, _, function = name.partition("::")
        by_file.setdefault(file, set()).add(function)
    for file, functions in by_file.items():
        tree = ast.parse((tests.parent / file).read_text("utf-8"))
        found = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
        assert functions == {""} or functions <= found, file


def test_fixtures_need_no_extras(request: pytest.FixtureRequest) -> None:
    """The environments of other engines have neither browsers nor plots, but the same `conftest.py`."""
    plugins = request.config.pluginmanager.getplugin(str(Path(__file__).with_name("conftest.py")))
    absent = ["matplotlib", "mkdocs", "nbformat", "playwright", "ray", "scipy", "torch"]
    code = (
        f"import sys; sys.path[:0] = {sys.path!r}; sys.modules.update(dict.fromkeys({absent!r})); "
        f"import {', '.join(plugins.pytest_plugins)}"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
