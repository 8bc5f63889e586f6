"""The steps of a build for one question, each of which reduces the question's pool."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs.metrics import units
from pfgen_rs.metrics.settings import Settings
from pfgen_rs.references.batches import Batches
from pfgen_rs.references.config import BuildConfig
from pfgen_rs.references.consensus import consensus
from pfgen_rs.references.duplicates import duplicates
from pfgen_rs.references.funnel import Removals, StepReport
from pfgen_rs.references.lengths import Lengths, length_spread, nearest_length
from pfgen_rs.references.ng_rules import AnswerRules
from pfgen_rs.references.normalise import Style
from pfgen_rs.references.pool import Pool, PoolWriter, State
from pfgen_rs.references.selection import select
from pfgen_rs.references.singletons import singletons
from pfgen_rs.references.step_reports import (
    DUPLICATE,
    length_details,
    length_reason,
    refuse_removing_everything,
    singletons_reason,
)

__all__ = ["STEPS", "Context", "Step"]

Mask = NDArray[np.bool_]


class StepProgress(Protocol):
    """Called with the amount done of a step, the total amount (0 if unknown), and a short status."""

    def __call__(self, done: float, total: float, standing: str = "") -> None:
        """Report progress; an exception ends the step."""


_TENTHS = 10


@dataclass(frozen=True)
class Context:
    """What steps need besides the state. `folder` is where a step writes a new pool."""

    config: BuildConfig
    question_id: str
    style: Style
    rules: Mapping[str, AnswerRules]
    folder: Path
    memory: int
    threads: int
    progress: StepProgress

    def report(
        self, step: str, before: State, after: State, removals: Removals, **details: Any
    ) -> StepReport:
        """Returns the report of a step; raises `BuildError` if a single rule removed everything."""
        found = StepReport(step, before.height, after.height, removals.sorted(), details)
        refuse_removing_everything(self.question_id, found)
        return found

    def removals(self) -> Removals:
        """Returns an empty counter of removals."""
        return Removals(self.config.examples)

    def spreads(self, state: State) -> dict[str, Lengths]:
        """Returns the spread of the lengths in units of what remains, by source."""
        return {
            source: length_spread(self.coded(state.narrowed(own)), threads=self.threads)
            for source, own in state.by_source().items()
        }

    def coded(self, state: State) -> Batches:
        """Returns the remaining answers with one code point per unit; words are read into memory."""
        unit = self.config.unit
        if unit == "character":
            return state.batches("answer")
        answers = state.batches("answer")
        coder = units.coder(unit, *(answers() if unit == "word" else ()))
        return lambda: (coder.encode(column, self.threads) for column in answers())


Step = Callable[[State, Context], tuple[State, StepReport]]


def _normalise_step(state: State, context: Context) -> tuple[State, StepReport]:
    removals, changed = context.removals(), dict[str, int]()
    writer = PoolWriter(context.folder)
    done = 0
    for frame in state.frames("answer", "source", "model"):
        answers = frame.get_column("answer")
        found = context.style.apply(answers, threads=context.threads)
        for name, count in found.changed.items():
            changed[name] = changed.get(name, 0) + count
        _count_step_removals(removals, context.style.reasons, found.reason, answers)
        kept = found.reason < 0
        fresh = frame.with_columns(answer=found.answers).filter(pl.Series(kept))
        writer.add(fresh)
        done += frame.height
        context.progress(done, state.height)
    writer.flush()
    after = State(Pool(context.folder), np.ones(writer.rows, dtype=np.bool_))
    details = {"style": context.style.digest, "corrected": dict(sorted(changed.items()))}
    return after, context.report("normalise", state, after, removals, **details)


def _rules_step(state: State, context: Context) -> tuple[State, StepReport]:
    removals = context.removals()
    rules = context.rules.get(context.question_id)
    if rules is None:
        return state, context.report("rules", state, state, removals, rules=[])
    masks = []
    for frame in state.frames("answer"):
        answers = frame.get_column("answer")
        broken = rules.apply(answers, threads=context.threads)
        _count_step_removals(removals, rules.names, broken, answers)
        masks.append(broken < 0)
        context.progress(sum(map(len, masks)), state.height)
    after = state.narrowed(np.concatenate([np.zeros(0, dtype=np.bool_), *masks]))
    return after, context.report("rules", state, after, removals, rules=rules.names)


def _count_step_removals(
    removals: Removals, names: Sequence[str], broken: NDArray[np.int32], answers: pl.Series
) -> None:
    """Count rows by the rule they break, in the order of the rules."""
    counts = np.bincount(broken[broken >= 0], minlength=len(names))
    for number in np.flatnonzero(counts).tolist():
        rows = np.flatnonzero(broken == number)[: removals.missing(names[number])]
        removals.add(names[number], answers[rows].to_list(), int(counts[number]))


def _duplicates_step(state: State, context: Context) -> tuple[State, StepReport]:
    keep = context.config.duplicates.keep
    # Different texts may have the same words; duplicates are equal texts.
    texts = context.coded if context.config.unit == "token" else _texts_left_by_steps
    found = duplicates(texts(state), memory=context.memory, threads=context.threads)
    distinct = int(np.count_nonzero(found.first))
    after = state if keep == "all" else state.narrowed(found.first)
    if keep == "weight":
        weights = np.zeros(len(state.kept), dtype=np.uint32)
        weights[state.kept] = found.counts
        after = State(after.pool, after.kept, weights)
    removals = context.removals()
    if keep != "all":
        examples = _first_removed_by_step(state, ~found.first, context)
        removals.add(DUPLICATE, examples, state.height - distinct)
    details = {"keep": keep, "distinct": distinct, "most": int(found.counts.max(initial=0))}
    return after, context.report("duplicates", state, after, removals, **details)


def _singletons_step(state: State, context: Context) -> tuple[State, StepReport]:
    settings = context.config.singletons
    found = singletons(
        context.coded(state),
        n=settings.n,
        threshold=settings.threshold,
        repeat=settings.repeat,
        weights=state.kept_weights(),
        memory=context.memory,
        threads=context.threads,
        progress=context.progress,
    )
    left = int(np.count_nonzero(found.kept))
    if left < settings.at_least:
        details = {"rounds": found.rounds, "not_applied": left}
        return state, StepReport("singletons", state.height, state.height, [], details)
    after = state.narrowed(found.kept)
    removals = context.removals()
    reason = singletons_reason(settings)
    examples = _first_removed_by_step(state, ~found.kept, context)
    removals.add(reason, examples, state.height - after.height)
    # With few candidates everything is rare; the funnel shows that without an error.
    report = StepReport(
        "singletons", state.height, after.height, removals.sorted(), {"rounds": found.rounds}
    )
    return after, report


def _length_step(state: State, context: Context) -> tuple[State, StepReport]:
    settings, config = context.config.length, context.config
    kept, details = np.zeros(state.height, dtype=np.bool_), {}
    for source, own in state.by_source().items():
        part = state.narrowed(own)
        found = nearest_length(
            context.coded(part),
            target=settings.target,
            count=settings.count,
            share=settings.share,
            deviation=settings.deviation,
            at_least=config.needed_after("length"),
            seed=config.seed,
            threads=context.threads,
        )
        kept[own] = found.kept
        number = int(np.count_nonzero(found.kept))
        details[source] = length_details(found, number)
    after = state.narrowed(kept)
    removals = context.removals()
    reason = length_reason(settings)
    removals.add(reason, _first_removed_by_step(state, ~kept, context), state.height - after.height)
    return after, context.report("length", state, after, removals, sources=details)


def _consensus_step(state: State, context: Context) -> tuple[State, StepReport]:
    config = context.config
    kept, details = np.zeros(state.height, dtype=np.bool_), {}
    for source, own in state.by_source().items():
        found = consensus(
            _join_batches_for_step(context.coded(state.narrowed(own))),
            share=config.consensus.share,
            at_least=config.needed_after("consensus"),
            seed=config.seed,
            settings=Settings.for_length(config.length.target),
            threads=context.threads,
        )
        kept[own] = found.kept
        details[source] = {"answers": int(np.count_nonzero(found.kept)), "least": found.least}
    after = state.narrowed(kept)
    removals = context.removals()
    reason = "less agreement with the others of its source than the kept answers"
    removals.add(reason, _first_removed_by_step(state, ~kept, context), state.height - after.height)
    return after, context.report("consensus", state, after, removals, sources=details)


def _select_step(state: State, context: Context) -> tuple[State, StepReport]:
    settings = context.config.select
    kept, details = np.zeros(state.height, dtype=np.bool_), {}
    for source, own in state.by_source().items():
        part = state.narrowed(own)
        answers = _join_batches_for_step(context.coded(part))
        found = select(
            answers,
            settings.count,
            weights=part.kept_weights(),
            strata=_strata_for_select_step(part, answers, settings.stratify),
            seed=context.config.seed,
            proposals=settings.proposals,
            seconds=settings.seconds,
            restarts=settings.restarts,
            min_n=settings.min_n,
            max_n=settings.max_n,
            threads=context.threads,
            progress=partial(_report_select_step, context, settings.proposals or 0),
        )
        chosen = np.zeros(part.height, dtype=np.bool_)
        chosen[found.rows] = True
        kept[own] = chosen
        details[source] = {
            "answers": len(found.rows),
            "random_error": found.random_error,
            "greedy_error": found.greedy_error,
            "error": found.error,
            "proposals": found.proposals,
        }
    after = state.narrowed(kept)
    # An answer that is not selected is not worse in itself, so there are no reasons to show.
    return after, StepReport("select", state.height, after.height, [], {"sources": details})


def _report_select_step(context: Context, whole: float, done: int, error: float) -> None:
    context.progress(done, whole, f"error {error:.3g}")


def _strata_for_select_step(state: State, answers: pl.Series, by: str) -> NDArray[Any] | None:
    """Returns the stratum of each answer: its model, or the decile of its length in the pool."""
    if not by:
        return None
    if by == "model":
        return _join_batches_for_step(state.batches("model")).to_numpy()
    lengths = answers.str.len_chars().to_numpy()
    ranks = np.argsort(np.argsort(lengths, kind="stable"), kind="stable")
    return ranks * _TENTHS // max(1, len(ranks))


def _first_removed_by_step(state: State, mask: Mask, context: Context) -> list[str]:
    """Returns the first few answers for which `mask` is true."""
    found: list[str] = []
    at = 0
    for frame in state.frames("answer"):
        rows = np.flatnonzero(mask[at : at + frame.height])[: context.config.examples - len(found)]
        found += map(str, frame.get_column("answer")[rows].to_list())
        at += frame.height
        if len(found) >= context.config.examples:
            break
    return found


def _texts_left_by_steps(state: State) -> Batches:
    return state.batches("answer")


def _join_batches_for_step(batches: Batches) -> pl.Series:
    """Concatenate a column; by this step few rows remain."""
    columns = list(batches())
    return pl.concat(columns) if columns else pl.Series(dtype=pl.String)


STEPS: Mapping[str, Step] = {
    "normalise": _normalise_step,
    "rules": _rules_step,
    "duplicates": _duplicates_step,
    "singletons": _singletons_step,
    "length": _length_step,
    "consensus": _consensus_step,
    "select": _select_step,
}
