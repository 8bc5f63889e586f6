"""A shard's rows: read, put through the steps that need no other shard, and counted."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs.errors import InputError
from pfgen_rs.references.config import BuildConfig
from pfgen_rs.references.funnel import Removals, StepReport
from pfgen_rs.references.ng_rules import AnswerRules
from pfgen_rs.references.normalise import Style
from pfgen_rs.references.pool import COLUMNS, Pool, PoolWriter, State
from pfgen_rs.references.steps import STEPS, Context

__all__ = [
    "LOCAL",
    "Mask",
    "Shard",
    "ShardCount",
    "ShardSettings",
    "all_rows",
    "candidate_columns",
    "count_shard",
    "first_removed",
    "frame_state",
    "kept_rows",
    "mask_without",
    "merged_report",
    "models_named",
    "prepare_shard",
]

Mask = NDArray[np.bool_]
Shard = pl.DataFrame | str | Path | Any
"""Candidates: a table with Arrow's PyCapsule interface, or the name of a Parquet file."""

LOCAL = ("normalise", "rules")
"""Steps that look at one answer at a time."""

_MEMORY = 256 << 20  # bytes; those steps do not need more


@dataclass(frozen=True)
class ShardCount:
    """What remains of a shard.

    `heights` and `within`: rows by source, and those of them that are near enough to the target length
    (all without a limit). `models`: rows by model, those without one included.
    """

    heights: Mapping[str, int] = field(default_factory=dict)
    within: Mapping[str, int] = field(default_factory=dict)
    models: Mapping[str, int] = field(default_factory=dict)

    @property
    def height(self) -> int:
        """The number of rows."""
        return sum(self.heights.values())

    def __add__(self, other: ShardCount) -> ShardCount:
        """Add up the counts of two shards."""
        return ShardCount(
            _added_counts(self.heights, other.heights),
            _added_counts(self.within, other.within),
            _added_counts(self.models, other.models),
        )


@dataclass(frozen=True)
class ShardSettings:
    """What tasks need to know of a build; `threads` is the number for each task, or `None` for all cores."""

    config: BuildConfig
    question_id: str
    style: Style
    rules: Mapping[str, AnswerRules]
    threads: int | None = 1

    def context(self, folder: Path) -> Context:
        """Returns what steps need, in a folder that this process may write to."""
        return Context(**self._fields(folder))

    def shard_context(self, folder: Path) -> Context:
        """Returns the same for a shard: a rule that removes all of its answers may leave others."""
        return _ShardContext(**self._fields(folder))

    def _fields(self, folder: Path) -> dict[str, Any]:
        return {
            "config": self.config,
            "question_id": self.question_id,
            "style": self.style,
            "rules": self.rules,
            "folder": folder,
            "memory": _MEMORY,
            "threads": self.threads or os.cpu_count() or 1,
            "progress": _quiet_step,
        }


def prepare_shard(
    number: int, shard: Shard, settings: ShardSettings
) -> tuple[pl.DataFrame, ShardCount, list[tuple[StepReport, ShardCount]]]:
    """Read a shard and apply the first steps.

    Returns its rows (columns `COLUMNS`), what there was of it, and what each step did and left.
    """
    config = settings.config
    frame = _read_shard(number, shard, config)
    before, found = count_shard(frame, None, config), list[tuple[StepReport, ShardCount]]()
    for step in config.steps:
        if step in LOCAL:
            frame, report = _local_step(step, frame, settings)
            found.append((report, count_shard(frame, None, config)))
    return frame, before, found


def _local_step(
    step: str, frame: pl.DataFrame, settings: ShardSettings
) -> tuple[pl.DataFrame, StepReport]:
    with tempfile.TemporaryDirectory(prefix="pfgen-rs-") as name:
        state = frame_state(frame, None, Path(name, "pool"))
        after, report = STEPS[step](state, settings.shard_context(Path(name, "new")))
        parts = list(after.frames(*COLUMNS))
        return pl.concat(parts) if parts else frame.clear(), report


def frame_state(frame: pl.DataFrame, weights: NDArray[np.uint32] | None, folder: Path) -> State:
    """Write rows to a pool, as steps expect them, and return the state with all of them."""
    writer = PoolWriter(folder)
    writer.add(frame.select(COLUMNS))
    writer.flush()
    return State(Pool(folder), np.ones(frame.height, np.bool_), weights)


