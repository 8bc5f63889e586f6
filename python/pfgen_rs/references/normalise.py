"""Answers brought to the style of official Japanese documents: corrections and rejections.

Source: Imajo et al. 2025, section 3.2.1 (responses are aligned with the official style by regular
expressions), and 公用文作成の考え方, Agency for Cultural Affairs, 2022. The rules are data: `style.toml`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs import _native
from pfgen_rs.errors import BenchmarkError, SettingsError
from pfgen_rs.references.rule_tables import NativeRule, RuleTable, compiled, read_tables

__all__ = ["UNSTABLE", "Normalised", "Style", "StyleRule", "normalise", "read_style"]

UNSTABLE = "unstable"
"""Why an answer is rejected that corrections would change for ever."""

_CORRECTING = ("correct", "translate")
_REJECTING = ("reject", "require", "repeats")
_KEYS = ("name", "reason", *_CORRECTING, "by", *_REJECTING, "before", "after", "example")
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True)
class StyleRule:
    """One rule of a style.

    `kind` is `correct` (a regular expression in the syntax of the Rust crate `regex`, replaced by
    `replacement`), `translate` (characters, each replaced by the one at its place in `replacement`),
    `reject` (rejects texts in which it is found), `require` (in which it is not found) or `repeats` (with two
    equal sentences, closed by it). `examples` are pairs: a text and what becomes of it, `None` where the
    text is rejected.
    """

    name: str
    reason: str
    kind: str
    pattern: str
    replacement: str
    examples: tuple[tuple[str, str | None], ...]

    @property
    def native(self) -> NativeRule:
        """The rule as the native side takes it."""
        return self.name, self.kind, self.pattern, self.replacement

    @property
    def rejects(self) -> bool:
        """Whether it rejects, rather than corrects."""
        return self.kind in _REJECTING


class Normalised(NamedTuple):
    """Answers in a style.

    `answers`: all of them in the order given, corrected; those that are rejected, too. `reason`: int32, shape
    (answers), the index into `Style.reasons` of the first rule that rejects an answer, -1 for those that are
    kept. `changed`: for each correction, how many answers it changed.
    """

    answers: pl.Series
    reason: NDArray[np.int32]
    changed: dict[str, int]

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Which answers no rule rejects."""
        return self.reason < 0


