"""The pages of reference say what the code does, in both languages."""

from __future__ import annotations

import ast
import importlib
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import pfgen_rs
from page_tables import codes, fences, japanese, prose, tables
from pfgen_rs.metrics.signature import signature
from places import DOCS, ROOT

REFERENCE = DOCS / "reference"
PAGES = [REFERENCE / f"{name}.md" for name in ("environment", "exit-codes", "formats", "settings")]
PACKAGE = ROOT / "python" / "pfgen_rs"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_agree_in_both_languages(page: Path) -> None:
    other = japanese(page)
    assert [line.partition(" ")[0] for line in headings(page)] == [
        line.partition(" ")[0] for line in headings(other)
    ]
    assert fences(page) == fences(other)
    for mine, its in zip(tables(page), tables(other), strict=True):
        assert len(mine.header) == len(its.header)
        assert [[set(codes(c)) for c in row] for row in mine.rows] == [
            [set(codes(c)) for c in row] for row in its.rows
        ]


def headings(page: Path) -> list[str]:
    return [line for line in prose(page).splitlines() if line.startswith("#")]


# Environment variables


def test_every_variable_that_is_read_is_described() -> None:
    page = REFERENCE / "environment.md"
    described = {
        name
        for table in tables(page)
        if table.header[0] == "variable"
        for row in table.column()
        for name in row
    }
    assert described == set(python_variables()) | set(rust_variables())


def rust_variables() -> Iterator[str]:
    for path in (ROOT / "rust").rglob("src/**/*.rs"):
        yield from re.findall(r'env::var(?:_os)?\(\s*"(\w+)"', path.read_text(encoding="utf-8"))


def python_variables() -> Iterator[str]:
    for path in PACKAGE.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        if "environ" in source or "envvar" in source or "getenv" in source:
            yield from variables_of(path, ast.parse(source))


