"""Small grammars that generate many distinct answers to one question.

A grammar file (TOML) belongs to one question and holds one grammar per *source*, an author with
its own wording. A grammar consists of `start` templates, named `rules` (lists of alternatives)
and `records` (rows whose fields belong together). In a template, `{rule}` is replaced with one
alternative of that rule, drawn again at every occurrence; `{record.field}` is replaced with the
field of the one row drawn for the whole answer. Rules must not be circular.

Everything is checked when the file is loaded, so sampling cannot fail.
"""

from __future__ import annotations

import math
import random
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TypeVar

from pfgen_rs.errors import BenchmarkError

__all__ = ["Field", "Grammar", "QuestionGrammar", "Rule", "load", "loads"]

T = TypeVar("T")

_MENTION = re.compile(r"\{([^{}]*)\}")
_NAME = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Rule:
    """A reference `{name}`."""

    name: str


@dataclass(frozen=True, slots=True)
class Field:
    """A reference `{record.name}`."""

    record: str
    name: str


Template = tuple[str | Rule | Field, ...]
Rows = tuple[Mapping[str, str], ...]


@dataclass(frozen=True, slots=True)
class Grammar:
    """The validated grammar of one source; created by `load` or `loads`.

    `label` (file and source) is used only in error messages.
    """

    label: str
    start: tuple[Template, ...]
    rules: Mapping[str, tuple[Template, ...]]
    records: Mapping[str, Rows]

    def derivations(self) -> int:
        """Count the ways to derive an answer: an upper bound on the number of distinct answers.

        Each start template is multiplied by the rows of the records it can reach. Time: linear in
        the number of references, per start template.
        """
        counts: dict[str, int] = {}
        return sum(
            self._ways(template, counts)
            * math.prod(len(self.records[name]) for name in self._reachable(template))
            for template in self.start
        )

    def sample(self, rng: random.Random) -> str:
        """Draw one answer, choosing uniformly among alternatives and among rows.

        Only `rng.random()` is used, whose sequence Python keeps stable across versions, so the
        same seed gives the same answer everywhere.
        """
        rows = {name: _pick_grammar_alternative(rows, rng) for name, rows in self.records.items()}
        return "".join(self._expand(_pick_grammar_alternative(self.start, rng), rows, rng))

    def _expand(
        self, template: Template, rows: Mapping[str, Mapping[str, str]], rng: random.Random
    ) -> Iterator[str]:
        for part in template:
            if isinstance(part, str):
                yield part
            elif isinstance(part, Field):
                yield rows[part.record][part.name]
            else:
                yield from self._expand(
                    _pick_grammar_alternative(self.rules[part.name], rng), rows, rng
                )

    def _ways(self, template: Template, counts: dict[str, int]) -> int:
        """Count the derivations of `template` for fixed rows; `counts` caches those of the rules."""
        ways = 1
        for part in template:
            if isinstance(part, Rule):
                if part.name not in counts:
                    alternatives = self.rules[part.name]
                    counts[part.name] = sum(self._ways(each, counts) for each in alternatives)
                ways *= counts[part.name]
        return ways

    def _reachable(self, template: Template) -> set[str]:
        """Returns the names of the records that an expansion of `template` may refer to."""
        records: set[str] = set()
        seen: set[str] = set()
        pending = [template]
        while pending:
            for part in pending.pop():
                if isinstance(part, Field):
                    records.add(part.record)
                elif isinstance(part, Rule) and part.name not in seen:
                    seen.add(part.name)
                    pending.extend(self.rules[part.name])
        return records


@dataclass(frozen=True, slots=True)
class QuestionGrammar:
    """A grammar file: the contents of a question file, with grammars in place of the answers.

    `keywords` holds the rule objects as found in the file, not validated. `sources` keeps the
    order of the file.
    """

    question_id: str
    question: str
    category: str
    note: str
    keywords: tuple[Mapping[str, object], ...]
    sources: Mapping[str, Grammar]


def load(path: str | Path) -> QuestionGrammar:
    """Read and check a grammar file.

    Raises `BenchmarkError`, naming the file, the source and the rule, if the file cannot be read,
    a key is missing or has the wrong type, a list of alternatives is empty, a reference is to an
    unknown rule, record or field, or a rule is circular.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BenchmarkError(f"cannot read grammar file: {error}", path=path) from error
    return loads(text, path=path)


def loads(text: str, *, path: str | Path = "<string>") -> QuestionGrammar:
    """Like `load`, but from the text of a file; `path` is used only in error messages."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BenchmarkError(f"invalid TOML: {error}", path=path) from error
    table = _GrammarTable(data, path, "")
    sources = table.table("sources")
    if not sources.data:
        table.fail("sources: empty: add at least one source, such as [sources.A]")
    return QuestionGrammar(
        question_id=table.text("question_id"),
        question=table.text("question"),
        category=table.text("category"),
        note=table.text("note"),
        keywords=tuple(each.data for each in table.tables("keywords")),
        sources={name: _parse_grammar(sources.table(name)) for name in sources.data},
    )


def _pick_grammar_alternative(items: Sequence[T], rng: random.Random) -> T:
    # Not `rng.choice`: only the sequence of `random()` is guaranteed to stay the same.
    return items[int(rng.random() * len(items))]


