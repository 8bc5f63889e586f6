"""Helpfulness: keyword rules, parsed and checked once, and evaluated natively from keyword positions.

Source: Imajo et al. 2025, section 3.3.3, and the published rules. A rule has a position (the number of code
points up to the end of the text that satisfies it) and a label; a response cut before that position misses
the rule.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pfgen_rs import _native
from pfgen_rs.errors import BenchmarkError
from pfgen_rs.metrics.settings import Settings
from pfgen_rs.metrics.units import Unit

__all__ = ["Ends", "Helpfulness", "Rule", "is_literal", "parse_rules"]

Ends = NDArray[np.uint32]

_SPECIAL = frozenset(r"\.^$*+?{}[]|()")
_KEYS = {"t", "and", "or", "name", "importance"}
# Evaluation is recursive; the depth limit must not depend on the interpreter's stack.
_DEEPEST = 100
_SHOWN = 60
_UNIT_NAMES: dict[Unit, str] = {"character": "字", "word": "語", "token": "トークン"}


@dataclass(frozen=True)
class Rule:
    """One rule: `kind` is `t` (a pattern), `and` or `or` (of `parts`)."""

    kind: str
    pattern: str
    parts: tuple[Rule, ...]
    name: str | None
    importance: float


def parse_rules(keywords: object) -> tuple[Rule, ...]:
    """Returns the rules in a question file's `keywords`.

    Raises `BenchmarkError`, naming the rule, for anything that is not a rule, an invalid regular expression,
    an importance outside 0…1, or rules nested over 100 levels deep.
    """
    if not isinstance(keywords, list):
        raise BenchmarkError(f"keywords must be a list of rules, not {type(keywords).__name__}")
    return tuple(_parse_helpfulness_rule(rule, f"keywords[{i}]") for i, rule in enumerate(keywords))


def _parse_helpfulness_rule(rule: object, where: str, depth: int = 1) -> Rule:
    if depth > _DEEPEST:
        raise BenchmarkError(
            f"{where[:_SHOWN]}…: rules must not be nested over {_DEEPEST} levels deep"
        )
    if not isinstance(rule, dict):
        raise BenchmarkError(f"{where}: a rule must be an object, not {rule!r}")
    kinds = [kind for kind in ("t", "and", "or") if kind in rule]
    if len(kinds) != 1 or set(rule) - _KEYS:
        raise BenchmarkError(
            f"{where}: unknown rule {rule!r}: it needs exactly one of 't', 'and' and 'or', "
            "and may have 'name' and 'importance'"
        )
    kind = kinds[0]
    name = _parse_helpfulness_name(rule.get("name"), where)
    importance = _parse_helpfulness_importance(rule.get("importance", 1.0), where)
    if kind == "t":
        return Rule(kind, _parse_helpfulness_pattern(rule["t"], where), (), name, importance)
    parts = rule[kind]
    if not isinstance(parts, list) or not parts:
        raise BenchmarkError(f"{where}: '{kind}' must be a non-empty list of rules, not {parts!r}")
    parsed = tuple(
        _parse_helpfulness_rule(part, f"{where}.{kind}[{i}]", depth + 1)
        for i, part in enumerate(parts)
    )
    return Rule(kind, "", parsed, name, importance)


def _parse_helpfulness_name(name: object, where: str) -> str | None:
    if name is None:
        return None
    if not isinstance(name, str):
        raise BenchmarkError(f"{where}: the name must be text, not {name!r}")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise BenchmarkError(f"{where}: the name contains a lone surrogate: {name!r}") from None
    return name


def _parse_helpfulness_importance(importance: object, where: str) -> float:
    if isinstance(importance, bool) or not isinstance(importance, int | float):
        raise BenchmarkError(f"{where}: the importance must be a number, not {importance!r}")
    if not 0 <= importance <= 1:
        raise BenchmarkError(f"{where}: the importance must be between 0 and 1, not {importance!r}")
    return float(importance)


def _parse_helpfulness_pattern(pattern: object, where: str) -> str:
    if not isinstance(pattern, str):
        raise BenchmarkError(f"{where}: the pattern must be text, not {pattern!r}")
    try:
        pattern.encode()
        re.compile(pattern)
    except UnicodeEncodeError:
        raise BenchmarkError(
            f"{where}: the pattern contains a lone surrogate: {pattern!r}"
        ) from None
    except (re.error, RecursionError, OverflowError) as error:
        raise BenchmarkError(f"{where}: invalid regular expression {pattern!r}: {error}") from None
    return pattern


def is_literal(pattern: str) -> bool:
    """Whether a pattern is literal text rather than a regular expression."""
    return not _SPECIAL.intersection(pattern)


def _helpfulness_patterns(rules: Sequence[Rule]) -> list[str]:
    own = (
        ([rule.pattern] if rule.kind == "t" else _helpfulness_patterns(rule.parts))
        for rule in rules
    )
    return list(dict.fromkeys(pattern for patterns in own for pattern in patterns))


def _helpfulness_rule_steps(rule: Rule, numbers: Mapping[str, int]) -> list[tuple[str, int]]:
    """Returns a rule in reverse Polish notation, as the native code expects it."""
    if rule.kind == "t":
        return [("t", numbers[rule.pattern])]
    steps = [step for part in rule.parts for step in _helpfulness_rule_steps(part, numbers)]
    return [*steps, (rule.kind, len(rule.parts))]


class Helpfulness:
    """The rules of one question, ready for use.

    Native code searches for literal patterns and evaluates the rules; regular expressions are matched in
    Python, and only their positions are passed on. If units are words, native code sees coded text, so the
    positions of all patterns are passed: those of the words in which the matches end.
    """

    def __init__(self, rules: Sequence[Rule], settings: Settings) -> None:
        self._rules = tuple(rules)
        self._settings = settings
        self._in_words = settings.unit == "word"
        patterns = _helpfulness_patterns(self._rules)
        self._literals = [pattern for pattern in patterns if is_literal(pattern)]
        self._expressions = {p: re.compile(p) for p in patterns if not is_literal(p)}
        numbers = {p: i for i, p in enumerate([*self._literals, *self._expressions])}
        literals = [] if self._in_words else self._literals
        self._others = len(patterns) - len(literals)
        self.native = _native.Rules(
            _native.Texts(literals),
            self._others,
            [(rule.importance, _helpfulness_rule_steps(rule, numbers)) for rule in self._rules],
        )

    @property
    def has_expressions(self) -> bool:
        """Whether `expression_ends` is needed."""
        return bool(self._others)

    def expression_ends(self, answers: Iterable[str], *, threads: int | None = 1) -> Ends:
        """Returns the end of the first match of each regular expression in each answer, or NOT_FOUND.

        If units are words, the literals come first. uint32, shape (answers, patterns).
        """
        if self._in_words:
            return self._word_ends(list(answers), threads)
        limit = self._settings.max_length
        rows = [
            [
                _helpfulness_match_end(expression.search(answer[:limit]))
                for expression in self._expressions.values()
            ]
            for answer in answers
        ]
        return np.array(rows, dtype=np.uint32).reshape(len(rows), len(self._expressions))

    def _word_ends(self, answers: Sequence[str], threads: int | None) -> Ends:
        limit = self._settings.max_length
        texts, literals = _native.Texts(answers), _native.Texts(self._literals)
        found = [_native.word_ends(literals, texts, limit, threads)]
        if self._expressions:
            patterns = self._expressions.values()
            rows = [list(_helpfulness_word_ends(patterns, answer, limit)) for answer in answers]
            found.append(np.array(rows, dtype=np.uint32).reshape(len(rows), len(self._expressions)))
        return np.hstack(found)

    def ends(self, answer: str) -> dict[str, int]:
        """Returns the end of the first match of every pattern in one answer, or NOT_FOUND."""
        literals = self.native.ends(self._settings.native, answer)
        others = self.expression_ends([answer])[0].tolist()
        return dict(zip([*self._literals, *self._expressions], [*literals, *others], strict=True))

    def evaluate(self, answer: str, coded: str | None = None) -> tuple[float, int]:
        """Returns the unrounded Helpfulness of one answer, and the largest cut that attains it.

        `coded`: the answer with one code point per unit, if that differs from the text.
        """
        others = self.expression_ends([answer])[0].tolist()
        text = answer if coded is None else coded
        return self.native.score(self._settings.native, text, others)

    def missed(self, ends: Mapping[str, int], value: float, cut: int) -> list[list[Any]]:
        """Returns the published `helpfulness_results` of an answer with these ends, value and cut."""
        missed: list[list[Any]] = [
            [label, 1 - rule.importance]
            for rule, label, position in self.positions(ends)
            if cut < position
        ]
        excess = cut - self._settings.target_length
        if excess > 0 and value > 0 and self._settings.variant == "pfgen-bench":
            name = _UNIT_NAMES[self._settings.unit]
            missed.append([f"{excess}{name}超過", self._settings.discount(cut)])
        return missed

    def positions(self, ends: Mapping[str, int]) -> list[tuple[Rule, str, int]]:
        """Returns each rule with its label and position."""
        return [(rule, *_located_helpfulness_rule(rule, ends)) for rule in self._rules]


def _helpfulness_match_end(match: re.Match[str] | None) -> int:
    return _native.NOT_FOUND if match is None else match.end()


def _helpfulness_word_ends(
    expressions: Iterable[re.Pattern[str]], answer: str, limit: int
) -> Iterator[int]:
    """Yield match ends within the first `limit` words of an answer, in words: how many begin before it."""
    spans = _native.word_spans(answer, limit + 1)
    window = answer if len(spans) <= limit else answer[: spans[limit - 1][1]]
    starts = [start for start, _ in spans]
    for expression in expressions:
        match = expression.search(window)
        yield _native.NOT_FOUND if match is None else bisect_left(starts, match.end())


def _located_helpfulness_rule(rule: Rule, ends: Mapping[str, int]) -> tuple[str, int]:
    """Returns the label and position of a rule: those of the first part that decides it."""
    if rule.kind == "t":
        return rule.pattern if rule.name is None else rule.name, ends[rule.pattern]
    parts = [_located_helpfulness_rule(part, ends) for part in rule.parts]
    choose = max if rule.kind == "and" else min
    label, position = choose(parts, key=lambda part: part[1])
    return label if rule.name is None else rule.name, position