class Style:
    """Rules, ready for use.

    Corrections whose patterns an answer has are applied in the order of the rules, again and again until
    nothing changes; an answer that still changes after 8 rounds is left as it was and rejected as
    `unstable`. Then the rejections look at it. So normalising what is normalised changes nothing.

    Time: linear in the characters, whatever the patterns.
    """

    def __init__(self, rules: Iterable[StyleRule]) -> None:
        self.rules = tuple(rules)
        self._native = compiled(rule.native for rule in self.rules)
        self._codes = _codes(self.rules)

    @classmethod
    def standard(cls, extra: Iterable[str | Path] = (), without: Iterable[str] = ()) -> Style:
        """The standard style, with the rules of further files, without those of some names.

        A rule of a file replaces the one of the same name before it and takes its place; others follow in
        the order of the files.
        """
        with resources.as_file(resources.files(__package__) / "style.toml") as path:
            rules = {rule.name: rule for rule in read_style(path)}
        for file in extra:
            rules |= {rule.name: rule for rule in read_style(file)}
        for name in without:
            if name not in rules:
                raise SettingsError(f"unknown rule {name!r}: expected one of {', '.join(rules)}")
            del rules[name]
        return cls(rules.values())

    @cached_property
    def reasons(self) -> tuple[str, ...]:
        """Why an answer may be rejected: names of rules in their order, then `unstable`."""
        return (*(rule.name for rule in self.rules if rule.rejects), UNSTABLE)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of what the rules do (names, kinds, patterns, replacements, in order), in hexadecimal."""
        rules = json.dumps([rule.native for rule in self.rules], separators=(",", ":"))
        return hashlib.sha256(rules.encode()).hexdigest()

    def apply(self, answers: Any, *, threads: int | None = None) -> Normalised:
        """Normalise a column of text: a list of `str`, or anything with Arrow's PyCapsule interface.

        The result does not depend on `threads` (default: all cores). `InputError` names the row that is no
        text.
        """
        texts, rule, counts = self._native.correct(_native.Texts(answers, threads), threads)
        changed = {
            rule.name: count
            for rule, count in zip(self.rules, counts.tolist(), strict=True)
            if not rule.rejects
        }
        # The last code serves -1, which no rule has.
        return Normalised(pl.Series("answer", texts), self._codes[rule], changed)


def normalise(
    answers: Any,
    *,
    extra: Iterable[str | Path] = (),
    without: Iterable[str] = (),
    threads: int | None = None,
) -> Normalised:
    """Answers in the standard style; `extra` and `without` as in `Style.standard`."""
    return Style.standard(extra, without).apply(answers, threads=threads)


def read_style(path: str | Path) -> tuple[StyleRule, ...]:
    """The rules of a file, each checked against its examples.

    Raises `BenchmarkError` that names the file and the rule: for a key that does not exist, a pattern that
    is none, two rules of one name, or an example that the rule by itself does not treat as it says.
    """
    data = read_tables(path)
    tables = data.pop("rule", [])
    if data:
        raise BenchmarkError(
            f"unknown key {next(iter(data))!r}: expected [[rule]] tables", path=path
        )
    if not isinstance(tables, list) or not tables:
        raise BenchmarkError("no rules: add a [[rule]]", path=path)
    rules = tuple(_rule(RuleTable(table, path, "rule")) for table in tables)
    names = [rule.name for rule in rules]
    for name in names:
        if names.count(name) > 1:
            raise BenchmarkError(f"duplicate rule {name!r}", path=path)
    for rule in rules:
        _check_examples(rule, path)
    return rules


def _rule(table: RuleTable) -> StyleRule:
    table.only(_KEYS)
    name = table.text("name")
    if not _NAME.fullmatch(name) or name == UNSTABLE:
        table.fail("the name must be lower-case words with hyphens between them")
    kind = table.one_of((*_CORRECTING, *_REJECTING))
    correcting = kind in _CORRECTING
    if correcting and "by" not in table.data:
        table.fail("missing key 'by': the replacement")
    unwanted = {"example"} if correcting else {"by", "before", "after"}
    if unwanted & table.data.keys():
        table.fail(f"{min(unwanted & table.data.keys())} cannot be combined with {kind}")
    return StyleRule(
        name=name,
        reason=table.text("reason"),
        kind=kind,
        pattern=table.text(kind),
        replacement=table.text("by", ""),
        examples=_examples(table, correcting),
    )


def _examples(table: RuleTable, correcting: bool) -> tuple[tuple[str, str | None], ...]:
    if not correcting:
        rejected = table.texts("example")
        if not rejected:
            table.fail("missing example: a text that is rejected")
        return tuple((text, None) for text in rejected)
    before, after = table.texts("before"), table.texts("after")
    if not before or len(before) != len(after):
        table.fail("missing examples: as many texts before as after")
    return tuple(zip(before, after, strict=True))


def _check_examples(rule: StyleRule, path: str | Path) -> None:
    """Raise `BenchmarkError` unless the rule by itself does what its examples say."""
    alone = compiled([rule.native], path)
    texts = _native.Texts([text for text, _ in rule.examples])
    corrected, rejected, _ = alone.correct(texts, 1)
    results = zip(rule.examples, pl.Series(corrected).to_list(), rejected.tolist(), strict=True)
    for (text, wanted), result, code in results:
        if wanted is None and code != 0:
            problem = f"its example {text!r} is not rejected"
        elif wanted is not None and (code >= 0 or result != wanted):
            problem = f"its example {text!r} becomes {result!r}, not {wanted!r}"
        else:
            continue
        raise BenchmarkError(f"rule {rule.name!r}: {problem}", path=path)


def _codes(rules: Sequence[StyleRule]) -> NDArray[np.int32]:
    """For the native index of a rule its index in `Style.reasons`; then those of `unstable` and of -1."""
    codes = np.cumsum([0, *(rule.rejects for rule in rules)], dtype=np.int32)
    return np.append(codes, np.int32(-1))
