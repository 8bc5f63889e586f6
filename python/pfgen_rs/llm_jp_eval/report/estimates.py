"""The value of each column in each run, with its standard error and interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pfgen_rs.llm_jp_eval.report.columns import Column, Part
from pfgen_rs.llm_jp_eval.report.runs import ReportRun
from pfgen_rs.stats.jackknife import correlation_interval
from pfgen_rs.stats.shares import wilson
from pfgen_rs.stats.strata import weighted_mean

__all__ = ["ColumnEstimate", "RunValues", "estimated"]

Floats = NDArray[np.float64]
Bounds = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class ColumnEstimate:
    """A run's value in a column; `None` where it has none.

    `se`: standard error over samples. `low`, `high`: its interval. `samples`: how many the value rests on.
    `missing`: tasks of the column that were not run.
    """

    run: str
    column: str
    value: float | None
    se: float | None
    low: float | None
    high: float | None
    samples: int
    missing: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Returns all fields by name, as JSON types."""
        return {**asdict(self), "missing": list(self.missing)}


class RunValues:
    """The values of a run's samples by task and metric, computed once."""

    def __init__(self, run: ReportRun) -> None:
        self.run = run
        self.tasks = frozenset(run.tasks)
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
    correlations. Sums over tasks have Student's t with their standard error (`stats.strata`).
    """
    run = values.run
    parts = column.present(values.tasks)
    missing = tuple(part.task for part in column.parts if part.task not in values.tasks)
    samples = sum(values.counts[part.task] for part in parts)
    if not column.has_value(values.tasks):
        return ColumnEstimate(run.name, column.name, None, None, None, None, samples, missing)
    value = _column_value(run, column, parts)
    se, (low, high) = _column_error(values, column, parts, value, level)
    return ColumnEstimate(run.name, column.name, value, se, low, high, samples, missing)


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
