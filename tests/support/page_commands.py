"""What commands in pages are checked against: the real command line, the Makefile, the extras, the files."""

from __future__ import annotations

import ast
import importlib
import re
import tomllib
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from pfgen_rs import PfgenError
from pfgen_rs.cli.app import app
from places import ROOT

__all__ = ["check_command", "check_inline", "check_python"]

ELSEWHERE = {
    *(
        "cat",
        "cd",
        "cp",
        "curl",
        "echo",
        "export",
        "git",
        "head",
        "ls",
        "mkdir",
        "mv",
        "sed",
        "set",
        "source",
    ),
    *(
        "duckdb",
        "flexeval_file",
        "flexeval_lm",
        "inspect",
        "jupyter",
        "lighteval",
        "lm_eval",
        "ray",
    ),
    *("cargo", "pipx", "rustup", "sbatch", "unzip", "uv", "xz", "zstd", ".", "[", "test", "kill"),
}
"""Programs of others, of which pages may say anything."""

MODULES = {"pfgen_rs": "pfgen-rs", "pip": "pip"}
UsageError: Any = typer.BadParameter.__bases__[0]
"""Of all that is wrong with a command line; typer names only this kind of it."""

VARIABLE = re.compile(r"\$(?:\w+|\{[^}]*\})")
EXTRAS = re.compile(r"pfgen[-_]rs\[([^\]]+)\]")


def check_command(words: list[str], saved: Collection[str] = ()) -> None:
    """Fail for a command that cannot be as it is written, as far as can be said without running it.

    `saved`: files that the page lets its readers write.
    """
    program, *rest = words
    program = program.rpartition("/")[2] if program.startswith(".venv") else program
    if program == "pfgen-rs":
        parsed(rest)
    elif program == "make":
        _check_targets(rest)
    elif program in ("pip", "pipx", "uv"):
        _check_extras(rest)
    elif program in ("python", "python3"):
        _check_script(rest, saved)
    elif program not in ELSEWHERE:
        raise AssertionError(f"unknown program {program!r}: is it a typing error?")


def parsed(words: list[str]) -> None:
    """Parse the words after `pfgen-rs` as the command line does: options, their values, and arguments."""
    words = [VARIABLE.sub("1", word) for word in words]
    try:
        command: Any = get_command(app)
        context = command.make_context("pfgen-rs", list(words))
        while isinstance(command, TyperGroup):
            left = [*context._protected_args, *context.args]
            name, command, left = command.resolve_command(context, left)
            context = command.make_context(name, left, parent=context)
    except UsageError as error:
        raise AssertionError(f"pfgen-rs {' '.join(words)}: {error.format_message()}") from None
    except typer.Exit as ended:  # --help and the like end here
        if ended.exit_code:
            raise AssertionError(
                f"pfgen-rs {' '.join(words)}: exit code {ended.exit_code}"
            ) from None


def check_inline(text: str) -> None:
    """Check a command within a sentence, which may lack arguments: its name and its options exist."""
    command: Any = get_command(app)
    context = typer.Context(command)
    words = text.split()[1:]
    while words and isinstance(command, TyperGroup) and not words[0].startswith("-"):
        if not re.fullmatch(r"[a-z][a-z-]*", words[0]):
            return  # a placeholder such as COMMAND
        _, command, words = _resolved(command, context, words)
        context = typer.Context(command, parent=context)
    known = {option for each in command.params for option in [*each.opts, *each.secondary_opts]}
    known |= {"--help", "-h"}
    for word in words:
        if option := re.match(r"--?[a-z][a-z-]*", word):
            assert option[0] in known, f"`{text}`: there is no {option[0]}"


def _resolved(command: TyperGroup, context: Any, words: list[str]) -> Any:
    try:
        return command.resolve_command(context, words)
    except UsageError as error:
        raise AssertionError(error.format_message()) from None


@cache
def _targets() -> frozenset[str]:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = re.findall(r"^\.PHONY: (.*)$", text, flags=re.MULTILINE)
    found = {name for names in named for name in names.split() if "$" not in name}
    for variable in re.findall(r"\$\((\w+):%=(?:[a-z]+-)%\)", "\n".join(named)):
        [prefix] = set(re.findall(rf"\$\({variable}:%=([a-z]+-)%\)", "\n".join(named)))
        [values] = re.findall(rf"^{variable} := (.*)$", text, flags=re.MULTILINE)
        found |= {prefix + value for value in values.split()}
    return frozenset(found)


def _check_targets(words: list[str]) -> None:
    for word in words:
        if "=" not in word and not word.startswith("-"):
            assert word in _targets(), f"make {word}: the Makefile has no such target"


def _check_extras(words: list[str]) -> None:
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    known = table["project"]["optional-dependencies"]
    for word in words:
        if found := EXTRAS.search(word):
            for extra in found[1].split(","):
                assert extra.strip() in known, f"{word}: there is no extra {extra!r}"


def _check_script(words: list[str], saved: Collection[str]) -> None:
    if words[:1] == ["-c"]:
        check_python(words[1])
    elif words[:1] == ["-m"]:
        if words[1] in MODULES:
            check_command([MODULES[words[1]], *words[2:]])
    elif words and not words[0].startswith("-"):
        is_there = words[0] in saved or (ROOT / words[0]).is_file()
        assert is_there, f"python {words[0]}: there is no such file"


def check_python(source: str) -> None:
    """Check code that is not run: it is Python, and what it imports from this package exists."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and _is_ours(node.module or ""):
            for alias in node.names:
                _check_import(node.module or "", alias.name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if _is_ours(alias.name):
                    _check_import(alias.name)


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == "pfgen_rs"


def _check_import(module: str, name: str | None = None) -> None:
    path = ROOT / "python" / Path(*module.split("."))
    is_there = path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()
    assert is_there, f"there is no module {module}"
    if name is None:
        return
    try:
        is_known = hasattr(importlib.import_module(module), name)
    except (ImportError, PfgenError):  # it is an adapter of something that is not installed
        is_known = name in _defined(path)
    if not is_known:
        _check_import(f"{module}.{name}")


def _defined(path: Path) -> set[str]:
    tree = ast.parse(path.with_suffix(".py").read_text(encoding="utf-8"))
    kinds = (ast.ClassDef, ast.FunctionDef)
    return {node.name for node in tree.body if isinstance(node, kinds)}
