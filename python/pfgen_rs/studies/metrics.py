"""Correlations of figures with intervals, and the runs of a leaderboard with their metrics correlated."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import combinations
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.io.text import counted, shortened
from pfgen_rs.lazy import Floats, np, pl
from pfgen_rs.metrics.settings import METRICS, PARTS, check_metric
from pfgen_rs.questions.left_out import model_key
from pfgen_rs.report.plots.inputs import read_inputs
from pfgen_rs.stats.correlation import fisher_interval, pearson, spearman
from pfgen_rs.studies.tables import BenchmarkTable, read_benchmark_table

FEWEST = 3  # two points always lie on a line
"""The least number of models that a correlation is over."""
MOST_NAMES = 40
"""The most names whose correlations with each other are drawn, and told."""


@dataclass(frozen=True)
class Correlation:
    """The correlations of two lists of figures, named `one` and `other`, over `n` models or runs.

    `pearson`, `spearman`: the coefficients, with their 95 % intervals by Fisher's transformation, which takes
    the models for independent; without bounds for three models, and of ρ = ±1.
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


_CORRELATION = {
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
        return pl.DataFrame([asdict(pair) for pair in self.pairs], schema=_CORRELATION)

    def values(self) -> Floats:
        """Returns Pearson's r: float64, shape (names, names), 1 on the diagonal, NaN where undefined."""
        found = np.full((len(self.names), len(self.names)), np.nan)
        np.fill_diagonal(found, 1.0)
        for pair in self.pairs:
            i, j = self.names.index(pair.one), self.names.index(pair.other)
            found[i, j] = found[j, i] = pair.pearson
        return found

    def to_dict(self) -> dict[str, Any]:
        """Returns everything as JSON."""
        return {"names": list(self.names), "pairs": [asdict(pair) for pair in self.pairs]}


def correlate(
    one: str, x: Sequence[float] | Floats, other: str, y: Sequence[float] | Floats
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
    bounds, rank_bounds = fisher_interval(r, n), fisher_interval(rho, n, ranks=True)
    return Correlation(one, other, n, r, *bounds, rho, *rank_bounds)


def _both(one: str, other: str) -> str:
    return f"{shortened(one)!r} and {shortened(other)!r}"


def correlations(columns: Mapping[str, Sequence[float] | Floats]) -> CorrelationMatrix:
    """Correlate every two columns, over the rows that have finite figures in both.

    Pairs whose correlation is undefined are left out.
    """
    found = {name: np.asarray(values, dtype=np.float64) for name, values in columns.items()}
    pairs = []
    for one, other in combinations(found, 2):
        both = np.isfinite(found[one]) & np.isfinite(found[other])
        try:
            pairs.append(correlate(one, found[one][both], other, found[other][both]))
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


_SYSTEM = "system"
_SCHEMA: dict[str, type[pl.DataType]] = {
    "model": pl.String,
    "mode": pl.String,
    "organisation": pl.String,
    **dict.fromkeys(("score", *PARTS, "length", "score_std", "num_trials"), pl.Float64),
}


@dataclass(frozen=True, eq=False)
class Leaderboard:
    """The runs of a leaderboard.

    `runs`: columns `model`, `mode` (null if unknown), `score`, `fluency`, `truthfulness` and `helpfulness`
    (null where the source lacks them), one row a run, in the source's order; also `organisation`, `length`
    and, of the scores of trials, `score_std` and `num_trials`. `notes`: what was left out.
    """

    runs: pl.DataFrame
    notes: tuple[str, ...] = ()

    def by_model(self, metric: str = "average") -> pl.DataFrame:
        """Returns the best run of each model in a metric, as the papers do, the first of equal ones.

        Columns `key`, `model`, `mode` and `figure`; also `organisation` (as stated, or before the name's
        slash), `length` and `error` (the standard error of a score, from its trials), null if unknown. Raises
        `SettingsError` for an unknown metric, and `InputError` if no run has a figure.
        """
        check_metric(metric)
        column = "score" if metric == METRICS[0] else metric
        keys = [model_key(name) for name in self.runs["model"]]
        prefix = pl.col("model").str.extract(r"^(.+)/")
        known = self.runs.with_columns(_absent(self.runs)).select(
            pl.Series("key", keys, dtype=pl.String),
            pl.coalesce("organisation", prefix).alias("organisation"),
            *("model", "mode", "length", pl.col(column).alias("figure")),
            error=pl.when((pl.col("num_trials") > 1) & (column == "score")).then(
                pl.col("score_std") / (pl.col("num_trials") - 1).sqrt()
            ),
        )
        found = known.filter(pl.col("figure").is_finite() & (pl.col("key") != ""))
        if found.is_empty():
            raise InputError(f"the leaderboard has no run with {metric!r}")
        ordered = found.sort("figure", descending=True, maintain_order=True)
        return ordered.unique("key", keep="first", maintain_order=True)


def read_leaderboard(place: str | os.PathLike[str] | Leaderboard) -> Leaderboard:
    """Read the published figures of all runs; nothing is scored that has a result. Returns one that was read.

    `place`: a checkout of pfgen-bench, a `leaderboard.json` or `.parquet`, a run, or a table in `.csv` with
    the columns `model` and `score`, and optionally `mode`, `fluency`, `truthfulness` and `helpfulness`.
    Raises `InputError` and other errors of reading.
    """
    if isinstance(place, Leaderboard):
        return place
    if Path(place).suffix.lower() == ".csv":
        return _leaderboard_of_table(read_benchmark_table(place))
    try:
        inputs = read_inputs([os.fspath(place)])
    except UnicodeEncodeError:  # half a surrogate pair, which JSON can spell
        raise InputError("has a text that is no Unicode", path=Path(place)) from None
    runs = inputs.runs
    chosen = runs.with_columns(_absent(runs)).select(
        pl.col(name).cast(kind) for name, kind in _SCHEMA.items()
    )
    notes = tuple(f"left out: {problem}" for problem in inputs.problems)
    return Leaderboard(_without_system_runs(chosen), notes)


def _absent(runs: pl.DataFrame) -> list[pl.Expr]:
    return [pl.lit(None, kind).alias(name) for name, kind in _SCHEMA.items() if name not in runs]


def _leaderboard_of_table(table: BenchmarkTable) -> Leaderboard:
    columns: dict[str, list[Any]] = {}
    notes = []
    for name in _SCHEMA:
        read = table.names if _SCHEMA[name] == pl.String else table.numbers
        try:
            columns[name] = list(read(table.find(name)))
        except InputError as error:
            if name in ("model", "score"):
                raise
            if error.line is not None:  # of a column that there is, and that not every study needs
                notes.append(f"without {name}: {table.path}, row {error.line}: {error.problem}")
    empty = [None] * len(table.rows)
    runs = pl.DataFrame({name: columns.get(name, empty) for name in _SCHEMA}, schema=_SCHEMA)
    runs = runs.with_columns(pl.col("mode", "organisation").replace("", None))
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
        values = self.runs.select(_COLUMNS).unpivot(variable_name="metric", value_name="value")
        value = pl.col("value")
        by_metric = values.group_by("metric", maintain_order=True)
        return by_metric.agg(least=value.min(), median=value.median(), largest=value.max())

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
    board = read_leaderboard(leaderboard)
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
