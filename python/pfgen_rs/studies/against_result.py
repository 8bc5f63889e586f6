"""What `study_against` finds: correlations, points with residuals, and models without counterpart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from pfgen_rs.equality import EqualByFields
from pfgen_rs.report.markup import inert
from pfgen_rs.studies.correlations import (
    MOST_NAMES,
    Correlation,
    CorrelationMatrix,
    cell_headings,
    correlations,
)
from pfgen_rs.studies.markdown import markdown_table

__all__ = ["OURS", "OUTLIERS", "AgainstStudy", "BenchmarkCorrelation"]

OURS = "pfgen score"
"""What the leaderboard's score is called beside other benchmarks, and a key of `drawing.words`."""

OUTLIERS = 3
"""How many models with the largest residuals are named, unless told otherwise."""


@dataclass(frozen=True, eq=False)
class BenchmarkCorrelation(EqualByFields):
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

    def told_outliers(self, count: int = OUTLIERS) -> str:
        """Returns our names of the outliers and residuals, with the mode where a model has several points."""
        several = set(self.points["key"].filter(self.points["key"].is_duplicated()))
        return ", ".join(
            f"{_outlier_name(model, key)} {f'({mode}) ' if key in several and mode else ''}{residual:+.2f}"
            for key, model, mode, residual in self.outliers(count)
            .select("key", "model", "mode", "residual")
            .rows()
        )


def _outlier_name(model: str, key: str) -> str:
    """Returns our name of a model without its organisation, as figures show it."""
    return model.rpartition("/")[2] or key


@dataclass(frozen=True)
class AgainstStudy:
    """The leaderboard against the columns of another benchmark, by descending correlation.

    `ours`: what the leaderboard's figure is called. `unmatched_ours`, `unmatched_theirs`: keys of models that
    only one of the two has, with a name. `near`: unmatched keys of theirs with one of ours that differs
    little, for aliases. `notes`: what was left out.
    """

    ours: str
    columns: tuple[BenchmarkCorrelation, ...]
    unmatched_ours: Mapping[str, str]
    unmatched_theirs: Mapping[str, str]
    near: Mapping[str, str]
    notes: tuple[str, ...]

    @cached_property
    def matrix(self) -> CorrelationMatrix:
        """The correlations of the leaderboard and all columns with each other, O(columns²).

        With the leaderboard those of `columns`, over its models or all runs; of two columns over the models
        that the leaderboard has, each once.
        """
        values = {
            one.column: dict(one.points.select("key", "value").rows()) for one in self.columns
        }
        keys = sorted({key for found in values.values() for key in found})
        nan = float("nan")
        theirs = correlations(
            {name: [found.get(key, nan) for key in keys] for name, found in values.items()},
            self.columns[0].correlation.level,
        )
        own = self._own_correlations
        return CorrelationMatrix(own.names, own.pairs + theirs.pairs)

    @property
    def _own_correlations(self) -> CorrelationMatrix:
        names = (self.ours, *(found.column for found in self.columns))
        return CorrelationMatrix(names, tuple(found.correlation for found in self.columns))

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
        rows = [
            [found.column, *found.correlation.cells(), found.told_outliers(outliers)]
            for found in self.columns
        ]
        level = self.columns[0].correlation.level
        headings = ["column", *cell_headings(level), "outliers"]
        table = markdown_table(headings, rows)
        return "\n".join([table, *(f"{inert(note)}\n" for note in self.notes)])

    def to_dict(self, outliers: int = OUTLIERS) -> dict[str, Any]:
        """Returns everything as JSON; of 40 columns and more without their correlations with each other."""
        few = len(self.columns) < MOST_NAMES
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
            "correlations": (self.matrix if few else self._own_correlations).to_dict(),
            "unmatched_ours": dict(self.unmatched_ours),
            "unmatched_theirs": dict(self.unmatched_theirs),
            "near": dict(self.near),
            "notes": [
                *self.notes,
                *(
                    []
                    if few
                    else [f"left out: correlations of {len(self.columns)} columns with each other"]
                ),
            ],
        }
