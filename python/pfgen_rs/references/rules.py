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

import hashlib
import json
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from pfgen_rs import _native
from pfgen_rs.errors import BenchmarkError
from pfgen_rs.references.pool import Mask, State
from pfgen_rs.references.step import Context, StepReport, step

# Name, kind, pattern, replacement.
NativeRule = tuple[str, str, str, str]


def read_tables(path: str | Path) -> dict[str, object]:
    """Read a TOML file; raises `BenchmarkError`, naming the file, if it cannot be read."""
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise BenchmarkError(f"cannot read rules: {error}", path=path) from error
    except tomllib.TOMLDecodeError as error:
        raise BenchmarkError(f"invalid TOML: {error}", path=path) from error


def compiled(rules: Iterable[NativeRule], path: str | Path | None = None) -> _native.Corrections:
    """Compile rules; raises `BenchmarkError`, naming the file and the rule, for an invalid rule."""
    try:
        return _native.Corrections(list(rules))
    except BenchmarkError as error:
        raise BenchmarkError(error.problem, path=path) from None


class RuleTable:
    """The table of one rule in a file; `where` describes its location until its name is known."""

    def __init__(self, data: object, path: str | Path | None, where: str) -> None:
        self.path, self.where = path, where
        if not isinstance(data, Mapping):
            self.fail(f"expected a table, not {data!r}")
        self.data: Mapping[str, object] = data
        self.where = f"{where} {self.text('name')!r}"

    def fail(self, problem: str) -> NoReturn:
        """Raise `BenchmarkError` with the location."""
        raise BenchmarkError(f"{self.where}: {problem}", path=self.path)

    def only(self, keys: Sequence[str]) -> None:
        """Raise `BenchmarkError` for any other key."""
        unknown = [key for key in self.data if key not in keys]
        if unknown:
            self.fail(f"unknown key {unknown[0]!r}: expected one of {', '.join(keys)}")

    def one_of(self, kinds: Sequence[str]) -> str:
        """Returns which one of these keys is present; raises `BenchmarkError` unless exactly one is."""
        present = [kind for kind in kinds if kind in self.data]
        if len(present) != 1:
            names = ", ".join(kinds)
            named = " and ".join(present) or "none"
            self.fail(f"expected exactly one of {names}, found {named}")
        return present[0]

    def text(self, key: str, default: str | None = None) -> str:
        """Returns a string value, which may only be empty if that is the default."""
        value = self.data.get(key, default)
        if not isinstance(value, str) or (not value and default is None):
            self.fail(f"{key} must be a non-empty string, not {value!r}")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """Returns a string or a list of strings as a tuple, empty if the key is missing."""
        value = self.data.get(key, ())
        values = [value] if isinstance(value, str) else value
        if not isinstance(values, list | tuple) or not all(isinstance(v, str) for v in values):
            self.fail(f"{key} must be a string or a list of strings, not {value!r}")
        return tuple(values)


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

    def __reduce__(self) -> tuple[Any, ...]:
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
    rules = [_parse_rule(RuleTable(table, path, f"{where}: rule")) for table in tables]
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
    by_question = {}
    for question, table in read_tables(path).items():
        if not isinstance(table, dict) or set(table) != {"rule"}:
            problem = f"{question}: expected only [[{question}.rule]] tables"
            raise BenchmarkError(problem, path=path)
        by_question[question] = parse_answer_rules(table["rule"], question, path=path)
    return by_question


def _parse_rule(table: RuleTable) -> AnswerRule:
    table.only(_KEYS)
    kind = table.one_of(tuple(_KINDS))
    return AnswerRule(table.text("name"), kind, table.text(kind), table.text("reason", ""))


@dataclass(frozen=True)
class Rules:
    """A TOML file of expressions that answers must or must not match, by question id."""

    file: str = ""


def _read(options: Rules, path: Callable[[str], Path]) -> dict[str, AnswerRules]:
    return read_answer_rules(path(options.file)) if options.file else {}


def _key(rules: Mapping[str, AnswerRules], state: State, context: Context) -> list[Any]:
    del state
    own = rules.get(context.question_id)
    return [context.examples, own and own.digest]


@step(
    "rules",
    Rules,
    place=20,
    prepared=_read,
    key=_key,
    no="no answer breaks a rule",
    nearly="check the rules",
    expected=lambda report: not report.details["rules"],
    text_only=True,
)
def _step(
    state: State, rules: Mapping[str, AnswerRules], context: Context
) -> tuple[State, StepReport]:
    removals = context.removals()
    own = rules.get(context.question_id)
    if own is None:
        return state, context.report("rules", state, state, removals, rules=[])
    masks: list[Mask] = [np.zeros(0, dtype=np.bool_)]
    for frame in state.frames("answer"):
        answers = frame.get_column("answer")
        broken = own.apply(answers, threads=context.threads)
        removals.add_rows(own.names, broken, answers)
        masks.append(broken < 0)
        context.progress(sum(map(len, masks)), state.height)
    after = state.narrowed(np.concatenate(masks))
    return after, context.report("rules", state, after, removals, rules=own.names)
