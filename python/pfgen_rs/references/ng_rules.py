"""Rules for the answers to one question: expressions that must or must not match.

Source: Imajo et al. 2025, section 3.2.2. A rule file holds the tables of each question under its id:

    [[Q01.rule]]
    name = "wrong-count"
    reason = "The hands meet 22 times."
    forbid = '1日に(?:11|23|24)回'

    [[Q01.rule]]
    name = "says-how-often"
    require = '22回'

Patterns use the syntax of the Rust crate `regex`, which matches in time linear in the text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pfgen_rs import _native
from pfgen_rs.errors import BenchmarkError
from pfgen_rs.references.rule_tables import NativeRule, RuleTable, compiled, read_tables

__all__ = ["AnswerRule", "AnswerRules", "parse_answer_rules", "read_answer_rules"]

# Kinds of rules, as named in the file and by the native module.
_KINDS = {"forbid": "reject", "require": "require"}
_KEYS = ("name", "reason", *_KINDS)


@dataclass(frozen=True)
class AnswerRule:
    """One rule; `kind` is `forbid` (broken if `pattern` matches) or `require` (broken if it does not)."""

    name: str
    kind: str
    pattern: str
    reason: str = ""

    @property
    def native(self) -> NativeRule:
        """The rule as passed to the native module."""
        return self.name, _KINDS[self.kind], self.pattern, ""


class AnswerRules:
    """The compiled rules of one question.

    Raises `BenchmarkError`, naming the rule, for an invalid pattern.
    """

    def __init__(self, rules: Iterable[AnswerRule]) -> None:
        self.rules = tuple(rules)
        self._native = compiled(rule.native for rule in self.rules)

    def __reduce__(self) -> tuple[type[AnswerRules], tuple[tuple[AnswerRule, ...]]]:
        return AnswerRules, (self.rules,)  # what is compiled stays in its process

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the rules, in order."""
        return tuple(rule.name for rule in self.rules)

    @property
    def digest(self) -> str:
        """SHA-256 of the rules (names, kinds and patterns, in order), in hexadecimal."""
        rules = json.dumps([rule.native for rule in self.rules], separators=(",", ":"))
        return hashlib.sha256(rules.encode()).hexdigest()

    def apply(self, answers: Any, *, threads: int | None = None) -> NDArray[np.int32]:
        """Returns the index of the first rule that each answer breaks, or -1; shape (answers,).

        `answers` is a list of `str` or any object with Arrow's PyCapsule interface. The result does not
        depend on `threads` (default: all cores). Raises `InputError`, naming the row, for a value that is
        not text.
        """
        return self._native.judge(_native.Texts(answers, threads), threads)


def parse_answer_rules(
    tables: object, where: str, *, path: str | Path | None = None
) -> AnswerRules:
    """Parse the TOML tables in the list `rule` of a question.

    `where` (the question) and `path` (the file) are used in error messages. Raises `BenchmarkError`, naming
    them and the rule, for an unknown key, neither or both kinds, an invalid pattern, or a duplicate name.
    """
    if not isinstance(tables, list):
        raise BenchmarkError(f"{where}: expected a list of rules, not {tables!r}", path=path)
    rules = [_parse_ng_rule(RuleTable(table, path, f"{where}: rule")) for table in tables]
    names = [rule.name for rule in rules]
    for name in names:
        if names.count(name) > 1:
            problem = f"{where}: duplicate rule {name!r}"
            raise BenchmarkError(problem, path=path)
    try:
        return AnswerRules(rules)
    except BenchmarkError as error:
        raise BenchmarkError(f"{where}: {error.problem}", path=path) from None


def read_answer_rules(path: str | Path) -> dict[str, AnswerRules]:
    """Read the rules of a file, by question id; raises the same errors as `parse_answer_rules`."""
    found = {}
    for question, table in read_tables(path).items():
        if not isinstance(table, dict) or set(table) != {"rule"}:
            problem = f"{question}: expected only [[{question}.rule]] tables"
            raise BenchmarkError(problem, path=path)
        found[question] = parse_answer_rules(table["rule"], question, path=path)
    return found


def _parse_ng_rule(table: RuleTable) -> AnswerRule:
    table.only(_KEYS)
    kind = table.one_of(tuple(_KINDS))
    return AnswerRule(table.text("name"), kind, table.text(kind), table.text("reason", ""))
