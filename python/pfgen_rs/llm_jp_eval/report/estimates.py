"""The value of each column in each run, with its standard error and interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pfgen_rs.llm_jp_eval.averages import AVERAGED, same_score
from pfgen_rs.llm_jp_eval.report.columns import Column, Part
from pfgen_rs.llm_jp_eval.report.runs import ReportRun
from pfgen_rs.stats.correlation import correlation_interval
from pfgen_rs.stats.shares import weighted_mean, wilson

__all__ = ["ColumnEstimate", "RunValues", "estimated"]

Floats = NDArray[np.float64]
Bounds = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class ColumnEstimate:
    """A run's value in a column; `None` where it has none.

    `se`: standard error over samples. `low`, `high`: its interval. `samples`: how many the value rests on.
    `missing`: tasks of the column that were not run; `lacking`: categories of an average without any task.
    `sampled`: whether the value follows from samples, rather than from what a file states; others have no
    interval.
    """

    run: str
    column: str
    value: float | None
    se: float | None
    low: float | None
    high: float | None
    samples: int
    missing: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()
    sampled: bool = True

    @property
    def partial(self) -> bool:
        """Whether the value lacks tasks that it should have."""
        return self.value is not None and bool(self.missing or self.lacking)

    def to_dict(self) -> dict[str, Any]:
        """Returns all fields by name, as JSON types."""
        return {**asdict(self), "missing": list(self.missing), "lacking": list(self.lacking)}


class RunValues:
    """The values of a run's samples by task and metric, computed once."""

    def __init__(self, run: ReportRun) -> None:
        self.run = run
        self.sampled, self.known = run.sampled, run.known
        self.counts = run.counts
        self._known: dict[tuple[str, str], Floats] = {}

    def __getitem__(self, part: Part) -> Floats:
        """Returns the values of a part's samples."""
        key = part.task, part.metric
        if key not in self._known:
            self._known[key] = self.run.values(*key)
        return self._known[key]


def estimated(values: RunValues, column: Column, level: float) -> ColumnEstimate:
    """Returns the value of a column in a run.

    The interval of a single task is Wilson's for exact_match, Student's t for char_f1 and set_f1 (cut at 0
    and 1; Wilson's where all values are equal), and Fisher's with the jackknife's standard error for
    correlations. Sums over tasks have Student's t with their standard error (`stats.strata`). What a run's
    file states otherwise than its samples and scores give it is the file's value, without an interval.
    """
    run = values.run
    parts = column.present(values.known)
    missing = column.missing(values.known)
    samples = sum(values.counts.get(task, 0) for task in {part.task for part in parts})
    lacking = column.lacking(values.known) if column.kind == "average" else ()
    value = _column_value(run, column, parts) if column.has_value(values.known) else None
    stated = run.stated.get(column.name) if _is_in_files(column) else None
    if stated == 0 and not parts and column.parts:
        stated = None  # a category that was not run
    sampled = all(part.score in values.sampled for part in parts)
    if stated is not None and (value is None or not same_score(value, stated)):
        value, missing, sampled = stated, (), False
        lacking = tuple(each for each in lacking if run.stated.get(each) == 0)
    se, low, high = None, None, None
    if value is not None and sampled:
        se, (low, high) = _column_error(values, column, parts, value, level)
    return ColumnEstimate(
        run.name, column.name, value, se, low, high, samples, missing, lacking, sampled
    )


def _is_in_files(column: Column) -> bool:
    """Whether result files state the column: their average, and the categories that enter it."""
    return column.name in ("AVG", *AVERAGED) or not column.parts


def _column_value(run: ReportRun, column: Column, parts: Sequence[Part]) -> float:
    if len(parts) == 1 and column.kind != "average":
        return run.score(parts[0].task, parts[0].metric)
    return math.fsum(part.weight * run.score(part.task, part.metric) for part in parts)


def _column_error(
    values: RunValues, column: Column, parts: Sequence[Part], value: float, level: float
) -> tuple[float | None, Bounds]:
    samples = [values[part] for part in parts]
    found = weighted_mean(samples, [part.weight for part in parts])
    se = found.se if found.se is not None and math.isfinite(found.se) else None
    if column.is_correlation:
        known = se if se is not None and len(samples[0]) > 2 else 0.0
        return se or None, correlation_interval(value, known, len(samples[0]), level)
    if (
        column.kind != "average"
        and len(parts) == 1
        and (parts[0].metric == "exact_match" or not se)
    ):
        return se, wilson(min(float(samples[0].sum()), len(samples[0])), len(samples[0]), level)
    if not se:
        return se, (None, None)
    low, high = found.interval(level)
    shift = value - found.value  # a rounding error, or none
    return se, (_in_unit(low, shift), _in_unit(high, shift))


def _in_unit(bound: float | None, shift: float) -> float | None:
    return None if bound is None else min(max(bound + shift, 0.0), 1.0)
