"""Correlations of lists of figures over the same models or runs, with intervals."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs.equality import EqualByFields
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io.text import counted, shortened
from pfgen_rs.metrics.settings import PARTS
from pfgen_rs.stats.correlation import fisher_interval, pearson, spearman
from pfgen_rs.stats.student import check_level
from pfgen_rs.studies.leaderboard import Leaderboard, read_leaderboard

Statistic = Literal["pearson", "spearman"]
Floats = NDArray[np.float64]
FEWEST = 3  # two points always lie on a line
"""The least number of models that a correlation is over."""
MOST_NAMES = 40
"""The most names whose correlations with each other are drawn, and told."""


@dataclass(frozen=True)
class Correlation:
    """The correlations of two lists of figures, named `one` and `other`, over `n` models or runs.

    `pearson`, `spearman`: the coefficients, with their intervals at `level` by Fisher's transformation, which
    takes the models for independent; without bounds for three models, and of ρ = ±1.
    """

    one: str
    other: str
    n: int
    pearson: float
    pearson_low: float | None
    pearson_high: float | None
    spearman: float
    spearman_low: float | None
    spearman_high: float | None
    level: float = 0.95

    def cells(self) -> list[str]:
        """Returns n, Pearson's r with its interval, and Spearman's ρ with its interval, as text."""
        return [
            str(self.n),
            correlation_text(self.pearson),
            interval_text(self.pearson_low, self.pearson_high),
            correlation_text(self.spearman),
            interval_text(self.spearman_low, self.spearman_high),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Returns everything as JSON."""
        return asdict(self)


_SCHEMA = {
    field.name: {"n": pl.Int64, "one": pl.String, "other": pl.String}.get(field.name, pl.Float64)
    for field in fields(Correlation)
}


@dataclass(frozen=True)
class CorrelationMatrix:
    """The correlations of every two of several lists of figures, in the order of `names`."""

    names: tuple[str, ...]
    pairs: tuple[Correlation, ...]

    def frame(self) -> pl.DataFrame:
        """Returns a row for each pair, with the fields of `Correlation` as columns."""
        return pl.DataFrame([pair.to_dict() for pair in self.pairs], schema=_SCHEMA)

    def values(self, statistic: Statistic = "pearson") -> Floats:
        """Returns the coefficients: float64, shape (names, names), 1 on the diagonal, NaN where undefined."""
        if statistic not in get_args(Statistic):
            raise SettingsError(
                f"unknown statistic {statistic!r}: expected one of {', '.join(get_args(Statistic))}"
            )
        found = np.full((len(self.names), len(self.names)), np.nan)
        np.fill_diagonal(found, 1.0)
        for pair in self.pairs:
            i, j = self.names.index(pair.one), self.names.index(pair.other)
            found[i, j] = found[j, i] = getattr(pair, statistic)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Returns everything as JSON."""
        return {"names": list(self.names), "pairs": [pair.to_dict() for pair in self.pairs]}


def correlate(
    one: str, x: Sequence[float] | Floats, other: str, y: Sequence[float] | Floats, level: float
) -> Correlation:
    """Correlate two lists of finite figures, of the same models in the same order.

    Raises `InputError` for fewer than three models, and for a list of equal figures, whose correlation is
    undefined.
    """
    found = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    n = len(found[0])
    if n < FEWEST:
        raise InputError(
            f"{_both(one, other)} have {counted(n, 'model')} in common: expected at least {FEWEST}"
        )
    for name, values in zip((one, other), found, strict=True):
        if np.ptp(values) == 0:
            raise InputError(
                f"{shortened(name)!r} is {values[0]:g} for all {n} models that it has in common with "
                f"{shortened(one if name == other else other)!r}: the correlation is undefined"
            )
    r, rho = pearson(*found), spearman(*found)
    if r is None or rho is None or r != r or rho != rho:  # differences that squares cannot hold
        raise InputError(f"{_both(one, other)}: the correlation is undefined")
    return Correlation(
        one,
        other,
        n,
        r,
        *fisher_interval(r, n, level),
        rho,
        *fisher_interval(rho, n, level, ranks=True),
        level,
    )


def _both(one: str, other: str) -> str:
    return f"{shortened(one)!r} and {shortened(other)!r}"


def correlations(
    columns: Mapping[str, Sequence[float] | Floats], level: float
) -> CorrelationMatrix:
    """Correlate every two columns, over the rows that have finite figures in both.

    Pairs whose correlation is undefined are left out.
    """
    found = {name: np.asarray(values, dtype=np.float64) for name, values in columns.items()}
    pairs = []
    for one, other in combinations(found, 2):
        both = np.isfinite(found[one]) & np.isfinite(found[other])
        try:
            pairs.append(correlate(one, found[one][both], other, found[other][both], level))
        except InputError:
            continue
    return CorrelationMatrix(tuple(found), tuple(pairs))


# How numbers are written.


_ROUNDING = 1e-12  # of a coefficient


def correlation_text(value: float | None, digits: int = 4) -> str:
    """Returns a coefficient as text: never rounded to 1 if it is less by more than a rounding error."""
    if value is None or value != value:
        return "–"
    text = f"{value:z.{digits}f}"
    if abs(float(text)) == 1.0 and 1.0 - abs(value) > _ROUNDING:
        return correlation_text(value, digits + 1)
    return text


def interval_text(low: float | None, high: float | None, digits: int = 4) -> str:
    """Returns the bounds of an interval as text."""
    if low is None or high is None:
        return "–"
    return f"{correlation_text(low, digits)} to {correlation_text(high, digits)}"


# The metrics against each other (experiment 1 of the papers): published figures alone.


_COLUMNS = (*PARTS, "score")


@dataclass(frozen=True, eq=False)
class MetricStudy(EqualByFields):
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


def study_metrics(
    leaderboard: str | os.PathLike[str] | Leaderboard, *, level: float = 0.95
) -> MetricStudy:
    """Correlate Fluency, Truthfulness, Helpfulness and the score over the runs of a leaderboard.

    `leaderboard`: as for `read_leaderboard`. Runs without one of the metrics are left out with a note. Raises
    `InputError` for fewer than three runs and for metrics that are all equal, and `SettingsError`.
    """
    check_level(level)
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
    matrix = correlations({name: runs[name].to_numpy() for name in _COLUMNS}, level)
    if not matrix.pairs:
        raise InputError(f"the metrics of all {len(runs)} runs are equal")
    told = [f"left out: {counted(lacking, 'run')} without a metric"] if lacking else []
    return MetricStudy(runs, matrix, (*board.notes, *told))
