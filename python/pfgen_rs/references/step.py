"""Steps of a build: their registry, what they get and what they report.

A step is a function that narrows the answers to a question. The decorator `step` registers it, with all that
is known of it: its section of the configuration, its place in the order, what its result depends on, and
what to advise if it removes nothing or nearly everything. Pipeline and configuration read the registry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs.errors import BuildError, ConfigError
from pfgen_rs.metrics import units
from pfgen_rs.metrics.units import Unit
from pfgen_rs.references.pool import Batches, Mask, State

NEARLY = 0.95
"""Share of the answers from which a step removes nearly all."""
_SHOWN = 3  # ids of questions

Extreme = Literal["no", "nearly all"]
Run = Callable[[State, Any, "Context"], tuple[State, "StepReport"]]


# The registry.


@dataclass(frozen=True)
class Step:
    """A registered step; see `step`."""

    name: str
    place: int
    options: type
    run: Run
    prepared: Callable[[Any, Callable[[str], Path]], Any]
    key: Callable[[Any, State, Context], Any]
    needs: Callable[[Any, int], int]
    advice: Mapping[Extreme, str]
    expected: Callable[[StepReport], bool]
    must_come: Literal["", "first", "last"]
    text_only: bool


STEPS: dict[str, Step] = {}
"""All steps by name, in the order in which a build takes them."""


def _as_configured(options: Any, path: Callable[[str], Path]) -> Any:
    del path
    return options


def _settings(options: Any, state: State, context: Context) -> Any:
    del state
    return [context.unit, context.examples, asdict(options)]


def step(
    name: str,
    options: type,
    *,
    place: int,
    prepared: Callable[[Any, Callable[[str], Path]], Any] = _as_configured,
    key: Callable[[Any, State, Context], Any] = _settings,
    needs: Callable[[Any, int], int] = lambda _, after: after,
    no: str = "",
    nearly: str = "",
    expected: Callable[[StepReport], bool] = lambda _: False,
    must_come: Literal["", "first", "last"] = "",
    text_only: bool = False,
) -> Callable[[Run], Run]:
    """Register a step of this name.

    `options`: the dataclass of its section in the configuration. `place`: where it stands among the others.
    `prepared(options, path)` reads the files that options name, once for all questions; the result is what
    the step is called with (default: the options). `key(prepared, state, context)`: everything besides the
    answers that the result depends on, as JSON, so that finished work can be reused. `needs(options, after)`:
    how many answers must be there so that `after` are left. `no` and `nearly`: advice for users if the step
    removes no or nearly all answers, unless `expected(report)`; without advice nothing is said. `must_come`:
    whether it is only allowed as the first or the last step; `text_only`: whether it cannot read tokens.
    """

    def register(run: Run) -> Run:
        said: dict[Extreme, str] = {"no": no, "nearly all": nearly}
        advice = {extreme: text for extreme, text in said.items() if text}
        STEPS[name] = Step(
            name, place, options, run, prepared, key, needs, advice, expected, must_come, text_only
        )
        ordered = sorted(STEPS.values(), key=lambda each: each.place)
        STEPS.clear()
        STEPS.update((each.name, each) for each in ordered)
        return run

    return register


def check_least(options: object, **least: int) -> None:
    """Raise `ConfigError` for an option below its least value; `None` is no value."""
    for name, value in least.items():
        given = getattr(options, name)
        if given is not None and given < value:
            raise ConfigError(f"{name} must be at least {value}, not {given}")


# What a step gets.


class StepProgress(Protocol):
    """Called with the amount done of a step, the total amount (0 if unknown), and a short status."""

    def __call__(self, done: float, total: float, standing: str = "") -> None:
        """Report progress; an exception ends the step."""


@dataclass(frozen=True)
class Context:
    """What a step gets besides the answers and its settings.

    `examples`: how many removed answers to report for each reason. `target`: the length in units that
    answers should have. `needed`: how many answers of a source must be left for the steps that follow (0
    without a selection). `folder`: where the step writes a new pool.
    """

    question_id: str
    unit: Unit
    seed: int
    examples: int
    target: int
    needed: int
    folder: Path
    memory: int
    threads: int
    progress: StepProgress

    def report(
        self, name: str, before: State, after: State, removals: Removals, **details: Any
    ) -> StepReport:
        """Returns the report of a step; raises `BuildError` if a single rule removed everything."""
        report = StepReport(name, before.height, after.height, removals.sorted(), details)
        _refuse_removing_everything(self.question_id, report)
        return report

    def removals(self) -> Removals:
        """Returns an empty counter of removals."""
        return Removals(self.examples)

    def removed(self, state: State, mask: Mask, reason: str) -> Removals:
        """Returns the removal of the answers for which `mask` is true, all for the same reason."""
        removals = self.removals()
        removals.add(reason, self._first(state, mask), int(np.count_nonzero(mask)))
        return removals

    def _first(self, state: State, mask: Mask) -> list[str]:
        """Returns the first few answers for which `mask` is true."""
        first: list[str] = []
        at = 0
        for frame in state.frames("answer"):
            rows = np.flatnonzero(mask[at : at + frame.height])[: self.examples - len(first)]
            first += map(str, frame.get_column("answer")[rows].to_list())
            at += frame.height
            if len(first) >= self.examples:
                break
        return first

    def coded(self, state: State) -> Batches:
        """Returns the remaining answers with one code point per unit; words are read into memory."""
        answers = state.batches("answer")
        if self.unit == "character":
            return answers
        coder = units.coder(self.unit, *(answers() if self.unit == "word" else ()))
        return lambda: (coder.encode(column, self.threads) for column in answers())

    def column(self, state: State) -> pl.Series:
        """Returns the remaining answers, coded, in one column: for steps that few rows reach."""
        return joined(self.coded(state))


def joined(batches: Batches) -> pl.Series:
    """Returns a column in one piece."""
    columns = list(batches())
    return pl.concat(columns) if columns else pl.Series(dtype=pl.String)


def by_source(
    state: State, keep: Callable[[State], tuple[Mask, Mapping[str, Any]]]
) -> tuple[Mask, dict[str, Mapping[str, Any]]]:
    """Filter the answers of each source by themselves; returns a mask of all, and details by source."""
    kept, details = np.zeros(state.height, dtype=np.bool_), {}
    for source, own in state.by_source().items():
        kept[own], details[source] = keep(state.narrowed(own))
    return kept, details


# What a step reports.


@dataclass(frozen=True)
class Removed:
    """Answers removed for the same reason: the reason, their number, and the first few of them."""

    reason: str
    count: int
    examples: list[str]


@dataclass(frozen=True)
class StepReport:
    """The report of one step for one question; `models`: remaining answers by model."""

    step: str
    before: int
    after: int
    removed: list[Removed] = field(default_factory=list)
    details: Mapping[str, Any] = field(default_factory=dict)
    models: Mapping[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Convert to a dict for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of `to_dict`."""
        removed = [Removed(**each) for each in data["removed"]]
        return cls(**{**data, "removed": removed})


