"""The learning curve: a row for each step that was evaluated, in memory and as Parquet."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import polars as pl

from pfgen_rs.errors import InputError, SettingsError, unreadable
from pfgen_rs.io.table_writer import write_parquet
from pfgen_rs.metrics.names import PARTS

__all__ = ["CURVE", "SCHEMA", "Axis", "Curve", "plot_curve", "read_curve"]

Axis = Literal["step", "tokens"]

CURVE = "curve.parquet"
_SAMPLE = "pfgen_rs.sample"
_MEASURED = [name + end for name in ("score", *PARTS) for end in ("", "_low", "_high")]
_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "step": pl.Int64,
    "tokens": pl.Int64,
    **dict.fromkeys(_MEASURED, pl.Float64),
    "question_se": pl.Float64,
    "trial_se": pl.Float64,
    "difference": pl.Float64,
    "difference_low": pl.Float64,
    "difference_high": pl.Float64,
    "length": pl.Float64,
    "empty": pl.Float64,
    "questions": pl.Int64,
    "answers": pl.Int64,
    "generation_seconds": pl.Float64,
    "question_scores": pl.List(pl.Float64),
}
SCHEMA = pl.Schema(_COLUMNS)


class Curve:
    """Rows by step, and the file that holds them.

    `path`: the file, read where it is there already; `None` keeps rows in memory alone. `sample`: what is
    asked and how it is scored; two samples do not share a curve. Not safe to share between threads.

    Raises `InputError` for a file that is no such curve, and `SettingsError` for that of another sample.
    """

    def __init__(
        self, sample: Mapping[str, Any], path: str | os.PathLike[str] | None = None
    ) -> None:
        self.sample = dict(sample)
        self.path = None if path is None else Path(path)
        self._rows: dict[int, dict[str, Any]] = {}
        if self.path is not None and self.path.exists():
            self._read(self.path)

    def __len__(self) -> int:
        """Count the steps."""
        return len(self._rows)

    def __contains__(self, step: int) -> bool:
        """Whether a step was evaluated."""
        return step in self._rows

    @property
    def rows(self) -> list[dict[str, Any]]:
        """All rows by rising step."""
        return [self._rows[step] for step in sorted(self._rows)]

    @property
    def baseline(self) -> dict[str, Any] | None:
        """The row of step 0, where there is one."""
        return self._rows.get(0)

    @property
    def frame(self) -> pl.DataFrame:
        """The rows as a table with `SCHEMA`."""
        return pl.DataFrame(self.rows, schema=SCHEMA, orient="row")

    def put(self, row: Mapping[str, Any]) -> None:
        """Add a row; it takes the place of an earlier one of its step."""
        self._rows[row["step"]] = dict(row)

    def drop_from(self, step: int) -> list[int]:
        """Drop this step and all later ones, since training went back; gives the steps that went."""
        dropped = [other for other in sorted(self._rows) if other >= step]
        for other in dropped:
            del self._rows[other]
        return dropped

    def replace(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Take these rows instead of all there are."""
        self._rows = {row["step"]: {name: row.get(name) for name in SCHEMA} for row in rows}

    def save(self) -> None:
        """Write the file, whole or not at all; `OutputError` where that fails."""
        if self.path is not None:
            self.save_as(self.path)

    def save_as(self, path: Path) -> None:
        """Write what there is now to some file; `OutputError` where that fails."""
        about = {_SAMPLE: json.dumps(self.sample, sort_keys=True)}
        write_parquet(path, self.frame, about)

    def check(self, sample: Mapping[str, Any], origin: str) -> None:
        """Raise `SettingsError` where `origin` holds the curve of another sample."""
        for name in (*self.sample, *sample):
            theirs, ours = sample.get(name), self.sample.get(name)
            if theirs != ours:
                raise SettingsError(
                    f"{origin}: has the curve of another sample ({name}: {theirs!r}, now {ours!r}): choose "
                    "another folder, or the same settings"
                )

    def _read(self, path: Path) -> None:
        frame, sample = read_curve(path)
        self.check(sample, str(path))
        self.replace(frame.iter_rows(named=True))


def read_curve(path: str | os.PathLike[str]) -> tuple[pl.DataFrame, dict[str, Any]]:
    """A curve's table, and the sample that it was made with; `InputError` for other files."""
    try:
        content = Path(path).read_bytes()
        about = json.loads(pl.read_parquet_metadata(content).get(_SAMPLE, ""))
        return pl.read_parquet(content).select(list(SCHEMA)).cast(SCHEMA), about
    except OSError as error:
        raise InputError(unreadable(error), path=Path(path)) from error
    except (ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(f"not a learning curve: {error}", path=Path(path)) from None


def plot_curve(
    curve: pl.DataFrame, path: str | os.PathLike[str], *, x: Axis = "step", **look: Any
) -> None:
    """Draw a curve as `.svg` or `.png`: score, its three parts and the interval against `step` or `tokens`.

    `look`: `title`, `language`, `font`, as for all figures. Needs the extra `plots`. Raises `PlotError` and
    `OutputError`.
    """
    from pfgen_rs.report import plots

    plots.save(plots.learning_curve(curve, x=x, **look), path)
