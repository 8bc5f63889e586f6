"""The plan of the house: packages import downward only, and no modules import each other in a circle."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import pfgen_rs

ROOT = Path(pfgen_rs.__file__).parent
ORDER = (
    "cli",
    "integrations",
    "training",
    "judge",
    "llm_jp_eval",
    "generate",
    "ask",
    "references",
    "studies",
    "report",
    "checkout",
    "",  # what users call: the modules at the root
    "runs",
    "scoring",
    "questions",
    "stats",
    "metrics",
    "install",
    "drawing",
    "io",
)
"""Packages from the top to the bottom: each may import those below it."""

GROUND = {"equality", "errors", "extras", "lazy"}
"""Modules at the root that stand below all packages."""

UPWARD = {("runs.result", "report.site.single")}
"""`Result.to_html`, the one convenience that reaches up, and only when it is called."""

Edges = Mapping[str, set[str]]


def modules(root: Path) -> dict[str, Path]:
    """All modules of the package by their names within it; the package itself is ""."""
    found = {}
    for path in root.rglob("*.py"):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join(parts).removesuffix("__init__").removesuffix(".")] = path
    return found


def imported(source: str, known: Mapping[str, Path]) -> Iterator[str]:
    """Modules of the package that a module imports anywhere, types alone included."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name == "pfgen_rs" or name.startswith("pfgen_rs."):
                yield _module_of(name.removeprefix("pfgen_rs").removeprefix("."), known)


def _module_of(name: str, known: Mapping[str, Path]) -> str:
    while name not in known:
        name = name.rpartition(".")[0]
    return name


def edges(root: Path) -> dict[str, set[str]]:
    known = modules(root)
    found = {name: set(imported(path.read_text("utf-8"), known)) for name, path in known.items()}
    # The package itself hands on what it exports, and `_native` is found there.
    return {n: targets - {n, ""} for n, targets in found.items() if n not in ("", "__main__")}


def package(module: str) -> str:
    return module.partition(".")[0] if "." in module or module in ORDER else ""


def upward(graph: Edges) -> list[str]:
    """Imports that do not point down."""
    return [
        f"{module} -> {target}"
        for module, targets in sorted(graph.items())
        for target in sorted(targets)
        if (module, target) not in UPWARD and not _is_downward(module, target)
    ]


def _is_downward(module: str, target: str) -> bool:
    if target in GROUND or package(module) == package(target):
        return module not in GROUND or target in GROUND
    return module not in GROUND and ORDER.index(package(module)) < ORDER.index(package(target))


def circle(graph: Edges) -> list[str]:
    """Some modules that import each other in a circle; empty without any."""
    left = {
        name: {t for t in targets if (name, t) not in UPWARD} for name, targets in graph.items()
    }
    while free := {name for name, targets in left.items() if not targets & left.keys()}:
        left = {name: targets for name, targets in left.items() if name not in free}
    return sorted(left)


def test_packages_point_downward() -> None:
    graph = edges(ROOT)
    assert {package(name) for name in graph} <= set(ORDER)
    assert upward(graph) == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert circle(edges(ROOT)) == []


def test_the_exceptions_are_still_needed() -> None:
    graph = edges(ROOT)
    assert all(target in graph[module] for module, target in UPWARD)


@pytest.mark.parametrize("line", ["import pfgen_rs.cli.app", "from pfgen_rs.cli import app"])
def test_a_new_upward_arrow_and_a_circle_are_found(line: str, tmp_path: Path) -> None:
    for name, text in (("io/a.py", line), ("cli/app.py", "def f():\n from pfgen_rs.io.a import b")):
        path = tmp_path / name
        path.parent.mkdir()
        path.write_text(text)
    graph = edges(tmp_path)
    assert upward(graph) == ["io.a -> cli.app"]
    assert circle(graph) == ["cli.app", "io.a"]


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
