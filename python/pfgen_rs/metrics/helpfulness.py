"""Helpfulness: keyword rules, parsed and checked once, and evaluated natively from keyword positions.

Source: scoring 4. A rule has a position (the number of code
points up to the end of the text that satisfies it) and a label; a response cut before that position misses
the rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

from pfgen_rs import _native
from pfgen_rs.errors import BenchmarkError
from pfgen_rs.io.text import shortened
from pfgen_rs.lazy import NDArray, np
from pfgen_rs.metrics import expressions
from pfgen_rs.metrics.settings import Settings
from pfgen_rs.metrics.units import Unit

Ends: TypeAlias = "NDArray[np.uint32]"

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


def parse_rules(keywords: object, called: str = "keywords") -> tuple[Rule, ...]:
    """Returns the rules in a question file's `keywords`; `called`: what messages call these.

    Raises `BenchmarkError`, naming the rule, for anything that is not a rule, an invalid regular expression,
    an importance outside 0…1, or rules nested over 100 levels deep.
    """
    if not isinstance(keywords, list):
        raise BenchmarkError(f"{called} must be a list of rules, not {type(keywords).__name__}")
    return tuple(_rule(rule, f"{called}[{i}]") for i, rule in enumerate(keywords))


def _rule(rule: object, where: str, depth: int = 1) -> Rule:
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
    name = _name(rule.get("name"), where)
    importance = _importance(rule.get("importance", 1.0), where)
    if kind == "t":
        return Rule(kind, _pattern(rule["t"], where), (), name, importance)
    parts = rule[kind]
    if not isinstance(parts, list) or not parts:
        raise BenchmarkError(f"{where}: '{kind}' must be a non-empty list of rules, not {parts!r}")
    parsed = tuple(_rule(part, f"{where}.{kind}[{i}]", depth + 1) for i, part in enumerate(parts))
    return Rule(kind, "", parsed, name, importance)


def _name(name: object, where: str) -> str | None:
    if name is None:
        return None
    if not isinstance(name, str):
        raise BenchmarkError(f"{where}: the name must be text, not {name!r}")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise BenchmarkError(f"{where}: the name contains a lone surrogate: {name!r}") from None
    return name


def _importance(importance: object, where: str) -> float:
    if isinstance(importance, bool) or not isinstance(importance, int | float):
        raise BenchmarkError(f"{where}: the importance must be a number, not {importance!r}")
    if not 0 <= importance <= 1:
        raise BenchmarkError(f"{where}: the importance must be between 0 and 1, not {importance!r}")
    return float(importance)


def _pattern(pattern: object, where: str) -> str:
    if not isinstance(pattern, str):
        raise BenchmarkError(f"{where}: the pattern must be text, not {pattern!r}")
    try:
        pattern.encode()
        if not is_literal(pattern):  # to compile all of 50 questions takes longer than to load them
            _check_expression(pattern)
    except UnicodeEncodeError:
        raise BenchmarkError(
            f"{where}: the pattern contains a lone surrogate: {_shown(pattern)}"
        ) from None
    except expressions.OutOfTimeError:
        raise BenchmarkError(
            f"{where}: compiling the regular expression {_shown(pattern)} took longer than "
            f"{expressions.TIME_LIMIT:g} seconds: write it shorter"
        ) from None
    except (re.error, RecursionError, OverflowError, ValueError) as error:
        problem = f"invalid regular expression {_shown(pattern)}: {error}"
        raise BenchmarkError(f"{where}: {problem}") from None
    return pattern


def _check_expression(pattern: str) -> None:
    """Compile an expression, a long one where that can be ended. Raises what `re` does, `OutOfTimeError`."""
    if len(pattern) > expressions.LONGEST:
        with suppress(BenchmarkError):  # an invalid one, whose error is not told there, but below
            expressions.limited_ends(pattern, [""])
            return
    expressions.quietly(re.compile, pattern)


def _shown(pattern: str) -> str:
    return shortened(repr(pattern), _SHOWN)


def is_literal(pattern: str) -> bool:
    """Whether a pattern is literal text rather than a regular expression."""
    return not _SPECIAL.intersection(pattern)


def _patterns(rules: Sequence[Rule], where: str = "keywords") -> dict[str, str]:
    """Returns all patterns, each with the place of its first rule, such as `keywords[0].and[1]`."""
    places: dict[str, str] = {}
    for number, rule in enumerate(rules):
        place = f"{where}[{number}]"
        if rule.kind == "t":
            places.setdefault(rule.pattern, place)
        else:
            for pattern, part in _patterns(rule.parts, f"{place}.{rule.kind}").items():
                places.setdefault(pattern, part)
    return places


def _steps(rule: Rule, numbers: Mapping[str, int]) -> list[tuple[str, int]]:
    """Returns a rule in reverse Polish notation, as the native code expects it."""
    if rule.kind == "t":
        return [("t", numbers[rule.pattern])]
    steps = [step for part in rule.parts for step in _steps(part, numbers)]
    return [*steps, (rule.kind, len(rule.parts))]


class Helpfulness:
    """The rules of one question, ready for use.

    Native code searches for literal patterns and evaluates the rules; for regular expressions, positions
    are passed on. Most expressions are matched natively in linear time, the others (`backtracking`) by Python
    with a time limit. If units are words, native code sees coded text, so the positions of all patterns are
    passed: those of the words in which the matches end.

    `question_id`: what error messages call the question.
    """

    def __init__(
        self, rules: Sequence[Rule], settings: Settings, question_id: str | None = None
    ) -> None:
        self._rules = tuple(rules)
        self._settings = settings
        self._question_id = question_id
        self._in_words = settings.unit == "word"
        self._places = _patterns(self._rules)
        patterns = list(self._places)
        self._literals = [pattern for pattern in patterns if is_literal(pattern)]
        self._expressions = {p: _compiled(p) for p in patterns if not is_literal(p)}
        self._patterns = [*self._literals, *self._expressions]
        numbers = {p: i for i, p in enumerate(self._patterns)}
        literals = [] if self._in_words else self._literals
        self._others = len(patterns) - len(literals)
        steps = [(rule.importance, _steps(rule, numbers)) for rule in self._rules]
        self.native = _native.Rules(_native.Texts(literals), self._others, steps)

    @property
    def has_expressions(self) -> bool:
        """Whether `expression_ends` is needed."""
        return bool(self._others)

    @property
    def backtracking(self) -> dict[str, str]:
        """The patterns that only Python can match, with the places of their rules, such as `keywords[0]`."""
        return {p: self._places[p] for p, native in self._expressions.items() if native is None}

    def expression_ends(self, answers: Iterable[str], *, threads: int | None = 1) -> Ends:
        """Returns the end of the first match of each regular expression in each answer, or NOT_FOUND.

        If units are words, the literals come first. uint32, shape (answers, patterns). Raises
        `BenchmarkError`, naming question and rule, if Python takes too long to match one answer.
        """
        texts = list(answers)
        if self._in_words:
            return self._word_ends(texts, threads)
        ends = self._match_ends(texts, self._settings.max_length, threads)
        return np.where(ends == _native.UNKNOWN, np.uint32(_native.NOT_FOUND), ends)

    def _word_ends(self, answers: Sequence[str], threads: int | None) -> Ends:
        limit = self._settings.max_length
        texts, literals = _native.Texts(answers, threads), _native.Texts(self._literals)
        found = _native.word_ends(literals, texts, limit, threads)
        if not self._expressions:
            return found
        spans = [_native.word_spans(answer, limit + 1) for answer in answers]
        windows = [
            answer if len(of) <= limit else answer[: of[limit - 1][1]]
            for answer, of in zip(answers, spans, strict=True)
        ]
        ends = self._match_ends(windows, max(map(len, windows), default=0), threads)
        for row, of in zip(ends, spans, strict=True):
            starts = np.array([start for start, _ in of], dtype=np.uint32)
            row[:] = np.where(
                row == _native.UNKNOWN, _native.NOT_FOUND, np.searchsorted(starts, row)
            )
        return np.hstack([found, ends])

    def _match_ends(self, answers: list[str], limit: int, threads: int | None) -> Ends:
        """Returns where each expression's first match in `limit` characters ends, or `UNKNOWN`."""
        ends = np.empty((len(answers), len(self._expressions)), dtype=np.uint32)
        texts = _native.Texts(answers, threads)
        for column, (pattern, expression) in enumerate(self._expressions.items()):
            if expression is not None:
                ends[:, column] = expression.ends(texts, limit, threads)
            else:
                ends[:, column] = self._limited_ends(pattern, [text[:limit] for text in answers])
        return ends

    def _limited_ends(self, pattern: str, texts: Sequence[str]) -> NDArray[np.uint32]:
        try:
            return expressions.limited_ends(pattern, texts)
        except expressions.OutOfTimeError:
            question = "" if self._question_id is None else f"question {self._question_id}, "
            raise BenchmarkError(
                f"{question}{self._places[pattern]}: matching the regular expression {_shown(pattern)} "
                f"to one answer took longer than {expressions.TIME_LIMIT:g} seconds: write it "
                "without repetitions within repetitions"
            ) from None

    def ends_of_others(self, answer: str) -> list[int]:
        """Returns `expression_ends` of one answer."""
        return self.expression_ends([answer])[0].tolist() if self._others else []

    def ends(self, answer: str, others: Sequence[int] | None = None) -> dict[str, int]:
        """Returns the end of the first match of every pattern in one answer, or NOT_FOUND.

        `others`: its `ends_of_others`, if known.
        """
        others = self.ends_of_others(answer) if others is None else others
        literals = self.native.ends(self._settings.native, answer)
        return dict(zip(self._patterns, (*literals, *others), strict=True))

    def ends_of(self, answers: Sequence[str], others: Ends) -> dict[str, Ends]:
        """Returns for every pattern what `ends` has of each answer; `others`: their `expression_ends`."""
        literals = [self.native.ends(self._settings.native, answer) for answer in answers]
        count = len(self._patterns) - others.shape[1]
        found = np.array(literals, np.uint32).reshape(len(answers), count)
        return dict(zip(self._patterns, np.hstack([found, others]).T, strict=True))

    def evaluate(self, answer: str, coded: str | None = None) -> tuple[float, int]:
        """Returns the unrounded Helpfulness of one answer, and the largest cut that attains it.

        `coded`: the answer with one code point per unit, if that differs from the text.
        """
        text = answer if coded is None else coded
        return self.native.score(self._settings.native, text, self.ends_of_others(answer))

    def results(self, answer: str, coded: str) -> list[list[Any]]:
        """Returns the published `helpfulness_results` of one answer, given as for `evaluate`."""
        return self.missed(self.ends(answer), *self.evaluate(answer, coded))

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
        return [(rule, *_located(rule, ends)) for rule in self._rules]


def _compiled(pattern: str) -> _native.Expression | None:
    """Returns the native expression; `None` if the pattern means something else there, or is too large."""
    linear = expressions.linear_expression(pattern)
    return None if linear is None else _native.Expression.compile(linear)


def _located(rule: Rule, ends: Mapping[str, int]) -> tuple[str, int]:
    """Returns the label and position of a rule: those of the first part that decides it."""
    if rule.kind == "t":
        return rule.pattern if rule.name is None else rule.name, ends[rule.pattern]
    last = rule.kind == "and"
    label, position = _located(rule.parts[0], ends)
    for part in rule.parts[1:]:
        other = _located(part, ends)
        if other[1] > position if last else other[1] < position:
            label, position = other
    return label if rule.name is None else rule.name, position
