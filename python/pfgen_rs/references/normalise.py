"""Bringing answers into the style of official Japanese documents, by correcting or rejecting them.

Source: Imajo et al. 2025, section 3.2.1 (responses are aligned with the official style by regular
expressions), and 公用文作成の考え方, Agency for Cultural Affairs, 2022. The rules are data: `style.toml`.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs import _native
from pfgen_rs.errors import BenchmarkError, SettingsError
from pfgen_rs.references.pool import Pool, PoolWriter, State
from pfgen_rs.references.rules import NativeRule, RuleTable, compiled, read_tables
from pfgen_rs.references.step import Context, StepReport, step

UNSTABLE = "unstable"
"""The reason for rejecting an answer on which the corrections do not converge."""

_CORRECTING = ("correct", "translate")
_REJECTING = ("reject", "require", "repeats")
_KEYS = ("name", "reason", *_CORRECTING, "by", *_REJECTING, "before", "after", "example")
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True)
class StyleRule:
    """One rule of a style.

    `kind` is `correct` (`pattern` is a regular expression in the syntax of the Rust crate `regex`, and
    matches are replaced with `replacement`), `translate` (each character of `pattern` is replaced with the
    one at the same position in `replacement`), `reject` (texts that match are rejected), `require` (texts
    that do not match are rejected) or `repeats` (texts with two equal sentences ending in `pattern` are
    rejected). `examples` are pairs of a text and its corrected form, or `None` if the text is rejected.
    """

    name: str
    reason: str
    kind: str
    pattern: str
    replacement: str
    examples: tuple[tuple[str, str | None], ...]

    @property
    def native(self) -> NativeRule:
        """The rule as passed to the native module."""
        return self.name, self.kind, self.pattern, self.replacement

    @property
    def rejects(self) -> bool:
        """Whether the rule rejects texts rather than correcting them."""
        return self.kind in _REJECTING


class Normalised(NamedTuple):
    """Normalised answers.

    `answers`: all corrected answers, including rejected ones, in input order. `reason`: int32, shape
    (answers,), the index into `Style.reasons` of the first rule that rejects an answer, or -1 if it is kept.
    `changed`: the number of answers changed by each correction.
    """

    answers: pl.Series
    reason: NDArray[np.int32]
    changed: dict[str, int]

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Which answers are not rejected."""
        return self.reason < 0


class Style:
    """Compiled style rules.

    Matching corrections are applied to an answer in the order of the rules, repeatedly until nothing
    changes; an answer that still changes after 8 rounds is left unmodified and rejected as `unstable`. The
    rejecting rules are applied afterwards. Normalising is therefore idempotent.

    Time: linear in the number of characters, whatever the patterns.
    """

    def __init__(self, rules: Iterable[StyleRule]) -> None:
        self.rules = tuple(rules)
        self._native = compiled(rule.native for rule in self.rules)
        self._codes = _reason_codes(self.rules)

    @classmethod
    def standard(cls, extra: Iterable[str | Path] = (), without: Iterable[str] = ()) -> Self:
        """Returns the standard style plus the rules of `extra` files, minus the rules named in `without`.

        A rule with the name of an earlier rule replaces it in place; other rules are appended in the order
        of the files.
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

    def __reduce__(self) -> tuple[Any, ...]:
        return Style, (self.rules,)  # what is compiled stays in its process

    @cached_property
    def reasons(self) -> tuple[str, ...]:
        """Possible reasons for rejection: the names of the rejecting rules in order, then `unstable`."""
        return (*(rule.name for rule in self.rules if rule.rejects), UNSTABLE)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the rules (names, kinds, patterns and replacements, in order), in hexadecimal."""
        rules = json.dumps([rule.native for rule in self.rules], separators=(",", ":"))
        return hashlib.sha256(rules.encode()).hexdigest()

    def apply(self, answers: Any, *, threads: int | None = None) -> Normalised:
        """Normalise a column of text: a list of `str`, or any object with Arrow's PyCapsule interface.

        The result does not depend on `threads` (default: all cores). Raises `InputError`, naming the row,
        for a value that is not text.
        """
        texts, rule, counts = self._native.correct(_native.Texts(answers, threads), threads)
        changed = {
            rule.name: count
            for rule, count in zip(self.rules, counts.tolist(), strict=True)
            if not rule.rejects
        }
        # An index of -1 (no rule) selects the last code.
        return Normalised(pl.Series("answer", texts), self._codes[rule], changed)


