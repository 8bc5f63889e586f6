"""Rules for answers: the style of official documents, and what answers to one question must say.

Both are tables of TOML, whose patterns have the syntax of the Rust crate `regex`, which matches in time
linear in the text. Those of a style, `styles/ja.toml`, correct or reject answers to all questions. Sources:
Imajo et al. 2025, section 3.2.1 (responses are aligned with the official style by regular expressions), and
公用文作成の考え方, Agency for Cultural Affairs, 2022. Rules of one question (section 3.2.2) stand under its
id:

    [[Q01.rule]]
    name = "wrong-count"
    reason = "The hands meet 22 times."
    forbid = '1日に(?:11|23|24)回'

    [[Q01.rule]]
    name = "says-how-often"
    require = '22回'
"""

import hashlib
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, NoReturn, Self

from pfgen_rs import BenchmarkError, ConfigError, SettingsError, _native
from pfgen_rs.lazy import NDArray, np, pl
from pfgen_rs.metrics.languages import LANGUAGES
from pfgen_rs.references import steps

UNSTABLE = "unstable"
"""The reason for rejecting an answer on which the corrections do not converge."""

STYLES = (*LANGUAGES, "none")
"""Names of the styles: those of languages, and one without rules."""
_OWN = Path(__file__).with_name("styles")
_CORRECTING = ("correct", "translate")
_REJECTING = ("reject", "require", "repeats")
_STYLE_KEYS = ("name", "reason", *_CORRECTING, "by", *_REJECTING, "before", "after", "example")
_STYLE_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
# Kinds of rules of a question, as named in the file and by the native module.
_ANSWER_KINDS = {"forbid": "reject", "require": "require"}
_ANSWER_KEYS = ("name", "reason", *_ANSWER_KINDS)


class Rule(NamedTuple):
    """One rule; the first four fields are what the native module gets.

    Kinds: `correct` (matches of the regular expression `pattern` are replaced with `replacement`),
    `translate` (each character of `pattern` is replaced with the one at the same position in `replacement`),
    `reject` (texts that match are rejected), `require` (texts that do not match are rejected) and `repeats`
    (texts with two equal sentences ending in `pattern` are rejected). `examples` are pairs of a text and its
    corrected form, or `None` if the text is rejected.
    """

    name: str
    kind: str
    pattern: str
    replacement: str = ""
    reason: str = ""
    examples: tuple[tuple[str, str | None], ...] = ()

    @property
    def rejects(self) -> bool:
        """Whether the rule rejects texts rather than correcting them."""
        return self.kind in _REJECTING