class Removals:
    """Counts removed answers by reason, and keeps the first examples of each."""

    def __init__(self, examples: int) -> None:
        self._examples = examples
        self._counts: dict[str, int] = {}
        self._shown: dict[str, list[str]] = {}

    def add(self, reason: str, answers: Sequence[str], count: int) -> None:
        """Add `count` removed answers; `answers` holds the first of them."""
        if count:
            self._counts[reason] = self._counts.get(reason, 0) + count
            shown = self._shown.setdefault(reason, [])
            shown.extend(answers[: self._examples - len(shown)])

    def add_rows(self, reasons: Sequence[str], rows: NDArray[np.int32], answers: pl.Series) -> None:
        """Add the rows that have the index of a reason; the others have -1."""
        counts = np.bincount(rows[rows >= 0], minlength=len(reasons))
        for number in np.flatnonzero(counts).tolist():
            reason = reasons[number]
            missing = self._examples - len(self._shown.get(reason, []))
            first = np.flatnonzero(rows == number)[:missing]
            self.add(reason, answers[first].to_list(), int(counts[number]))

    def sorted(self) -> list[Removed]:
        """Returns all removals by descending count, then by reason."""
        order = sorted(self._counts.items(), key=lambda item: (-item[1], item[0]))
        return [Removed(reason, count, self._shown[reason]) for reason, count in order]


def funnel(candidates: int, reports: Iterable[StepReport]) -> str:
    """Format the counts as one line: `7,000 candidates, normalise 3,120, rules 3,000`."""
    steps = [f"{report.step} {report.after:,}" for report in reports]
    return ", ".join([f"{candidates:,} candidates", *steps])


def _refuse_removing_everything(question_id: str, report: StepReport) -> None:
    removed = report.removed
    if removed and report.before and removed[0].count == report.before:
        hint = " (the standard style is meant for Japanese text)" * (report.step == "normalise")
        raise BuildError(
            f"question {question_id}: {report.step}: {removed[0].reason!r} removes all "
            f"{report.before:,} answers, such as {removed[0].examples[:1]}{hint}: change or disable that rule"
        )


def step_warnings(reports: Mapping[str, Sequence[StepReport]]) -> list[str]:
    """Returns a sentence for each step that removes nothing or nearly all answers to some questions.

    `reports`: those of each question, by its id.
    """
    concerned: dict[tuple[str, Extreme], list[str]] = {}
    for question_id, steps in reports.items():
        for report in steps:
            for extreme in _extremes(report):
                concerned.setdefault((report.step, extreme), []).append(question_id)
    return [
        f"{name} removes {extreme} answers to {_questions(ids, len(reports))}: "
        f"{STEPS[name].advice[extreme]}"
        for (name, extreme), ids in concerned.items()
    ]


def _extremes(report: StepReport) -> Iterator[Extreme]:
    registered = STEPS[report.step]
    if not report.before or registered.expected(report):
        return
    removed = report.before - report.after
    extreme: Extreme = "no" if not removed else "nearly all"
    if extreme in registered.advice and (not removed or removed > NEARLY * report.before):
        yield extreme


def _questions(ids: Sequence[str], total: int) -> str:
    shown = ", ".join(ids[:_SHOWN]) + ", …" * (len(ids) > _SHOWN)
    return f"{len(ids)} of {total} question{'s' * (total != 1)} ({shown})"