def read_style(path: str | Path) -> tuple[StyleRule, ...]:
    """Read the rules of a file, and check each against its examples.

    Raises `BenchmarkError`, naming the file and the rule, for an unknown key, an invalid pattern, a duplicate
    name, or an example that the rule on its own does not handle as stated.
    """
    data = read_tables(path)
    tables = data.pop("rule", [])
    if data:
        raise BenchmarkError(
            f"unknown key {next(iter(data))!r}: expected [[rule]] tables", path=path
        )
    if not isinstance(tables, list) or not tables:
        raise BenchmarkError("no rules: add a [[rule]]", path=path)
    rules = tuple(_parse_rule(RuleTable(table, path, "rule")) for table in tables)
    names = [rule.name for rule in rules]
    for name in names:
        if names.count(name) > 1:
            raise BenchmarkError(f"duplicate rule {name!r}", path=path)
    for rule in rules:
        _check_examples(rule, path)
    return rules


def _parse_rule(table: RuleTable) -> StyleRule:
    table.only(_KEYS)
    name = table.text("name")
    if not _NAME.fullmatch(name) or name == UNSTABLE:
        table.fail("the name must be lowercase words separated by hyphens")
    kind = table.one_of((*_CORRECTING, *_REJECTING))
    correcting = kind in _CORRECTING
    if correcting and "by" not in table.data:
        table.fail("missing key 'by' (the replacement)")
    unwanted = {"example"} if correcting else {"by", "before", "after"}
    if unwanted & table.data.keys():
        table.fail(f"{min(unwanted & table.data.keys())} cannot be combined with {kind}")
    return StyleRule(
        name=name,
        reason=table.text("reason"),
        kind=kind,
        pattern=table.text(kind),
        replacement=table.text("by", ""),
        examples=_parse_examples(table, correcting),
    )


def _parse_examples(table: RuleTable, correcting: bool) -> tuple[tuple[str, str | None], ...]:
    if not correcting:
        rejected = table.texts("example")
        if not rejected:
            table.fail("missing key 'example' (a text that is rejected)")
        return tuple((text, None) for text in rejected)
    before, after = table.texts("before"), table.texts("after")
    if not before or len(before) != len(after):
        table.fail("before and after must hold the same number of texts, at least one")
    return tuple(zip(before, after, strict=True))


def _check_examples(rule: StyleRule, path: str | Path) -> None:
    """Raise `BenchmarkError` unless the rule on its own handles its examples as stated."""
    alone = compiled([rule.native], path)
    texts = _native.Texts([text for text, _ in rule.examples])
    corrected, rejected, _ = alone.correct(texts, 1)
    results = zip(rule.examples, pl.Series(corrected).to_list(), rejected.tolist(), strict=True)
    for (text, wanted), result, code in results:
        if wanted is None and code != 0:
            problem = f"example {text!r} is not rejected"
        elif wanted is not None and (code >= 0 or result != wanted):
            problem = f"example {text!r} becomes {result!r}, not {wanted!r}"
        else:
            continue
        raise BenchmarkError(f"rule {rule.name!r}: {problem}", path=path)


def _reason_codes(rules: Sequence[StyleRule]) -> NDArray[np.int32]:
    """Map native rule indices to indices into `Style.reasons`, followed by those of `unstable` and of -1."""
    codes = np.cumsum([0, *(rule.rejects for rule in rules)], dtype=np.int32)
    return np.append(codes, np.int32(-1))


@dataclass(frozen=True)
class Normalise:
    """Style: additional rule files, and names of rules to disable."""

    extra: tuple[str, ...] = ()
    without: tuple[str, ...] = ()


def _style(options: Normalise, path: Callable[[str], Path]) -> Style:
    return Style.standard(map(path, options.extra), options.without)


@step(
    "normalise",
    Normalise,
    place=10,
    prepared=_style,
    key=lambda style, _, context: [context.examples, style.digest],
    no="its rules do not apply to these candidates",
    nearly="the style may not be meant for these candidates",
    expected=lambda report: (
        report.after == report.before and any(report.details["corrected"].values())
    ),
    must_come="first",  # it changes texts
    text_only=True,
)
def _step(state: State, style: Style, context: Context) -> tuple[State, StepReport]:
    removals, changed = context.removals(), dict[str, int]()
    writer = PoolWriter(context.folder)
    done = 0
    for frame in state.frames("answer", "source", "model"):
        answers = frame.get_column("answer")
        result = style.apply(answers, threads=context.threads)
        for name, count in result.changed.items():
            changed[name] = changed.get(name, 0) + count
        removals.add_rows(style.reasons, result.reason, answers)
        writer.add(frame.with_columns(answer=result.answers).filter(pl.Series(result.kept)))
        done += frame.height
        context.progress(done, state.height)
    writer.flush()
    after = State(Pool(context.folder), np.ones(writer.rows, dtype=np.bool_))
    details = {"style": style.digest, "corrected": dict(sorted(changed.items()))}
    return after, context.report("normalise", state, after, removals, **details)
