"""The runs of a leaderboard that studies are about: one row a run, without system runs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import polars as pl

from pfgen_rs.equality import EqualByFields
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.metrics.settings import METRICS, PARTS, check_metric
from pfgen_rs.report.plots.inputs import read_inputs
from pfgen_rs.studies.benchmark_table import BenchmarkTable, model_key, read_benchmark_table

Modes = Literal["best", "all"]
_SYSTEM = "system"
_SCHEMA: dict[str, type[pl.DataType]] = {
    "model": pl.String,
    "mode": pl.String,
    "score": pl.Float64,
    **dict.fromkeys(PARTS, pl.Float64),
}


@dataclass(frozen=True, eq=False)
class Leaderboard(EqualByFields):
    """The runs of a leaderboard.

    `runs`: columns `model`, `mode` (null if unknown), `score`, `fluency`, `truthfulness` and `helpfulness`
    (null where the source lacks them), one row a run, in the source's order. `notes`: what was left out.
    """

    runs: pl.DataFrame
    notes: tuple[str, ...] = ()

    def by_model(self, metric: str = "average", modes: Modes = "best") -> pl.DataFrame:
        """Returns the runs with a `figure` in a metric, and the `key` of their models.

        `modes`: `best` keeps the run with the highest figure of each model, as the papers do, the first of
        equal ones; `all` keeps every run. Raises `SettingsError` for an unknown metric or choice of modes,
        and `InputError` if no run has a figure.
        """
        check_metric(metric)
        if modes not in get_args(Modes):
            raise SettingsError(
                f"unknown choice of modes {modes!r}: expected one of {', '.join(get_args(Modes))}"
            )
        column = "score" if metric == METRICS[0] else metric
        keys = [model_key(name) for name in self.runs["model"]]
        found = self.runs.select(
            pl.Series("key", keys, dtype=pl.String), "model", "mode", figure=column
        ).filter(pl.col("figure").is_finite() & (pl.col("key") != ""))
        if found.is_empty():
            raise InputError(f"the leaderboard has no run with {metric!r}")
        if modes == "all":
            return found
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
    numbers = range(1, len(table.rows) + 1)
    model, score = table.find("model"), table.find("score")
    columns: dict[str, list[Any]] = {
        "model": [table.name_in(number, model) for number in numbers],
        "score": [table.number_in(number, score) for number in numbers],
    }
    if mode := _optional_column(table, "mode"):
        columns["mode"] = [table.name_in(number, mode) or None for number in numbers]
    notes = []
    for name in PARTS:
        if column := _optional_column(table, name):
            # Of cells that are no numbers, only those of the score matter to every study.
            try:
                columns[name] = [table.number_in(number, column) for number in numbers]
            except InputError as error:
                notes.append(f"without {name}: {table.path}, row {error.line}: {error.problem}")
    empty = [None] * len(table.rows)
    runs = pl.DataFrame({name: columns.get(name, empty) for name in _SCHEMA}, schema=_SCHEMA)
    return Leaderboard(_without_system_runs(runs), tuple(notes))


def _optional_column(table: BenchmarkTable, name: str) -> str | None:
    try:
        return table.find(name)
    except InputError:
        return None


def _without_system_runs(runs: pl.DataFrame) -> pl.DataFrame:
    """Leave out what is no model: reference answers scored against themselves are far from all models."""
    return runs.filter(pl.col("mode").fill_null("") != _SYSTEM)
