"""A report of runs: values with intervals, paired comparisons, rank ranges, and notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from pfgen_rs.errors import InputError
from pfgen_rs.llm_jp_eval.catalog import split_score
from pfgen_rs.llm_jp_eval.catalog import tasks as catalog
from pfgen_rs.llm_jp_eval.report.columns import (
    Column,
    ColumnEstimate,
    RunValues,
    average_column,
    category_columns,
    estimated,
    task_columns,
)
from pfgen_rs.llm_jp_eval.report.pairs import (
    ColumnPair,
    compared_columns,
    pair_order,
    report_notes,
    stated_notes,
)
from pfgen_rs.llm_jp_eval.report.runs import Aligned, ReportRun, aligned
from pfgen_rs.stats.permutation import ranges
from pfgen_rs.stats.student import check_level

_MOST_RUNS = 100
_ALL_PAIRS = 6  # maximum number of runs of which all pairs are shown
_TEXT, _COUNT, _NUMBER = pl.String, pl.Int64, pl.Float64


@dataclass(frozen=True)
class Report:
    """Runs in columns, compared with each other.

    `runs`: names, by descending average (runs without one come last, in the given order). `columns`: the
    average, categories with both correlations of STS, and tasks that any run has. `estimates`: by run and
    name of the column. `pairs`: every two runs in each column, in the order of `runs`; the average,
    categories and tasks are three families for Holm's correction. `ranks`: the best and the worst rank by the
    average that the comparisons leave open, `None` without comparisons. `samples`: number of samples by task
    that all runs have. `notes`: remarks for the reader. `signatures`: by run, where known.
    """

    runs: tuple[str, ...]
    average: str
    level: float
    columns: tuple[Column, ...]
    estimates: Mapping[str, Mapping[str, ColumnEstimate]] = field(repr=False)
    pairs: tuple[ColumnPair, ...] = field(repr=False)
    ranks: Mapping[str, tuple[int, int] | None]
    samples: Mapping[str, int]
    notes: tuple[str, ...]
    signatures: Mapping[str, str | None]

    def of_kind(self, kind: str) -> list[Column]:
        """Returns the columns of a kind: `average`, `category` or `task`."""
        return [column for column in self.columns if column.kind == kind]

    def pairs_in(self, column: str) -> list[ColumnPair]:
        """Returns the comparisons in a column."""
        return [pair for pair in self.pairs if pair.column == column]

    def shown_pairs(self) -> list[ColumnPair]:
        """Returns the comparisons in the average; of many runs, those of runs with adjacent averages."""
        pairs = self.pairs_in(self.average)
        if len(self.runs) <= _ALL_PAIRS:
            return pairs
        number = {run: place for place, run in enumerate(self.runs)}
        return [pair for pair in pairs if number[pair.b] - number[pair.a] == 1]

    def own_samples(self, column: Column) -> list[int]:
        """Returns how many samples the values of a task's column rest on: each number once, ascending."""
        found = [columns[column.name] for columns in self.estimates.values()]
        return sorted({each.samples for each in found if each.value is not None and each.samples})

    def samples_text(self, column: Column) -> str:
        """Returns the number of samples of a task's column as text: `100`, or `100 to 322` if runs differ."""
        counts = self.own_samples(column)
        return " to ".join(f"{count:,}" for count in dict.fromkeys((*counts[:1], *counts[-1:])))

    def tables(self) -> dict[str, pl.DataFrame]:
        """Returns the tables `scores` (a row a run and column) and `pairs` (a row a pair and column)."""
        return {"scores": self._score_table(), "pairs": self._pair_table()}

    def to_dict(self) -> dict[str, Any]:
        """Returns everything as JSON types."""
        return {
            "runs": list(self.runs),
            "average": self.average,
            "level": self.level,
            "signatures": dict(self.signatures),
            "samples": dict(self.samples),
            "ranks": {
                name: None if found is None else list(found) for name, found in self.ranks.items()
            },
            "scores": {
                run: {name: found.to_dict() for name, found in columns.items()}
                for run, columns in self.estimates.items()
            },
            "pairs": [pair.to_dict() for pair in self.pairs],
            "notes": list(self.notes),
        }

    def _score_table(self) -> pl.DataFrame:
        kinds = {column.name: column.kind for column in self.columns}
        rows = [
            estimate.to_dict()
            | {"kind": kinds[name]}
            | {"missing": ",".join(estimate.missing), "lacking": ",".join(estimate.lacking)}
            for run in self.runs
            for name, estimate in self.estimates[run].items()
        ]
        schema = {
            "run": _TEXT,
            "column": _TEXT,
            "kind": _TEXT,
            **dict.fromkeys(("value", "se", "low", "high"), _NUMBER),
            "samples": _COUNT,
            **dict.fromkeys(("missing", "lacking"), _TEXT),
        }
        return pl.DataFrame(rows, schema=schema)

    def _pair_table(self) -> pl.DataFrame:
        schema = {
            **dict.fromkeys(("a", "b", "column"), _TEXT),
            **dict.fromkeys(("difference", "se", "low", "high"), _NUMBER),
            "test": _TEXT,
            **dict.fromkeys(("p", "p_holm", "smallest_p"), _NUMBER),
            "family": _COUNT,
            "minimum_detectable": _NUMBER,
            "samples": _COUNT,
        }
        return pl.DataFrame([pair.to_dict() for pair in self.pairs], schema=schema)