def count_shard(frame: pl.DataFrame, mask: Mask | None, config: BuildConfig) -> ShardCount:
    """Count the rows for which `mask` is true, or all."""
    kept = frame if mask is None else frame.filter(pl.Series(mask))
    length = config.length
    near = kept
    if length.deviation is not None:
        distance = (pl.col("answer").str.len_chars().cast(pl.Int64) - length.target).abs()
        near = kept.filter(distance <= length.deviation)
    return ShardCount(
        _counted_values(kept, "source"),
        _counted_values(near, "source"),
        _counted_values(kept, "model"),
    )


def first_removed(frame: pl.DataFrame, before: Mask, after: Mask, examples: int) -> list[str]:
    """Returns the first few answers that are in `before` and not in `after`."""
    rows = np.flatnonzero(before & ~after)[:examples]
    return frame.get_column("answer")[rows].to_list()


def candidate_columns(frame: pl.DataFrame, config: BuildConfig) -> pl.DataFrame:
    """Returns the columns `COLUMNS` of candidates, filled as a build on one machine fills them."""
    fields, source = config.fields, config.source

    def named(name: str, default: str) -> pl.Expr:
        if name not in frame.columns:
            return pl.lit(default, dtype=pl.String)
        return pl.col(name).cast(pl.String).fill_null(default)

    return frame.select(
        answer=pl.col(fields.answer),
        source=named(fields.source, source) if config.per_source else pl.lit(source, pl.String),
        model=named(fields.model, ""),
    )


def all_rows(height: int) -> Mask:
    """Returns the mask of all rows."""
    return np.ones(height, np.bool_)


def mask_without(mask: Mask, examined: Mask, survivors: Mask) -> Mask:
    """Returns the rows that are not known to be dropped."""
    return mask & ~(examined & ~survivors)


def kept_rows(
    frame: pl.DataFrame, mask: Mask, weights: NDArray[np.uint32] | None
) -> tuple[pl.DataFrame, NDArray[np.uint32] | None]:
    """Returns the rows of a mask and their weights."""
    return frame.filter(pl.Series(mask)), None if weights is None else weights[mask]


def merged_report(reports: Sequence[StepReport], after: ShardCount, examples: int) -> StepReport:
    """Returns the report of a step from those of the shards, in order, which is that of all answers."""
    removals, details = Removals(examples), dict(reports[0].details)
    for report in reports:
        for each in report.removed:
            removals.add(each.reason, each.examples, each.count)
    if "corrected" in details:
        corrected: dict[str, int] = {}
        for report in reports:
            corrected = _added_counts(corrected, report.details["corrected"])
        details["corrected"] = dict(sorted(corrected.items()))
    before = sum(report.before for report in reports)
    models = models_named(after)
    return StepReport(reports[0].step, before, after.height, removals.sorted(), details, models)


def models_named(count: ShardCount) -> dict[str, int]:
    """Returns the number of rows by model; empty if no row names a model."""
    return dict(sorted(count.models.items())) if set(count.models) - {""} else {}


class _ShardContext(Context):
    def report(
        self, step: str, before: State, after: State, removals: Removals, **details: Any
    ) -> StepReport:
        return StepReport(step, before.height, after.height, removals.sorted(), details)


def _quiet_step(done: float, total: float, standing: str = "") -> None:
    """Report nothing."""


def _read_shard(number: int, shard: Shard, config: BuildConfig) -> pl.DataFrame:
    fields = config.fields
    whole = _shard_columns(number, shard, (fields.answer, fields.source, fields.model))
    if fields.answer not in whole.columns:
        raise InputError(f"shard {number}: no column {fields.answer!r}")
    answers = whole.get_column(fields.answer)
    if answers.dtype != pl.String:
        raise InputError(
            f"shard {number}: column {fields.answer!r} is {answers.dtype}: expected text"
        )
    if answers.null_count():
        row = int(answers.is_null().arg_max() or 0)
        raise InputError(f"shard {number}: row {row} has no answer: expected text")
    return candidate_columns(whole, config)


def _shard_columns(number: int, shard: Shard, names: Sequence[str]) -> pl.DataFrame:
    try:
        if isinstance(shard, str | Path):
            scanned = pl.scan_parquet(shard, glob=False)
            known = scanned.collect_schema().names()
            return scanned.select(name for name in names if name in known).collect()
        return shard if isinstance(shard, pl.DataFrame) else pl.DataFrame(shard)
    except (pl.exceptions.PolarsError, OSError, TypeError, ValueError) as error:
        raise InputError(f"shard {number}: not a table or a Parquet file: {error}") from None


def _counted_values(frame: pl.DataFrame, column: str) -> dict[str, int]:
    return dict(frame.get_column(column).value_counts().iter_rows())


def _added_counts(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {key: one.get(key, 0) + other.get(key, 0) for key in {**one, **other}}
