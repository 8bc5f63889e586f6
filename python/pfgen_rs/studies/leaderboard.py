"""The runs of a leaderboard that studies are about, without system runs, and their metrics correlated."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.io.text import counted
from pfgen_rs.lazy import pl
from pfgen_rs.metrics.settings import METRICS, PARTS, check_metric
from pfgen_rs.report.plots.inputs import read_inputs
from pfgen_rs.studies.benchmark_table import BenchmarkTable, model_key, read_benchmark_table
from pfgen_rs.studies.correlations import FEWEST, CorrelationMatrix, correlations

_SYSTEM = "system"
_SCHEMA: dict[str, type[pl.DataType]] = {
    "model": pl.String,
    "mode": pl.String,
    "score": pl.Float64,
    **dict.fromkeys(PARTS, pl.Float64),
}


@dataclass(frozen=True, eq=False)
class Leaderboard:
    """The runs of a leaderboard.

    `runs`: columns `model`, `mode` (null if unknown), `score`, `fluency`, `truthfulness` and `helpfulness`
    (null where the source lacks them), one row a run, in the source's order. `notes`: what was left out.
    """

    runs: pl.DataFrame
    notes: tuple[str, ...] = ()

    def by_model(self, metric: str = "average") -> pl.DataFrame:
        """Returns the best run of each model in a metric, as the papers do, the first of equal ones.

        Columns `key`, `model`, `mode` and `figure`. Raises `SettingsError` for an unknown metric, and
        `InputError` if no run has a figure.
        """
        check_metric(metric)
        column = "score" if metric == METRICS[0] else metric
        keys = [model_key(name) for name in self.runs["model"]]
        found = self.runs.select(
            pl.Series("key", keys, dtype=pl.String), "model", "mode", figure=column
        ).filter(pl.col("figure").is_finite() & (pl.col("key") != ""))
        if found.is_empty():
            raise InputError(f"the leaderboard has no run with {metric!r}")
        ordered = found.sort("figure", descending=True, maintain_order=True)
        return ordered.unique("key", keep="first", maintain_order=True)


def read_leaderboard(place: str | os.PathLike[str]) -> Leaderboard:
    """Read the published figures of all runs; nothing is scored that has a result.

    `place`: a checkout of pfgen-bench, a `leaderboard.json` or `.parquet`, a run, or a table in `.csv` with
    the columns `model` and `score`, and optionally `mode`, `fluency`, `truthfulness` and `helpfulness`.
    Raises `InputError` and other errors of reading.
    """
    if Path(place).suffix.lower() == ".csv":
        return _leaderboard_of_table(read_benchmark_table(place))
    try:
        inputs = read_inputs([os.fspath(place)])
    except UnicodeEncodeError:  # half a surrogate pair, which JSON can spell
        raise InputError("has a text that is no Unicode", path=Path(place)) from None
    runs = inputs.runs
    added = [pl.lit(None, kind).alias(name) for name, kind in _SCHEMA.items() if name not in runs]
    chosen = runs.with_columns(added).select(
        pl.col(name).cast(kind) for name, kind in _SCHEMA.items()
    )
    notes = tuple(f"left out: {problem}" for problem in inputs.problems)
    return Leaderboard(_without_system_runs(chosen), notes)


def _leaderboard_of_table(table: BenchmarkTable) -> Leaderboard:
    columns: dict[str, list[Any]] = {}
    notes = []
    for name in _SCHEMA:
        read = table.names if name in ("model", "mode") else table.numbers
        try:
            columns[name] = list(read(table.find(name)))
        except InputError as error:
            if name in ("model", "score"):
                raise
            if error.line is not None:  # of a column that there is, and that not every study needs
                notes.append(f"without {name}: {table.path}, row {error.line}: {error.problem}")
    empty = [None] * len(table.rows)
    runs = pl.DataFrame({name: columns.get(name, empty) for name in _SCHEMA}, schema=_SCHEMA)
    runs = runs.with_columns(pl.col("mode").replace("", None))
    return Leaderboard(_without_system_runs(runs), tuple(notes))


def _without_system_runs(runs: pl.DataFrame) -> pl.DataFrame:
    """Leave out what is no model: reference answers scored against themselves are far from all models."""
    return runs.filter(pl.col("mode").fill_null("") != _SYSTEM)


# The metrics against each other (experiment 1 of the papers): published figures alone.


_COLUMNS = (*PARTS, "score")


@dataclass(frozen=True, eq=False)
class MetricStudy:
    """The three metrics and their mean, the score, against each other.

    `runs`: columns `model`, `mode`, `fluency`, `truthfulness`, `helpfulness`, `score`, one row a run.
    """

    runs: pl.DataFrame
    matrix: CorrelationMatrix
    notes: tuple[str, ...] = ()

    def frame(self) -> pl.DataFrame:
        """Returns a row for each pair, as `CorrelationMatrix.frame`."""
        return self.matrix.frame()

    def spread(self) -> pl.DataFrame:
        """Returns for each metric its `least`, `median` and `largest` value over the runs."""
        return pl.DataFrame(
            [
                {
                    "metric": name,
                    "least": self.runs[name].min(),
                    "median": self.runs[name].median(),
                    "largest": self.runs[name].max(),
                }
                for name in _COLUMNS
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Returns everything as JSON."""
        return {
            "correlations": self.matrix.to_dict(),
            "spread": self.spread().to_dicts(),
            "runs": self.runs.to_dicts(),
            "notes": list(self.notes),
        }


def study_metrics(leaderboard: str | os.PathLike[str] | Leaderboard) -> MetricStudy:
    """Correlate Fluency, Truthfulness, Helpfulness and the score over the runs of a leaderboard.

    `leaderboard`: as for `read_leaderboard`. Runs without one of the metrics are left out with a note. Raises
    `InputError` for fewer than three runs and for metrics that are all equal.
    """
    board = leaderboard if isinstance(leaderboard, Leaderboard) else read_leaderboard(leaderboard)
    complete = pl.all_horizontal(pl.col(name).is_finite() for name in _COLUMNS)
    runs = board.runs.filter(complete).select("model", "mode", *_COLUMNS)
    lacking = len(board.runs) - len(runs)
    for name in _COLUMNS:
        if not board.runs[name].is_finite().any():
            reasons = [note for note in board.notes if note.startswith(f"without {name}: ")]
            raise InputError("; ".join([f"the leaderboard has no run with {name!r}", *reasons]))
    if len(runs) < FEWEST:
        raise InputError(
            f"{len(runs)} of {counted(len(board.runs), 'run')} with all of {', '.join(PARTS)}: expected at "
            f"least {FEWEST}"
        )
    matrix = correlations({name: runs[name].to_numpy() for name in _COLUMNS})
    if not matrix.pairs:
        raise InputError(f"the metrics of all {len(runs)} runs are equal")
    told = [f"left out: {counted(lacking, 'run')} without a metric"] if lacking else []
    return MetricStudy(runs, matrix, (*board.notes, *told))
