"""The leaderboard against other benchmarks of the same models (experiment 3 of the papers)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io.safe_text import shortened
from pfgen_rs.metrics.names import METRICS, Metric
from pfgen_rs.report.markup import inert
from pfgen_rs.stats.residuals import regression_line
from pfgen_rs.stats.student import check_level
from pfgen_rs.studies.correlations import (
    Correlation,
    CorrelationMatrix,
    correlate,
    correlations,
)
from pfgen_rs.studies.leaderboard import Leaderboard, Modes, read_leaderboard
from pfgen_rs.studies.markdown import correlation_text, interval_text, markdown_table
from pfgen_rs.studies.model_names import model_key, near_misses
from pfgen_rs.studies.table_files import read_benchmark_table
from pfgen_rs.studies.tables import KEYS, BenchmarkTable, Figures

__all__ = ["AgainstStudy", "BenchmarkCorrelation", "study_against"]

OUTLIERS = 3
"""How many models with the largest residuals are named, unless told otherwise."""


@dataclass(frozen=True)
class BenchmarkCorrelation:
    """The leaderboard against one column of another benchmark.

    `points`: one row a model (or run), by descending figure: `key`, `model`, `mode`, `figure` (ours), `name`
    and `value` (theirs), `residual` of the regression of theirs on ours, in units of its standard deviation
    sqrt(SSE / (n - 2)). `slope`, `intercept`: the regression line. `missing`: number of rows of theirs
    without a figure.
    """

    column: str
    points: pl.DataFrame
    correlation: Correlation
    missing: int
    slope: float
    intercept: float

    def outliers(self, count: int = OUTLIERS) -> pl.DataFrame:
        """Returns the `count` points with the largest residuals of either sign, the largest first."""
        by_size = self.points.sort(
            pl.col("residual").abs(), "key", descending=[True, False], maintain_order=True
        )
        return by_size.head(count)


@dataclass(frozen=True)
class AgainstStudy:
    """The leaderboard against the columns of another benchmark, by descending correlation.

    `ours`: what the leaderboard's figure is called. `unmatched_ours`, `unmatched_theirs`: keys of models that
    only one of the two has, with a name. `near`: unmatched keys of theirs with one of ours that differs
    little, for aliases. `notes`: what was left out.
    """

    ours: str
    columns: tuple[BenchmarkCorrelation, ...]
    matrix: CorrelationMatrix
    unmatched_ours: Mapping[str, str]
    unmatched_theirs: Mapping[str, str]
    near: Mapping[str, str]
    notes: tuple[str, ...]

    def frame(self, outliers: int = OUTLIERS) -> pl.DataFrame:
        """Returns one row a column: `column`, `n`, both correlations with bounds, and `outliers` (keys)."""
        rows = [
            {
                "column": found.column,
                **{
                    name: value
                    for name, value in found.correlation.to_dict().items()
                    if name not in ("one", "other")
                },
                "missing": found.missing,
                "outliers": found.outliers(outliers)["key"].to_list(),
            }
            for found in self.columns
        ]
        return pl.DataFrame(rows)

    def points(self) -> pl.DataFrame:
        """Returns the points of all columns, with `column` first."""
        return pl.concat(
            found.points.select(pl.lit(found.column).alias("column"), pl.all())
            for found in self.columns
        )

    def to_markdown(self, outliers: int = OUTLIERS) -> str:
        """Returns the table of columns, and the notes."""
        rows = []
        for found in self.columns:
            r = found.correlation
            named = found.outliers(outliers).select("key", "residual").rows()
            rows.append(
                [
                    found.column,
                    str(r.n),
                    correlation_text(r.pearson),
                    interval_text(*r.interval("pearson")),
                    correlation_text(r.spearman),
                    interval_text(*r.interval("spearman")),
                    ", ".join(f"{key} ({residual:+.2f})" for key, residual in named),
                ]
            )
        level = f"{100 * self.columns[0].correlation.level:g} %"
        headings = ["column", "n", "Pearson's r", level, "Spearman's ρ", level, "outliers"]
        table = markdown_table(headings, rows)
        return "\n".join([table, *(f"{inert(note)}\n" for note in self.notes)])

    def to_dict(self, outliers: int = OUTLIERS) -> dict[str, Any]:
        """Returns everything as JSON."""
        columns = [
            {
                "column": found.column,
                **found.correlation.to_dict(),
                "missing": found.missing,
                "slope": found.slope,
                "intercept": found.intercept,
                "outliers": found.outliers(outliers).select("key", "residual").rows(),
                "points": found.points.to_dicts(),
            }
            for found in self.columns
        ]
        return {
            "columns": columns,
            "correlations": self.matrix.to_dict(),
            "unmatched_ours": dict(self.unmatched_ours),
            "unmatched_theirs": dict(self.unmatched_theirs),
            "near": dict(self.near),
            "notes": list(self.notes),
        }


def study_against(
    table: str | os.PathLike[str] | BenchmarkTable,
    leaderboard: str | os.PathLike[str] | Leaderboard,
    columns: Sequence[str],
    *,
    name: str | None = None,
    metric: Metric = "average",
    modes: Modes = "best",
    aliases: Mapping[str, str] | None = None,
    level: float = 0.95,
) -> AgainstStudy:
    """Correlate the leaderboard with columns of another benchmark's table.

    `table`: as for `read_benchmark_table`, or its path; `leaderboard`: as for `read_leaderboard`. `columns`:
    names or patterns such as `ja_pre.*`; of those that a pattern matches, what cannot be correlated is left
    out with a note. `name`: the column of the models' names (default: the names of a mapping). Models are
    the same if their `model_key` is; `aliases` has other names of theirs with ours. Of several rows of theirs
    for a model the highest counts, of ours as `modes` says.

    Raises `InputError` for tables that cannot be read, cells that are no numbers, fewer than three common
    models and figures that are all equal, and `SettingsError` for unknown choices.
    """
    check_level(level)
    theirs = table if isinstance(table, BenchmarkTable) else read_benchmark_table(table)
    board = leaderboard if isinstance(leaderboard, Leaderboard) else read_leaderboard(leaderboard)
    ours = board.by_model(metric, modes)
    names = theirs.find(name or KEYS) if name or KEYS in theirs.columns else None
    if names is None:
        raise InputError("which column has the models' names? Name it (--name)", path=theirs.path)
    alias_keys = {model_key(one): model_key(other) for one, other in (aliases or {}).items()}
    heading = "pfgen score" if metric == METRICS[0] else f"pfgen {metric}"
    if heading in theirs.columns:
        heading += " (ours)"
    found, notes = _correlated_columns(theirs, columns, names, ours, alias_keys, heading, level)
    known = theirs.keys(names, alias_keys)
    own = dict(zip(reversed(ours["key"]), reversed(ours["model"]), strict=True))
    only_theirs = {key: known[key] for key in known if key not in own}
    only_ours = {key: own[key] for key in sorted(own) if key not in known}
    return AgainstStudy(
        heading,
        tuple(found),
        _matrix(found, ours, heading, level),
        only_ours,
        only_theirs,
        near_misses(only_theirs, only_ours),
        (
            *board.notes,
            *notes,
            *_idle_aliases(theirs, names, own, aliases or {}),
            *_told_modes(modes),
        ),
    )


def _correlated_columns(
    theirs: BenchmarkTable,
    wanted: Sequence[str],
    names: str,
    ours: pl.DataFrame,
    aliases: Mapping[str, str],
    heading: str,
    level: float,
) -> tuple[list[BenchmarkCorrelation], list[str]]:
    if not wanted:
        raise SettingsError("no column to correlate with: name at least one (--column)")
    found: dict[str, BenchmarkCorrelation] = {}
    notes: list[str] = []
    for pattern in wanted:
        for column in theirs.find_all(pattern):
            by_pattern = theirs.is_pattern(pattern)
            label = theirs.short_name(column, pattern) if by_pattern else pattern
            if label in found or (by_pattern and column == names):
                continue
            try:
                figures = replace(theirs.figures(names, column, aliases), column=label)
                found[label] = _correlated(figures, ours, heading, level)
            except InputError as error:
                if not by_pattern:
                    raise _in_file(error, theirs.path) from None
                notes.append(f"left out: {shortened(column)!r}: {error.problem}")
    if not found:
        raise InputError(f"no column can be correlated; {'; '.join(notes[:1])}", path=theirs.path)
    return sorted(found.values(), key=lambda one: -one.correlation.pearson), notes


def _correlated(
    figures: Figures, ours: pl.DataFrame, heading: str, level: float
) -> BenchmarkCorrelation:
    theirs = pl.DataFrame(
        {
            "key": list(figures.values),
            "name": [figures.names[key] for key in figures.values],
            "value": list(figures.values.values()),
        },
        schema={"key": pl.String, "name": pl.String, "value": pl.Float64},
    )
    # By key, so that sums, and with them the last digits, do not depend on the order of either file.
    points = ours.join(theirs, on="key", how="inner").sort("key", "mode", "figure")
    correlation = correlate(
        heading, points["figure"].to_numpy(), figures.column, points["value"].to_numpy(), level
    )
    line = regression_line(points["figure"].to_numpy(), points["value"].to_numpy())
    drawn = points.with_columns(residual=pl.Series(line.residuals, dtype=pl.Float64))
    ordered = drawn.sort("figure", descending=True, maintain_order=True)
    return BenchmarkCorrelation(
        figures.column, ordered, correlation, figures.missing, line.slope, line.intercept
    )


def _in_file(error: InputError, path: str) -> InputError:
    if error.path is not None:
        return error
    return InputError(error.problem, path=path)


def _matrix(
    found: Sequence[BenchmarkCorrelation], ours: pl.DataFrame, heading: str, level: float
) -> CorrelationMatrix:
    """Returns the correlations of our figures and all columns with each other, over models of ours."""
    columns = {
        heading: dict(reversed(ours.sort("figure", descending=True).select("key", "figure").rows()))
    }
    for one in found:
        columns[one.column] = dict(one.points.select("key", "value").iter_rows())
    keys = sorted(columns[heading])
    nan = float("nan")
    return correlations(
        {name: [values.get(key, nan) for key in keys] for name, values in columns.items()}, level
    )


def _idle_aliases(
    theirs: BenchmarkTable, names: str, own: Mapping[str, str], aliases: Mapping[str, str]
) -> list[str]:
    """Returns notes about aliases that name nothing: they may be misspelled."""
    known = theirs.keys(names, {})
    notes = []
    for one, other in aliases.items():
        if model_key(one) not in known:
            notes.append(f"alias {shortened(one)!r}: the table has no such model")
        elif model_key(other) not in own:
            notes.append(f"alias {shortened(other)!r}: the leaderboard has no such model")
    return notes


def _told_modes(modes: Modes) -> list[str]:
    if modes == "best":
        return []
    return ["runs of one model are not independent: intervals are narrower than they should be"]
