"""Checks of the code in pages, whether it is run or not: commands, Python, configurations."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Collection
from pathlib import Path

from page_blocks import Block, blocks
from page_commands import check_command, check_python
from pfgen_rs.ask.costs import read_prices
from pfgen_rs.judge.dialogues.records import read_fields
from pfgen_rs.judge.pairs import read_pairs
from pfgen_rs.judge.prompts import read_prompts
from pfgen_rs.references.config import read_config
from pfgen_rs.references.outlines import read_outlines
from pfgen_rs.references.rules import read_answer_rules
from pfgen_rs.report.site.model_facts import read_facts
from pfgen_rs.studies.model_names import read_aliases
from shell_lines import programs, statements

__all__ = ["OUTPUT", "PYTHON", "SHELL", "check"]

PYTHON = {"python", "py"}
SHELL = {"sh", "bash", "console"}
OUTPUT = "text"
"""What the block above prints."""


def _check_shell(block: Block) -> None:
    saved = {each.file for each in blocks(block.page)}
    for statement in statements(block.code, prompted=block.language == "console"):
        for words in programs(statement.text):
            check_command(words, saved)


def _check_toml(block: Block, folder: Path) -> None:
    """The package's reader of such a configuration accepts it."""
    table = tomllib.loads(block.code)
    read = next((read for keys, read in READERS.items() if keys & table.keys()), read_aliases)
    path = folder / ("models.toml" if read is _facts else "block.toml")
    path.write_text(block.code, encoding="utf-8")
    assert read(path), block.place


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


def check(block: Block, folder: Path, others: Collection[str] = ()) -> None:
    """Fail for a block that cannot be right. `others`: languages that something else looks at."""
    if block.language in SHELL:
        _check_shell(block)
    elif block.language in PYTHON:
        check_python(block.code)
    elif block.language == "toml":
        _check_toml(block, folder)
    elif block.language in ("json", "jsonl"):
        _check_json(block, folder)
    elif block.language != OUTPUT and block.language not in others:
        raise AssertionError(f"{block.language!r} is no language that is checked: name one")
    for part in block.parts:
        assert part in block.code, f"the mark names {part!r}, which is not there"