class _Compiled:
    """Compiled rules; raises `BenchmarkError`, naming the file and the rule, for an invalid pattern."""

    def __init__(self, rules: Iterable[Rule], path: str | Path | None = None) -> None:
        self.rules = tuple(rules)
        try:
            self._native = _native.Corrections([rule[:4] for rule in self.rules])
        except BenchmarkError as error:
            raise BenchmarkError(error.problem, path=path) from None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.rules,)  # what is compiled stays in its process

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the rules (names, kinds, patterns and replacements, in order), in hexadecimal."""
        rules = json.dumps([rule[:4] for rule in self.rules], separators=(",", ":"))
        return hashlib.sha256(rules.encode()).hexdigest()


class AnswerRules(_Compiled):
    """The rules of one question, all of which reject."""

    def apply(self, answers: Any, *, threads: int | None = None) -> NDArray[np.int32]:
        """Returns the index of the first rule that each answer breaks, or -1; shape (answers,).

        `answers` is a list of `str` or any object with Arrow's PyCapsule interface. The result does not
        depend on `threads` (default: all cores). Raises `InputError`, naming the row, for a value that is
        not text.
        """
        return self._native.judge(_native.Texts(answers, threads), threads)


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


class Style(_Compiled):
    """The rules of a style.

    Matching corrections are applied to an answer in the order of the rules, repeatedly until nothing
    changes; an answer that still changes after 8 rounds is left unmodified and rejected as `unstable`. The
    rejecting rules are applied afterwards. Normalising is therefore idempotent.

    Time: linear in the number of characters, whatever the patterns.
    """

    @classmethod
    def standard(
        cls,
        extra: Iterable[str | Path] = (),
        without: Iterable[str] = (),
        language: str = "ja",
    ) -> Self:
        """Returns a language's style plus the rules of `extra` files, minus the rules named in `without`.

        `language`: one of `STYLES`; `none` has no rules.

        A rule with the name of an earlier rule replaces it in place; other rules are appended in the order
        of the files.
        """
        names = {"none": (), "ja": ("ja",)}.get(language, ("common", language))
        rules = dict[str, Rule]()
        for file in (*(_OWN / f"{name}.toml" for name in names), *extra):
            rules |= {rule.name: rule for rule in read_style(file)}
        for name in without:
            if name not in rules:
                raise SettingsError(f"unknown rule {name!r}: expected one of {', '.join(rules)}")
            del rules[name]
        return cls(rules.values())

    @cached_property
    def reasons(self) -> tuple[str, ...]:
        """Possible reasons for rejection: the names of the rejecting rules in order, then `unstable`."""
        return (*(rule.name for rule in self.rules if rule.rejects), UNSTABLE)

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
        # Indices of rules become those of reasons; that of `unstable` and -1 (no rule) follow.
        codes = np.cumsum([0, *(each.rejects for each in self.rules)], dtype=np.int32)
        return Normalised(pl.Series("answer", texts), np.append(codes, np.int32(-1))[rule], changed)


# Files of rules.


class _Table:
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

    def kind(self, kinds: Iterable[str], keys: Sequence[str]) -> str:
        """Returns which kind of rule it is; raises `BenchmarkError` unless it is one, and for other keys."""
        unknown = [key for key in self.data if key not in keys]
        if unknown:
            self.fail(f"unknown key {unknown[0]!r}: expected one of {', '.join(keys)}")
        present = [kind for kind in kinds if kind in self.data]
        if len(present) != 1:
            named = " and ".join(present) or "none"
            self.fail(f"expected exactly one of {', '.join(kinds)}, found {named}")
        return present[0]

    def text(self, key: str, default: str | None = None) -> str:
        """Returns a string value, which may only be empty if that is the default."""
        value = self.data.get(key, default)
        if not isinstance(value, str) or (not value and default is None):
            self.fail(f"{key} must be a non-empty string, not {value!r}")
        return value

    def texts(self, key: str) -> list[str]:
        """Returns a string or a list of strings as a list, empty if the key is missing."""
        value = self.data.get(key, [])
        values = [value] if isinstance(value, str) else value
        if not isinstance(values, list) or not all(isinstance(v, str) for v in values):
            self.fail(f"{key} must be a string or a list of strings, not {value!r}")
        return values


def read_answer_rules(path: str | Path) -> dict[str, AnswerRules]:
    """Read the rules of a file, by question id; raises the same errors as `parse_answer_rules`."""
    by_question = {}
    for question, table in _read_tables(path).items():
        if not isinstance(table, dict) or set(table) != {"rule"}:
            problem = f"{question}: expected only [[{question}.rule]] tables"
            raise BenchmarkError(problem, path=path)
        by_question[question] = parse_answer_rules(table["rule"], question, path=path)
    return by_question


def parse_answer_rules(
    tables: object, where: str, *, path: str | Path | None = None
) -> AnswerRules:
    """Parse the TOML tables in the list `rule` of a question.

    `where` (the question) and `path` (the file) are used in error messages. Raises `BenchmarkError`, naming
    them and the rule, for an unknown key, neither or both kinds, an invalid pattern, or a duplicate name.
    """
    if not isinstance(tables, list):
        raise BenchmarkError(f"{where}: expected a list of rules, not {tables!r}", path=path)
    rules = _parsed(tables, f"{where}: ", path, _answer_rule)
    try:
        return AnswerRules(rules)
    except BenchmarkError as error:
        raise BenchmarkError(f"{where}: {error.problem}", path=path) from None


def read_style(path: str | Path) -> list[Rule]:
    """Read the rules of a file, and check each against its examples.

    Raises `BenchmarkError`, naming the file and the rule, for an unknown key, an invalid pattern, a duplicate
    name, or an example that the rule on its own does not handle as stated.
    """
    data = _read_tables(path)
    tables = data.pop("rule", [])
    if data:
        raise BenchmarkError(
            f"unknown key {next(iter(data))!r}: expected [[rule]] tables", path=path
        )
    if not isinstance(tables, list) or not tables:
        raise BenchmarkError("no rules: add a [[rule]]", path=path)
    rules = _parsed(tables, "", path, _style_rule)
    for rule in rules:
        _check_examples(rule, path)
    return rules


def _read_tables(path: str | Path) -> dict[str, object]:
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise BenchmarkError(f"cannot read rules: {error}", path=path) from error
    except tomllib.TOMLDecodeError as error:
        raise BenchmarkError(f"invalid TOML: {error}", path=path) from error


def _parsed(
    tables: list[object], where: str, path: str | Path | None, parse: Callable[[_Table], Rule]
) -> list[Rule]:
    rules = [parse(_Table(table, path, f"{where}rule")) for table in tables]
    names = [rule.name for rule in rules]
    for name in names:
        if names.count(name) > 1:
            raise BenchmarkError(f"{where}duplicate rule {name!r}", path=path)
    return rules


def _answer_rule(table: _Table) -> Rule:
    kind = table.kind(_ANSWER_KINDS, _ANSWER_KEYS)
    pattern, reason = table.text(kind), table.text("reason", "")
    return Rule(table.text("name"), _ANSWER_KINDS[kind], pattern, reason=reason)


def _style_rule(table: _Table) -> Rule:
    kind, name = table.kind((*_CORRECTING, *_REJECTING), _STYLE_KEYS), table.text("name")
    if not _STYLE_NAME.fullmatch(name) or name == UNSTABLE:
        table.fail("the name must be lowercase words separated by hyphens")
    correcting = kind in _CORRECTING
    if correcting and "by" not in table.data:
        table.fail("missing key 'by' (the replacement)")
    unwanted = {"example"} if correcting else {"by", "before", "after"}
    if unwanted & table.data.keys():
        table.fail(f"{min(unwanted & table.data.keys())} cannot be combined with {kind}")
    examples, by = _examples(table, correcting), table.text("by", "")
    return Rule(name, kind, table.text(kind), by, table.text("reason"), examples)


def _examples(table: _Table, correcting: bool) -> tuple[tuple[str, str | None], ...]:
    if not correcting:
        rejected = table.texts("example")
        if not rejected:
            table.fail("missing key 'example' (a text that is rejected)")
        return tuple((text, None) for text in rejected)
    before, after = table.texts("before"), table.texts("after")
    if not before or len(before) != len(after):
        table.fail("before and after must hold the same number of texts, at least one")
    return tuple(zip(before, after, strict=True))


def _check_examples(rule: Rule, path: str | Path) -> None:
    """Raise `BenchmarkError` unless the rule on its own handles its examples as stated."""
    done = Style([rule], path).apply([text for text, _ in rule.examples])
    for (text, wanted), result, kept in zip(rule.examples, done.answers, done.kept, strict=True):
        if wanted is None and kept:
            problem = f"example {text!r} is not rejected"
        elif wanted is not None and not (kept and result == wanted):
            problem = f"example {text!r} becomes {result!r}, not {wanted!r}"
        else:
            continue
        raise BenchmarkError(f"rule {rule.name!r}: {problem}", path=path)


# The steps.


@dataclass(frozen=True)
class Normalise(steps.Step):
    """Style: additional rule files, names of rules to disable, and whose rules these are (see `STYLES`)."""

    no: ClassVar[str] = "its rules do not apply to these candidates"
    nearly: ClassVar[str] = "the style may not be meant for these candidates"

    extra: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    style: str = "ja"

    def __post_init__(self) -> None:
        if self.style not in STYLES:
            raise ConfigError(f"unknown style {self.style!r}: expected one of {', '.join(STYLES)}")

    def prepared(self, path: Callable[[str], Path]) -> Style:
        """Returns the style."""
        return Style.standard(map(path, self.extra), self.without, self.style)

    def key(self, context: steps.Context) -> Any:
        """The rules, wherever they come from."""
        return [context.examples, context.prepared.digest]

    def expected(self, report: steps.StepReport) -> bool:
        """Whether it has only corrected."""
        corrected = any(report.details["corrected"].values()) or self.style != "ja"
        return report.after == report.before and corrected

    def run(
        self, state: steps.State, context: steps.Context
    ) -> tuple[steps.State, steps.StepReport]:
        """Write a new pool, of the corrected answers that are not rejected."""
        style: Style = context.prepared
        changed, codes = dict[str, int](), [np.zeros(0, dtype=np.int32)]
        writer = steps.PoolWriter(context.folder)
        for frame in state.frames("answer", "source", "model"):
            result = style.apply(frame.get_column("answer"), threads=context.threads)
            for name, count in result.changed.items():
                changed[name] = changed.get(name, 0) + count
            codes.append(result.reason)
            writer.add(frame.with_columns(answer=result.answers).filter(pl.Series(result.kept)))
            context.progress(sum(map(len, codes)), state.height)
        writer.flush()
        after = steps.State(steps.Pool(context.folder), np.ones(writer.rows, dtype=np.bool_))
        removed = context.removed(state, style.reasons, np.concatenate(codes))
        details = {"style": style.digest, "corrected": dict(sorted(changed.items()))}
        return after, context.report(self.name, state, after, removed, **details)


@dataclass(frozen=True)
class Rules(steps.Step):
    """A TOML file of expressions that answers must or must not match, by question id."""

    no: ClassVar[str] = "no answer breaks a rule"
    nearly: ClassVar[str] = "check the rules"

    file: str = ""

    def prepared(self, path: Callable[[str], Path]) -> dict[str, AnswerRules]:
        """Returns the rules by question."""
        if not self.file:
            return {}
        if not path(self.file).exists():
            advice = "`pfgen-rs build suggest-rules` lists what rules may be needed for"
            problem = f"no such file: write it, or leave out rules.file; {advice}"
            raise ConfigError(problem, path=path(self.file))
        return read_answer_rules(path(self.file))

    def key(self, context: steps.Context) -> Any:
        """The question's own rules."""
        own = context.prepared.get(context.question_id)
        return [context.examples, own and own.digest]

    def expected(self, report: steps.StepReport) -> bool:
        """Whether the question has no rules."""
        return not report.details["rules"]

    def run(
        self, state: steps.State, context: steps.Context
    ) -> tuple[steps.State, steps.StepReport]:
        """Drop the answers that break a rule of the question."""
        own: AnswerRules = context.prepared.get(context.question_id) or AnswerRules(())
        names, codes = [rule.name for rule in own.rules], [np.zeros(0, dtype=np.int32)]
        for frame in state.frames("answer") if names else ():
            codes.append(own.apply(frame.get_column("answer"), threads=context.threads))
            context.progress(sum(map(len, codes)), state.height)
        broken = np.concatenate(codes) if names else np.full(state.height, -1)
        after, removed = state.narrowed(broken < 0), context.removed(state, names, broken)
        return after, context.report(self.name, state, after, removed, rules=names)