class _GrammarTable:
    """A TOML table that knows its location, for error messages."""

    def __init__(self, data: Mapping[str, object], path: str | Path, where: str) -> None:
        self.data = data
        self.path = path
        self.where = where

    def at(self, key: str) -> str:
        return f"{self.where}.{key}" if self.where else key

    def fail(self, problem: str) -> NoReturn:
        raise BenchmarkError(problem, path=self.path)

    def text(self, key: str) -> str:
        value = self.data.get(key)
        if not isinstance(value, str) or not value:
            self.fail(f"{self.at(key)}: expected a non-empty string")
        return value

    def texts(self, key: str) -> list[str]:
        values = self._list(key)
        for value in values:
            if not isinstance(value, str):
                self.fail(f"{self.at(key)}: expected strings, not {value!r}")
            if "\n" in value or "\r" in value:
                self.fail(f"{self.at(key)}: expected a single line, not {value!r}")
        return [value for value in values if isinstance(value, str)]

    def table(self, key: str) -> _GrammarTable:
        value = self.data.get(key)
        if not isinstance(value, dict):
            self.fail(f"{self.at(key)}: expected a table")
        return _GrammarTable(value, self.path, self.at(key))

    def tables(self, key: str) -> list[_GrammarTable]:
        values = self._list(key)
        for value in values:
            if not isinstance(value, dict):
                self.fail(f"{self.at(key)}: expected tables, not {value!r}")
        where = self.at(key)
        return [
            _GrammarTable(value, self.path, where) for value in values if isinstance(value, dict)
        ]

    def _list(self, key: str) -> list[object]:
        value = self.data.get(key)
        if not isinstance(value, list):
            self.fail(f"{self.at(key)}: expected a list")
        if not value:
            self.fail(f"{self.at(key)}: empty: expected at least one entry")
        return value


def _parse_grammar(table: _GrammarTable) -> Grammar:
    rules = table.table("rules") if "rules" in table.data else _GrammarTable({}, table.path, "")
    records = (
        table.table("records") if "records" in table.data else _GrammarTable({}, table.path, "")
    )
    grammar = Grammar(
        label=f"{table.path}: {table.where}",
        start=_parse_grammar_templates(table, "start"),
        rules={name: _parse_grammar_templates(rules, name) for name in rules.data},
        records={name: _grammar_records(records, name) for name in records.data},
    )
    for template in grammar.start:
        _check_grammar_mentions(grammar, template, table, table.at("start"))
    for name, alternatives in grammar.rules.items():
        for template in alternatives:
            _check_grammar_mentions(grammar, template, table, rules.at(name))
    _check_grammar_cycles(grammar, table)
    return grammar


def _parse_grammar_templates(table: _GrammarTable, key: str) -> tuple[Template, ...]:
    return tuple(_parse_grammar_template(text, table, key) for text in table.texts(key))


def _parse_grammar_template(text: str, table: _GrammarTable, key: str) -> Template:
    """Split at the references: odd pieces are the contents of braces."""
    parts: list[str | Rule | Field] = []
    for index, piece in enumerate(_MENTION.split(text)):
        if index % 2:
            parts.append(_check_grammar_mention(piece, table, key))
        elif "{" in piece or "}" in piece:
            table.fail(f"{table.at(key)}: unbalanced brace in {text!r}")
        elif piece:
            parts.append(piece)
    return tuple(parts)


def _check_grammar_mention(name: str, table: _GrammarTable, key: str) -> Rule | Field:
    names = name.split(".")
    if len(names) > 2 or not all(_NAME.fullmatch(each) for each in names):
        table.fail(
            f"{table.at(key)}: invalid reference {{{name}}}: expected {{rule}} or {{record.field}}"
        )
    return Rule(names[0]) if len(names) == 1 else Field(names[0], names[1])


def _grammar_records(records: _GrammarTable, name: str) -> Rows:
    tables = records.tables(name)
    fields = list(tables[0].data)
    for table in tables:
        if sorted(table.data) != sorted(fields):
            records.fail(
                f"{records.at(name)}: all rows must have the same fields: expected "
                f"{', '.join(fields)}, found {', '.join(table.data)}"
            )
    return tuple({field: table.text(field) for field in fields} for table in tables)


def _check_grammar_mentions(
    grammar: Grammar, template: Template, table: _GrammarTable, where: str
) -> None:
    for part in template:
        if isinstance(part, Rule) and part.name not in grammar.rules:
            table.fail(f"{where}: {{{part.name}}} is not a rule of {table.where}")
        if isinstance(part, Field):
            mention = f"{{{part.record}.{part.name}}}"
            if part.record not in grammar.records:
                table.fail(f"{where}: {mention} is not a record of {table.where}")
            if part.name not in grammar.records[part.record][0]:
                table.fail(f"{where}: {mention} is not a field of record {part.record}")


def _check_grammar_cycles(grammar: Grammar, table: _GrammarTable) -> None:
    finished: set[str] = set()

    def visit(name: str, above: tuple[str, ...]) -> None:
        if name in above:
            cycle = " -> ".join((*above[above.index(name) :], name))
            table.fail(f"{table.at('rules')}.{name}: circular rule ({cycle})")
        if name in finished:
            return
        for template in grammar.rules[name]:
            for part in template:
                if isinstance(part, Rule):
                    visit(part.name, (*above, name))
        finished.add(name)

    for name in grammar.rules:
        visit(name, ())
