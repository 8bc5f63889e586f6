"""Building one question whose candidates lie in shards, with the answers that `build` gives."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.references.config import STEPS as ALL_STEPS
from pfgen_rs.references.config import BuildConfig
from pfgen_rs.references.distributed.local_steps import built_here
from pfgen_rs.references.distributed.shard_duplicates import (
    digest_ranges,
    first_texts,
    kept_texts,
)
from pfgen_rs.references.distributed.shard_frames import (
    Shard,
    ShardCount,
    ShardSettings,
    all_rows,
    first_removed,
    kept_rows,
    merged_report,
    models_named,
    prepare_shard,
)
from pfgen_rs.references.distributed.survivors import Examine, Filtered, ShardFilter, ShardRows
from pfgen_rs.references.distributed.tasks import InProcess, Tasks
from pfgen_rs.references.finishing import configured_rules, configured_style
from pfgen_rs.references.funnel import Removals, StepReport
from pfgen_rs.references.lengths import length_spread
from pfgen_rs.references.outlines import Outline
from pfgen_rs.references.step_reports import (
    DUPLICATE,
    length_details,
    length_reason,
    refuse_removing_everything,
    singletons_reason,
)
from pfgen_rs.references.writing import BuiltQuestion

__all__ = ["build_question", "refuse_seconds"]

MEMORY = 1 << 30
_RANGES = 64  # of digests, at most: a task each
_MOST_THRESHOLD = 2


def build_question(
    shards: Sequence[Shard | Any],
    outline: Outline,
    config: BuildConfig,
    *,
    tasks: Tasks | None = None,
    memory: int = MEMORY,
    threads: int | None = None,
    examine: Examine = "needed",
) -> BuiltQuestion:
    """Build a question from candidates in `shards`: its reference answers are those that `build` selects.

    A shard is a table with Arrow's PyCapsule interface, the name of a Parquet file, or a handle of `tasks`
    that stands for one of these; it must fit into the memory of a task, and the rows of all shards in order
    are the candidates in order. Columns are named by `config.fields`; that of the question is not read.
    Functions run as `tasks` says (default: here), with `threads` each (default: all cores).

    The filter of seldom n-grams reads all rows three times. A sketch of at most `memory` bytes counts
    hashes of n-grams, shard by shard (in parts of all n-grams, each in two more readings, where one
    is too small); what it leaves is a superset of the survivors. Those of them that the
    filter of lengths may keep are then examined by exact counts (see `ShardFilter`), and only what it keeps
    is brought here, for the steps that follow. With `examine="all"` all survivors are examined: then the
    reports are those of `build`, too. Otherwise that of the step `singletons` says how many were not
    examined (`unexamined`), which are counted as if they were kept.

    Time: linear in the number of characters. Memory of a task: its shard, `memory`, and the n-grams of the
    candidates that are examined (about 70 bytes each), which are few unless all are.

    Raises `SettingsError` for what shards cannot be filtered by: units other than characters, a threshold
    above 2, steps in another order, no step `singletons` or `length`, or a selection by `seconds`;
    `InputError` naming the shard, and `BuildError` if a rule removes everything.
    """
    _refuse_for_shards(config)
    if not shards:
        raise InputError("no shards: expected at least one")
    if examine not in get_args(Examine):
        raise SettingsError(f"examine must be 'needed' or 'all', not {examine!r}")
    settings = ShardSettings(
        config, outline.question_id, configured_style(config), configured_rules(config), threads
    )
    return _ShardedQuestion(tasks or InProcess(), settings, memory).built(shards, outline, examine)


def refuse_seconds(config: BuildConfig) -> None:
    """Raise `SettingsError` for a budget in seconds, with which no two builds need be the same."""
    if "select" in config.steps and config.select.seconds is not None:
        raise SettingsError(
            "select.seconds: a budget in seconds gives different answers on different machines: "
            "set select.proposals"
        )


class _ShardedQuestion:
    def __init__(self, tasks: Tasks, settings: ShardSettings, memory: int) -> None:
        self._tasks, self._settings, self._memory = tasks, settings, memory
        self._config = settings.config
        self._reports: list[StepReport] = []

    def built(self, shards: Sequence[Any], outline: Outline, examine: Examine) -> BuiltQuestion:
        rows, whole = self._prepared(shards)
        if "duplicates" in self._config.steps:
            rows = self._distinct(rows)
        filters = ShardFilter(self._tasks, self._settings, rows, self._memory)
        found = filters.filtered(examine)
        self._report_singletons(rows, found)
        masks = filters.nearest(
            found.masks, {source: number for source, (number, _) in found.lengths.items()}
        )
        frame, weights = self._gathered(rows, masks)
        self._report_lengths(rows, found, masks, frame)
        later = self._config.steps[self._config.steps.index("length") + 1 :]
        with tempfile.TemporaryDirectory(prefix="pfgen-rs-") as folder:
            context = self._settings.context(Path(folder))
            built = built_here(outline, frame, weights, later, context)
        return replace(
            built,
            candidates=whole.height,
            models=models_named(whole),
            reports=[*self._reports, *built.reports],
        )

    def _prepared(self, shards: Sequence[Any]) -> tuple[list[ShardRows], ShardCount]:
        """Read shards and apply the steps that need only one; returns also the count of all candidates."""
        run_parts, results = self._tasks.run_parts, self._tasks.results
        parts = [
            run_parts(3, prepare_shard, number, shard, self._settings)
            for number, shard in enumerate(shards)
        ]
        whole = sum(results(before for _, before, _ in parts), ShardCount())
        by_shard = results(steps for *_, steps in parts)
        left = [before.height for before in results(before for _, before, _ in parts)]
        for steps in zip(*by_shard, strict=True):
            counts = [count for _, count in steps]
            left = [count.height for count in counts]
            self._add(
                merged_report(
                    [report for report, _ in steps], sum(counts, ShardCount()), self._examples
                )
            )
        starts = np.cumsum([0, *left]).tolist()
        rows = [
            ShardRows(first, height, frame, self._tasks.run(all_rows, height), None)
            for first, height, (frame, *_) in zip(starts, left, parts, strict=False)
        ]
        return rows, whole

    def _distinct(self, rows: Sequence[ShardRows]) -> list[ShardRows]:
        tasks, keep = self._tasks, self._config.duplicates.keep
        ranges = min(len(rows), _RANGES)
        digests = [
            tasks.run_parts(
                ranges, digest_ranges, each.first, ranges, self._settings.threads, each.frame
            )
            for each in rows
        ]
        starts = [each.first for each in rows]
        joined = [
            tasks.run_parts(len(rows) + 1, first_texts, starts, *parts)
            for parts in zip(*digests, strict=True)
        ]
        kept = [
            tasks.run_parts(2, kept_texts, keep, each.height, *own)
            for each, *own in zip(rows, *(parts[:-1] for parts in joined), strict=True)
        ]
        found = [
            replace(each, mask=mask, weights=weights)
            for each, (mask, weights) in zip(rows, kept, strict=True)
        ]
        distinct = tasks.results(parts[-1] for parts in joined)
        details = {
            "keep": keep,
            "distinct": sum(number for number, _ in distinct),
            "most": max(most for _, most in distinct),
        }
        self._report("duplicates", rows, [each.mask for each in found], DUPLICATE, details)
        return found

    def _gathered(
        self, rows: Sequence[ShardRows], masks: Sequence[Any]
    ) -> tuple[pl.DataFrame, NDArray[np.uint32] | None]:
        """Bring rows here, with their weights if they have weights."""
        parts = self._tasks.results(
            self._tasks.run(kept_rows, each.frame, mask, each.weights)
            for each, mask in zip(rows, masks, strict=True)
        )
        frame = pl.concat([frame for frame, _ in parts])
        weights = [own for _, own in parts if own is not None]
        return frame, np.concatenate(weights) if weights else None

    def _report_singletons(self, rows: Sequence[ShardRows], found: Filtered) -> None:
        settings = self._config.singletons
        details: dict[str, Any] = {"rounds": found.rounds}
        if not found.applied:
            details["not_applied"] = found.after.height
        elif found.unexamined:
            details["unexamined"] = found.unexamined
        reason = singletons_reason(settings)
        report = self._step_report("singletons", rows, found.known, reason, details)
        self._reports.append(report)

    def _report_lengths(
        self,
        rows: Sequence[ShardRows],
        found: Filtered,
        masks: Sequence[Any],
        frame: pl.DataFrame,
    ) -> None:
        sources = {}
        for source, (number, limit) in found.lengths.items():
            own = frame.filter(pl.col("source") == source).get_column("answer")
            spread = replace(length_spread(own, threads=self._settings.threads), limit=limit)
            sources[source] = length_details(spread, number)
        before = [replace(each, mask=mask) for each, mask in zip(rows, found.known, strict=True)]
        reason = length_reason(self._config.length)
        self._report("length", before, masks, reason, {"sources": sources})

    def _report(self, *arguments: Any) -> None:
        self._add(self._step_report(*arguments))

    def _add(self, report: StepReport) -> None:
        refuse_removing_everything(self._settings.question_id, report)
        self._reports.append(report)

    def _step_report(
        self,
        step: str,
        rows: Sequence[ShardRows],
        after: Sequence[Any],
        reason: str,
        details: Mapping[str, Any],
    ) -> StepReport:
        """Report a step that leaves `after` of the masks in `rows`."""
        filters = ShardFilter(self._tasks, self._settings, rows, 0)
        before, left = filters.counted([each.mask for each in rows]), filters.counted(after)
        shown = self._tasks.results(
            self._tasks.run(first_removed, each.frame, each.mask, mask, self._examples)
            for each, mask in zip(rows, after, strict=True)
        )
        removals = Removals(self._examples)
        examples = [answer for own in shown for answer in own][: self._examples]
        removals.add(reason, examples, before.height - left.height)
        return StepReport(
            step, before.height, left.height, removals.sorted(), details, models_named(left)
        )

    @property
    def _examples(self) -> int:
        return self._config.examples


def _refuse_for_shards(config: BuildConfig) -> None:
    refuse_seconds(config)
    if config.unit != "character":
        raise SettingsError(
            f"unit {config.unit!r}: candidates in shards are filtered by characters only"
        )
    if config.singletons.threshold > _MOST_THRESHOLD:
        raise SettingsError(
            f"singletons.threshold must be at most {_MOST_THRESHOLD} for candidates in shards, "
            f"not {config.singletons.threshold}: sketches count in two bits"
        )
    if not {"singletons", "length"} <= set(config.steps):
        raise SettingsError(
            "steps: candidates in shards need singletons and length, which bound what one machine must hold"
        )
    if list(config.steps) != [step for step in ALL_STEPS if step in config.steps]:
        raise SettingsError(f"steps: candidates in shards need the order {', '.join(ALL_STEPS)}")
