"""The metrics against each other (experiment 1 of the papers): published figures alone."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import polars as pl

from pfgen_rs.equality import EqualByFields
from pfgen_rs.errors import InputError
from pfgen_rs.io.counted import counted
from pfgen_rs.metrics.names import PARTS
from pfgen_rs.report.markup import inert
from pfgen_rs.stats.student import check_level
from pfgen_rs.studies.correlations import FEWEST, CorrelationMatrix, correlations
from pfgen_rs.studies.leaderboard import Leaderboard, Modes, check_modes, read_leaderboard
from pfgen_rs.studies.markdown import markdown_table

__all__ = ["MetricStudy", "study_metrics"]

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

    def to_markdown(self) -> str:
        """Returns the table of pairs, the spread of each metric, and the notes."""
        rows = [[name, *(f"{x:.4f}" for x in found)] for name, *found in self.spread().iter_rows()]
        spread = markdown_table(["metric", "least", "median", "largest"], rows)
        return "\n".join(
            [self.matrix.to_markdown(), spread, *(f"{inert(note)}\n" for note in self.notes)]
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
    leaderboard: str | os.PathLike[str] | Leaderboard, *, modes: Modes = "all", level: float = 0.95
) -> MetricStudy:
    """Correlate Fluency, Truthfulness, Helpfulness and the score over the runs of a leaderboard.

    `leaderboard`: as for `read_leaderboard`. `modes`: `all` runs, or the `best` one of each model. Runs
    without one of the metrics are left out with a note. Raises `InputError` for fewer than three runs and for
    metrics that are all equal, and `SettingsError`.
    """
    check_level(level)
    board = leaderboard if isinstance(leaderboard, Leaderboard) else read_leaderboard(leaderboard)
    check_modes(modes)
    chosen = board.runs if modes == "all" else board.best()
    complete = pl.all_horizontal(pl.col(name).is_finite() for name in _COLUMNS)
    runs = chosen.filter(complete).select("model", "mode", *_COLUMNS)
    lacking = len(chosen) - len(runs)
    for name in _COLUMNS:
        if not chosen[name].is_finite().any():
            reasons = [note for note in board.notes if note.startswith(f"without {name}: ")]
            raise InputError("; ".join([f"the leaderboard has no run with {name!r}", *reasons]))
    if len(runs) < FEWEST:
        raise InputError(
            f"{len(runs)} of {counted(len(chosen), 'run')} with all of {', '.join(PARTS)}: expected at "
            f"least {FEWEST}"
        )
    matrix = correlations({name: runs[name].to_numpy() for name in _COLUMNS}, level)
    if not matrix.pairs:
        raise InputError(f"the metrics of all {len(runs)} runs are equal")
    told = [f"left out: {counted(lacking, 'run')} without a metric"] if lacking else []
    return MetricStudy(runs, matrix, (*board.notes, *told))
