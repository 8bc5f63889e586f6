"""Helpfulness: keyword rules, parsed once and evaluated over columns of keyword positions.

Source: Imajo et al. 2025, section 3.3.3, and the published rules. A rule finds a position (code points up to
the end of what satisfies it) and a label; a response cut before that position misses the rule.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pfgen_rs import _native
from pfgen_rs.errors import BenchmarkError
from pfgen_rs.settings import Settings

__all__ = ["Helpfulness", "Positions", "Rule", "parse_rules"]

Positions = NDArray[np.int64]

_SPECIAL = frozenset(r"\.^$*+?{}[]|()")
_KEYS = {"t", "and", "or", "name", "importance"}
# Evaluation recurses, and the interpreter's stack is not to decide how far.
_DEEPEST = 100
_SHOWN = 60


@dataclass(frozen=True)
class Rule:
    """One rule: `kind` is `t` (a pattern), `and` or `or` (of `parts`)."""

    kind: str
    pattern: str
    parts: tuple[Rule, ...]
    name: str | None
    importance: float


class Cuts(NamedTuple):
    """Per response: the best value and the largest cut that attains it."""

    value: NDArray[np.float64]
    cut: Positions


def parse_rules(keywords: object) -> tuple[Rule, ...]:
    """Rules of a question file's `keywords`.

    Raises `BenchmarkError` that names the rule for anything that is no rule, an unusable regular
    expression, an importance outside 0…1, or rules within rules over 100 levels deep.
    """
    if not isinstance(keywords, list):
        raise BenchmarkError(f"keywords must be a list of rules, not {type(keywords).__name__}")
    return tuple(_parse(rule, f"keywords[{i}]") for i, rule in enumerate(keywords))


def _parse(rule: object, where: str, depth: int = 1) -> Rule:
    if depth > _DEEPEST:
        raise BenchmarkError(
            f"{where[:_SHOWN]}…: rules lie within rules over {_DEEPEST} levels deep"
        )
    if not isinstance(rule, dict):
        raise BenchmarkError(f"{where}: a rule is an object, not {rule!r}")
    kinds = [kind for kind in ("t", "and", "or") if kind in rule]
    if len(kinds) != 1 or set(rule) - _KEYS:
        raise BenchmarkError(
            f"{where}: unknown rule {rule!r}: it needs exactly one of 't', 'and' and 'or', "
            "and may have 'name' and 'importance'"
        )
    kind = kinds[0]
    name = _parse_name(rule.get("name"), where)
    importance = _parse_importance(rule.get("importance", 1.0), where)
    if kind == "t":
        return Rule(kind, _parse_pattern(rule["t"], where), (), name, importance)
    parts = rule[kind]
    if not isinstance(parts, list) or not parts:
        raise BenchmarkError(f"{where}: '{kind}' needs a list of rules, not {parts!r}")
    parsed = tuple(_parse(part, f"{where}.{kind}[{i}]", depth + 1) for i, part in enumerate(parts))
    return Rule(kind, "", parsed, name, importance)


def _parse_name(name: object, where: str) -> str | None:
    if name is None:
        return None
    if not isinstance(name, str):
        raise BenchmarkError(f"{where}: the name must be text, not {name!r}")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise BenchmarkError(f"{where}: the name holds a lone surrogate: {name!r}") from None
    return name


def _parse_importance(importance: object, where: str) -> float:
    if isinstance(importance, bool) or not isinstance(importance, int | float):
        raise BenchmarkError(f"{where}: the importance must be a number, not {importance!r}")
    if not 0 <= importance <= 1:
        raise BenchmarkError(f"{where}: the importance must lie in 0…1, not {importance!r}")
    return float(importance)


def _parse_pattern(pattern: object, where: str) -> str:
    if not isinstance(pattern, str):
        raise BenchmarkError(f"{where}: the pattern must be text, not {pattern!r}")
    try:
        pattern.encode()
        re.compile(pattern)
    except UnicodeEncodeError:
        raise BenchmarkError(f"{where}: the pattern holds a lone surrogate: {pattern!r}") from None
    except (re.error, RecursionError, OverflowError) as error:
        raise BenchmarkError(
            f"{where}: {pattern!r} is no valid regular expression: {error}"
        ) from None
    return pattern


def _is_literal(pattern: str) -> bool:
    return not _SPECIAL.intersection(pattern)


def _patterns(rules: Sequence[Rule]) -> list[str]:
    own = (([rule.pattern] if rule.kind == "t" else _patterns(rule.parts)) for rule in rules)
    return list(dict.fromkeys(pattern for patterns in own for pattern in patterns))


class Helpfulness:
    """The rules of one question, ready for batches."""

    def __init__(self, rules: Sequence[Rule], settings: Settings) -> None:
        self._rules = tuple(rules)
        self._settings = settings
        # No cut is longer than the zero length.
        cuts = range(settings.zero_length + 1)
        self._discounts = np.array([settings.discount(cut) for cut in cuts])
        patterns = _patterns(self._rules)
        self._literals = [pattern for pattern in patterns if _is_literal(pattern)]
        self._expressions = {p: re.compile(p) for p in patterns if not _is_literal(p)}
        self._finder = _native.Literals(_native.Texts(self._literals))

    def pattern_ends(
        self,
        texts: _native.Texts,
        rows: NDArray[np.int64] | None = None,
        threads: int | None = None,
    ) -> dict[str, Positions]:
        """End of the first match of each pattern in each row, 9999 where there is none.

        Literals are searched natively in one pass, real expressions by `re`, a response at a time.
        """
        limit = self._settings.max_length
        ends = self._finder.ends(texts, limit, rows, threads).astype(np.int64)
        found = {pattern: ends[:, i] for i, pattern in enumerate(self._literals)}
        wanted = range(len(texts)) if rows is None else rows.tolist()
        for pattern, expression in self._expressions.items():
            matches = (expression.search(texts[row][:limit]) for row in wanted)
            values = [_native.NOT_FOUND if match is None else match.end() for match in matches]
            found[pattern] = np.array(values, dtype=np.int64)
        return found

    def evaluate(self, ends: Mapping[str, Positions], lengths: Positions) -> Cuts:
        """Unrounded Helpfulness and its cut from the patterns' ends and the responses' lengths."""
        positions = [self._position(rule, ends)[0] for rule in self._rules]
        read = np.minimum(lengths, self._settings.max_length)
        if self._settings.variant == "paper":
            return self._evaluate_paper(positions, read)
        return self._evaluate_published(positions, read)

    def missed(self, ends: Mapping[str, Positions], value: float, cut: int) -> list[list[Any]]:
        """The published `helpfulness_results` of the one response that the columns hold."""
        missed = []
        for rule in self._rules:
            positions, label = self._position(rule, ends)
            if cut < positions[0]:
                missed.append([label, 1 - rule.importance])
        excess = cut - self._settings.target_length
        if excess > 0 and value > 0 and self._settings.variant == "pfgen-bench":
            missed.append([f"{excess}字超過", self._settings.discount(cut)])
        return missed

    def positions(self, ends: Mapping[str, Positions]) -> list[tuple[Rule, str, int]]:
        """Each rule with its label and position, for the one response that the columns hold."""
        found = []
        for rule in self._rules:
            positions, label = self._position(rule, ends)
            found.append((rule, label, int(positions[0])))
        return found

    def _position(self, rule: Rule, ends: Mapping[str, Positions]) -> tuple[Positions, str]:
        """Positions of one rule in every response, and its label in the first one.

        Labels are wanted for single responses only, so the label follows row 0.
        """
        if rule.kind == "t":
            return ends[rule.pattern], rule.pattern if rule.name is None else rule.name
        parts = [self._position(part, ends) for part in rule.parts]
        stacked = np.stack([positions for positions, _ in parts])
        pick = np.argmax if rule.kind == "and" else np.argmin
        chosen = int(pick(stacked[:, 0])) if stacked.shape[1] else 0
        merged = stacked.max(axis=0) if rule.kind == "and" else stacked.min(axis=0)
        return merged, parts[chosen][1] if rule.name is None else rule.name

    def _evaluate_published(self, positions: Sequence[Positions], read: Positions) -> Cuts:
        """Best of the cuts that can be best: the target length, the end, and each rule's position.

        Between those the product of missed rules stays and the discount only falls.
        """
        target, zero = self._settings.target_length, self._settings.zero_length
        last = np.minimum(read, zero)
        candidates = [np.minimum(read, target), last]
        candidates += [np.where(p <= last, np.maximum(p, candidates[0]), last) for p in positions]
        best, best_cut = np.full(len(read), -1.0), np.zeros(len(read), dtype=np.int64)
        for cut in candidates:
            value = self._discounts[cut]
            for rule, position in zip(self._rules, positions, strict=True):
                value = np.where(cut < position, value * (1 - rule.importance), value)
            better = (value > best) | ((value == best) & (cut > best_cut))
            best, best_cut = np.where(better, value, best), np.where(better, cut, best_cut)
        return Cuts(best, best_cut)

    def _evaluate_paper(self, positions: Sequence[Positions], read: Positions) -> Cuts:
        """Share of the rules met, weighted by importance; past the target length the best discounted cut."""
        target, zero = self._settings.target_length, self._settings.zero_length
        last = np.minimum(read, zero)
        first = np.minimum(read, target)
        best, best_cut = np.full(len(read), -1.0), np.zeros(len(read), dtype=np.int64)
        total = 0.0
        for rule in self._rules:
            total += rule.importance
        for cut in [first, *(np.where(p <= last, np.maximum(p, first), first) for p in positions)]:
            met = np.zeros(len(read))
            for rule, position in zip(self._rules, positions, strict=True):
                met = met + np.where(position <= cut, rule.importance, 0.0)
            share = met / total if total else np.ones(len(read))
            value = np.maximum(self._discounts[cut], 0.0) * share
            better = value > best
            best, best_cut = np.where(better, value, best), np.where(better, cut, best_cut)
        return Cuts(best, best_cut)
