"""Checks of the code in pages, whether it is run or not: commands, imports, configurations."""

from __future__ import annotations

import ast
import contextlib
import importlib
import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from page_blocks import Block, commands
from pfgen_rs import PfgenError
from pfgen_rs.ask.costs import read_prices
from pfgen_rs.cli.app import app
from pfgen_rs.judge.dialogues.records import read_fields
from pfgen_rs.judge.pairs import read_pairs
from pfgen_rs.judge.prompts import read_prompts
from pfgen_rs.references.config import read_config, read_outlines
from pfgen_rs.references.rules import read_answer_rules
from pfgen_rs.report.site.model_facts import read_facts
from pfgen_rs.studies.tables import read_aliases

__all__ = ["PYTHON", "SHELL", "check", "check_inline"]

PYTHON, SHELL = {"python", "py"}, {"sh", "bash"}
VARIABLE = re.compile(r"\$(?:\w+|\{[^}]*\})")
UsageError: Any = typer.BadParameter.__bases__[0]
"""All that is wrong with a command line; typer names only this kind of it."""


def check(block: Block, folder: Path) -> None:
    """Fail for a block that cannot be right."""
    if block.language in SHELL:
        for words in commands(block.code):
            _parse([VARIABLE.sub("1", word) for word in words])
    elif block.language in PYTHON:
        _check_imports(block.code)
    elif block.language == "toml":
        _check_toml(block, folder)
    elif block.language in ("json", "jsonl"):
        _check_json(block, folder)
    for part in block.parts:
        assert part in block.code, f"the mark names {part!r}, which is not there"


def _parse(words: list[str]) -> None:
    """Parse words as the command line does: options, their values, and arguments."""
    try:
        command: Any = get_command(app)
        context = command.make_context("pfgen-rs", list(words))
        while isinstance(command, TyperGroup):
            left = [*context._protected_args, *context.args]
            name, command, left = command.resolve_command(context, left)
            context = command.make_context(name, left, parent=context)
    except UsageError as error:
        raise AssertionError(f"pfgen-rs {' '.join(words)}: {error.format_message()}") from None
    except typer.Exit:  # --help and the like end here
        pass


def check_inline(text: str) -> None:
    """Check a command within a sentence, which may lack arguments: its name and its options exist."""
    command: Any = get_command(app)
    context = typer.Context(command)
    words = text.split()[1:]
    while words and isinstance(command, TyperGroup) and re.fullmatch(r"[a-z][a-z-]*", words[0]):
        try:
            _, command, words = command.resolve_command(context, words)
        except UsageError as error:
            raise AssertionError(error.format_message()) from None
        context = typer.Context(command, parent=context)
    known = {option for each in command.params for option in [*each.opts, *each.secondary_opts]}
    for word in words:
        if option := re.match(r"--?[a-z][a-z-]*", word):
            assert option[0] in known | {"--help", "-h"}, f"`{text}`: there is no {option[0]}"


def _check_imports(source: str) -> None:
    """What is imported from this package exists."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pfgen_rs"):
            with contextlib.suppress(PfgenError):  # adapters of what is not installed
                module = importlib.import_module(node.module or "")
                for name in (alias.name for alias in node.names):
                    assert hasattr(module, name) or importlib.import_module(f"{node.module}.{name}")


def _facts(path: Path) -> object:
    return read_facts(path.parent)


def _prices(path: Path) -> object:
    models = tomllib.loads(path.read_text(encoding="utf-8"))["models"]
    return [read_prices(path, model) for model in models]


READERS: dict[frozenset[str], Callable[[Path], object]] = {
    frozenset({"candidates"}): read_config,
    frozenset({"pairwise", "grade", "criteria"}): read_prompts,
    frozenset({"currency", "models"}): _prices,
    frozenset({"fields"}): read_fields,
    frozenset({"released", "parameters"}): _facts,
    frozenset({"Q01", "Q02"}): read_answer_rules,
    frozenset({"question"}): read_outlines,
}
"""Configurations by keys that only they have; other tables are other names of models."""


def _check_toml(block: Block, folder: Path) -> None:
    """The package's reader of such a configuration accepts it."""
    table = tomllib.loads(block.code)
    read = next((read for keys, read in READERS.items() if keys & table.keys()), read_aliases)
    path = folder / ("models.toml" if read is _facts else "block.toml")
    path.write_text(block.code, encoding="utf-8")
    assert read(path), block.place


def _check_json(block: Block, folder: Path) -> None:
    """Lines, or one value; a pair to be judged is one."""
    try:
        records = [json.loads(block.code)]
    except json.JSONDecodeError:
        records = [json.loads(line) for line in block.code.splitlines()]
    if "answers" in records[0]:
        path = folder / "pairs.jsonl"
        path.write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")
        assert len(read_pairs(path)) == len(records)
