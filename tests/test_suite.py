"""The suite itself: its list of slow tests."""

import ast
from pathlib import Path


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