def report_of(
    runs: Sequence[ReportRun],
    *,
    average: str = "AVR",
    tasks: Sequence[str] | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Report:
    """Report on 1 to 100 runs: values of columns, and every two runs compared over the same samples.

    `average`: `AVR` (the paper's, which needs all of its seven categories) or `AVG` (version 1.3.0's over
    nine categories, which counts those that were not run as 0). Categories are means of the tasks that were
    run. `tasks`: report on these tasks alone.
    `seed`: of the random signs.

    Raises `InputError` for runs that cannot be compared (`runs.aligned`), and `SettingsError`.
    """
    check_level(level)
    if tasks is not None:
        runs = [_only_tasks(run, tasks) for run in runs]
    scores = {score for run in runs for score in run.known}
    mean = average_column(average, scores)
    if not 1 <= len(runs) <= _MOST_RUNS:
        raise InputError(f"expected 1 to {_MOST_RUNS} runs to report, found {len(runs)}")
    known = {task for run in runs for task in run.tasks}
    categories = category_columns(scores, (name for run in runs for name in run.stated))
    taken = {average, *(column.name for column in categories)}
    columns = (mean, *categories, *task_columns(sorted(known), scores, taken))
    shared = aligned(runs)
    values = [RunValues(run) for run in runs]
    found = [{c.name: estimated(each, c, level) for c in columns} for each in values]
    order = sorted(
        range(len(runs)),
        key=lambda i: (found[i][average].value is None, -(found[i][average].value or 0)),
    )
    tested = [c for c in columns if all(each[c.name].sampled for each in found)]
    pairs = _compared(shared, values, order, tested, level, seed)
    return Report(
        runs=tuple(runs[i].name for i in order),
        average=average,
        level=level,
        columns=columns,
        estimates={runs[i].name: found[i] for i in order},
        pairs=tuple(pairs),
        ranks=_ranks([runs[i].name for i in order], pairs, average, level),
        samples=shared.runs[0].counts,
        notes=(
            *shared.notes,
            *stated_notes(runs, found, columns),
            *report_notes(found, pairs, columns, shared.runs[0].counts, level),
        ),
        signatures={runs[i].name: runs[i].signature for i in order},
    )


def _only_tasks(run: ReportRun, tasks: Sequence[str]) -> ReportRun:
    own = run.frame.filter(pl.col("task").is_in(list(tasks)))
    if own.is_empty():
        raise InputError(f"{run.name}: none of these tasks was run: {', '.join(tasks)}")
    split = {name: split_score(name, [*catalog(), *tasks])[0] for name in run.scores}
    scores = {name: value for name, value in run.scores.items() if split[name] in tasks}
    return replace(run, frame=own, scores=scores, stated={})


def _compared(
    shared: Aligned,
    values: Sequence[RunValues],
    order: Sequence[int],
    columns: Sequence[Column],
    level: float,
    seed: int,
) -> list[ColumnPair]:
    """Compare the runs in each kind of columns; the better run of a pair comes first."""
    if len(order) < 2:
        return []
    same = [
        own if own.run is run else RunValues(run)
        for own, run in zip(values, shared.runs, strict=True)
    ]
    placed = [same[i] for i in order]
    found: list[ColumnPair] = []
    for kind in ("average", "category", "task"):
        found += compared_columns(placed, [c for c in columns if c.kind == kind], level, seed)
    return found


def _ranks(
    names: Sequence[str], pairs: Sequence[ColumnPair], average: str, level: float
) -> dict[str, tuple[int, int] | None]:
    own = [pair for pair in pairs if pair.column == average]
    if not own:
        return dict.fromkeys(names)
    better = np.zeros((len(names), len(names)), dtype=bool)
    for (i, j), pair in zip(pair_order(len(names)), own, strict=True):
        if pair.p_holm <= 1 - level:
            better[(i, j) if pair.difference > 0 else (j, i)] = True
    return dict(zip(names, ranges(better), strict=True))