def variables_of(path: Path, tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        for name in names_read(node):
            yield from values_of(path, tree, name)


def names_read(node: ast.AST) -> list[ast.expr]:
    """What a node looks up in the environment."""
    if isinstance(node, ast.Call):
        if ast.unparse(node.func).startswith(("os.environ.", "os.getenv")):
            return node.args[:1]
        return [keyword.value for keyword in node.keywords if keyword.arg == "envvar"]
    if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "os.environ":
        return [node.slice]
    if isinstance(node, ast.Compare) and ast.unparse(node.comparators[0]) == "os.environ":
        return [node.left]
    return []


def values_of(path: Path, tree: ast.Module, name: ast.expr) -> list[str]:
    """The values that the name of a variable has: a literal, a constant, or those of a loop."""
    if isinstance(name, ast.Constant):
        return [str(name.value)]
    if isinstance(name, ast.JoinedStr):
        rest = "".join(str(part.value) for part in name.values if isinstance(part, ast.Constant))
        return [each + rest for each in literals(tree) if re.fullmatch("[A-Z]+", each)]
    assert isinstance(name, ast.Name), ast.unparse(name)
    module = ".".join(path.relative_to(ROOT / "python").with_suffix("").parts)
    value = getattr(importlib.import_module(module), name.id, None)
    if isinstance(value, str):
        return [value]
    return [each for each in literals(tree) if re.fullmatch("[A-Z]+(?:_[A-Z0-9]+)+", each)]


def literals(tree: ast.Module) -> list[str]:
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


def test_reading_variables_is_noticed() -> None:
    tree = ast.parse(
        "import os\nos.environ.get('A')\nos.environ['B']\n'C' in os.environ\nos.getenv('D')\n"
        "Option(envvar='E')\nos.environ.setdefault('F', '1')\n"
    )
    found = [ast.unparse(name) for node in ast.walk(tree) for name in names_read(node)]
    assert sorted(found) == ["'A'", "'B'", "'C'", "'D'", "'E'", "'F'"]


def test_cache_folders_are_described(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pfgen_rs.install import store
    from pfgen_rs.llm_jp_eval.places import installed_raw
    from pfgen_rs.questions.index_cache import indexes_folder

    monkeypatch.setenv("PFGEN_RS_CACHE", str(tmp_path))
    folders = {indexes_folder(), store.benchmarks_folder(), installed_raw()}
    [table] = [t for t in tables(REFERENCE / "environment.md") if t.header[0] == "folder"]
    named = [name for row in table.column() for name in row]
    assert {folder.relative_to(tmp_path).parts[0] for folder in folders} <= set(named)


# Exit codes

ANSWER = '{"trial": 1, "question": "Q02", "answer": " 光合成です。 "}\n'
MANUAL = ["--engine", "manual", "-b", "mini", "--trials", "1", "--import"]
CASES: dict[str, tuple[int, Callable[[Path], list[str]]]] = {
    "fine": (0, lambda _: ["--version"]),
    "warned": (0, lambda tmp: ["score", written(tmp, ANSWER), "-b", "mini"]),
    "differs": (1, lambda tmp: ["verify", changed_run(tmp), "-b", "mini"]),
    "unreadable": (2, lambda tmp: ["verify", changed_run(tmp), str(tmp / "none"), "-b", "mini"]),
    "input": (2, lambda tmp: ["score", written(tmp, "{"), "-b", "mini"]),
    "usage": (2, lambda _: ["bogus"]),
    "nothing to watch": (
        1,
        lambda tmp: ["watch", str(tmp), "--command", "true {checkpoint}", "--once"],
    ),
    "unfinished": (
        1,
        lambda tmp: ["generate", "a/b", *MANUAL, written(tmp, ANSWER), "-o", str(tmp)],
    ),
}


def written(tmp: Path, text: str) -> str:
    path = tmp / "answers.jsonl"
    path.write_text(text, encoding="utf-8")
    return str(path)


def changed_run(tmp: Path) -> str:
    """A run whose `result.json` has another score."""
    run = tmp / "run"
    shutil.copytree(pfgen_rs.sample_runs()["faithful"], run)
    pfgen_rs.score_file(run, pfgen_rs.load_benchmark("mini")).to_json(run / "result.json")
    path = run / "result.json"
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub(r'"score": 0\.\d', '"score": 0.0', text, count=1), encoding="utf-8")
    return str(run)


@pytest.mark.parametrize("case", CASES)
def test_exit_codes(case: str, tmp_path: Path) -> None:
    code, arguments = CASES[case]
    done = subprocess.run(
        [sys.executable, "-m", "pfgen_rs", *arguments(tmp_path)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr


def test_the_codes_of_the_source_are_described() -> None:
    table = tables(REFERENCE / "exit-codes.md")[0]
    described = {int(row[0]) for row in table.rows}
    source = "".join(
        (PACKAGE / "cli" / f"{name}.py").read_text(encoding="utf-8")
        for name in ("__init__", "streams", "process")
    )
    handled = set(re.findall(r"\bSIG[A-Z]+\b", source)) - {"SIGPIPE"}
    signals = {128 + signal.Signals[name] for name in handled}
    given = {int(code) for code in re.findall(r"(?:leave\(|_PIPE = |_INPUT = )(\d+)", source)}
    assert described == {0, 1} | given | signals


def test_commands_that_give_1_are_described() -> None:
    """Commands that end with code 1 by themselves belong to a row of the table.

    A file has the name of its command, or several commands, which are functions.
    """
    table = tables(REFERENCE / "exit-codes.md")[1]
    named = {name.split()[-1] for row in table.column() for name in row}
    ending = {
        name.removeprefix("llm_jp_eval_")
        for path in (PACKAGE / "cli").glob("*.py")
        for function in re.split(r"^(?=def )", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        if re.search(
            r"fail\((?:1|_CHECK_FAILED)\)|^ +finish_asking\(", function, flags=re.MULTILINE
        )
        for name in [function[4 : function.index("(")] if "judge" in path.stem else path.stem]
    }
    assert ending - {"engine_options"} == named


# Settings


def settings_rows(page: str) -> dict[str, list[str]]:
    return {codes(row[0])[0]: row for row in tables(REFERENCE / page)[0].rows}


@pytest.mark.parametrize("page", ["settings.md", "settings.ja.md"])
def test_fields_and_defaults_of_settings(page: str) -> None:
    rows = settings_rows(page)
    assert list(rows) == [field.name for field in fields(pfgen_rs.Settings)]
    for field in fields(pfgen_rs.Settings):
        assert codes(rows[field.name][1]) == [repr(field.default)]


OTHERS: dict[str, Any] = {
    "variant": "paper",
    "min_n": 2,
    "max_n": 9,
    "truthfulness_n": 4,
    "threshold": 0.01,
    "target_length": 90,
    "zero_length": 160,
    "max_length": 210,
    "skipped": "。",
    "unit": "word",
    "summation": "compensated",
}


@pytest.mark.parametrize("name", OTHERS)
def test_the_signature_names_a_changed_setting(name: str) -> None:
    usual = signature("0" * 40, pfgen_rs.Settings())
    changed = signature("0" * 40, pfgen_rs.Settings(**{name: OTHERS[name]}))
    [part] = [p for p in changed.split("|") if p not in usual.split("|")]
    [stated] = codes(settings_rows("settings.md")[name][4])
    assert part.startswith(stated)
    assert ("always" in settings_rows("settings.md")[name][4]) == (stated in usual)


@pytest.mark.parametrize(
    ("allowed", "refused"),
    [
        ({"min_n": 1}, {"min_n": 0}),
        ({"min_n": 10}, {"min_n": 11}),
        ({"max_n": 200}, {"max_n": 201}),
        ({"truthfulness_n": 1}, {"truthfulness_n": 0}),
        ({"truthfulness_n": 200}, {"truthfulness_n": 201}),
        ({"threshold": 1e-9}, {"threshold": 9e-10}),
        ({"threshold": 1}, {"threshold": 1.01}),
        ({"target_length": 0}, {"target_length": -1}),
        ({"target_length": 149}, {"target_length": 150}),
        ({"zero_length": 101}, {"zero_length": 100}),
        ({"zero_length": 200}, {"zero_length": 201}),
        ({"max_length": 150}, {"max_length": 149}),
        ({"max_length": 9_998}, {"max_length": 9_999}),
        ({"unit": "token"}, {"unit": "byte"}),
        ({"variant": "paper"}, {"variant": "paper", "summation": "compensated"}),
    ],
)
def test_ranges_of_settings(allowed: dict[str, Any], refused: dict[str, Any]) -> None:
    pfgen_rs.Settings(**allowed)
    with pytest.raises(pfgen_rs.PfgenError):
        pfgen_rs.Settings(**refused)


def test_parts_of_signatures_are_described_in_order() -> None:
    page = REFERENCE / "settings.md"
    everything = signature(
        "0" * 40,
        pfgen_rs.Settings(
            threshold=0.01,
            max_length=210,
            skipped="",
            unit="word",
            helpfulness=False,
            summation="compensated",
        ),
        answered=(1, 2),
        answers=(3, 4),
        clean="chat",
        ordered=False,
    )
    names = [part.partition(":")[0] for part in everything.split("|")[1:]]
    [table] = [t for t in tables(page) if t.header[0] == "part"]
    assert [name for row in table.column() for name in row] == names
    grammar = dict(fences(page))["text"]
    assert re.findall(r'"\|(\w+):', grammar) == names
