"""The learning curve: one row per evaluated step, in memory and as Parquet."""

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

__all__ = [
    "CURVE",
    "SCHEMA",
    "TASK_ANSWERS",
    "TASK_COLUMNS",
    "Axis",
    "Curve",
    "plot_curve",
    "read_curve",
]

Axis = Literal["step", "tokens"]

CURVE = "curve.parquet"
TASK_COLUMNS = "llm_jp_eval/"
"""The names of columns about tasks begin with this."""
TASK_ANSWERS = "_answers"
"""Those with the number of a task's outputs end with this."""
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
"""The columns of every curve. Those about tasks of llm-jp-eval follow them; see `TaskSample.schema`."""


class Curve:
    """Rows by step, and the file that holds them.

    `path`: the file, which is read if it exists; `None` keeps rows only in memory. `sample`: the questions
    and scoring settings, which are the same for a whole curve. `more`: columns that follow those of `SCHEMA`.
    Not thread-safe.

    Raises `InputError` if the file is not a learning curve, and `SettingsError` if it is of another sample.
    """

    def __init__(
        self,
        sample: Mapping[str, Any],
        path: str | os.PathLike[str] | None = None,
        more: Mapping[str, pl.DataType | type[pl.DataType]] | None = None,
    ) -> None:
        self.sample = dict(sample)
        self.schema = pl.Schema({**SCHEMA, **(more or {})})
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
        """All rows by ascending step."""
        return [self._rows[step] for step in sorted(self._rows)]

    @property
    def baseline(self) -> dict[str, Any] | None:
        """The row of step 0, or `None`."""
        return self._rows.get(0)

    @property
    def frame(self) -> pl.DataFrame:
        """The rows as a table with `schema`."""
        return pl.DataFrame(self.rows, schema=self.schema, orient="row")

    def put(self, row: Mapping[str, Any]) -> None:
        """Add a row, replacing an earlier one of the same step."""
        self._rows[row["step"]] = dict(row)

    def remove(self, step: int) -> None:
        """Remove the row of a step."""
        del self._rows[step]

    def drop_from(self, step: int) -> list[int]:
        """Drop this step and all later ones after training went back; returns the dropped steps."""
        dropped = [other for other in sorted(self._rows) if other >= step]
        for other in dropped:
            del self._rows[other]
        return dropped

    def replace(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Replace all rows."""
        self._rows = {row["step"]: {name: row.get(name) for name in self.schema} for row in rows}

    def save(self) -> None:
        """Write the file atomically; raises `OutputError` on failure."""
        if self.path is not None:
            self.save_as(self.path)

    def save_as(self, path: Path) -> None:
        """Write the current rows to another file; raises `OutputError` on failure."""
        about = {_SAMPLE: json.dumps(self.sample, sort_keys=True)}
        write_parquet(path, self.frame, about)

    def check(self, sample: Mapping[str, Any], origin: str) -> None:
        """Raise `SettingsError` if `origin` holds the curve of another sample."""
        for name in (*self.sample, *sample):
            theirs, ours = sample.get(name), self.sample.get(name)
            if theirs != ours:
                raise SettingsError(
                    f"{origin}: contains the curve of another sample ({name}: {theirs!r}, now {ours!r}): "
                    "choose another folder, or use the same settings"
                )

    def _read(self, path: Path) -> None:
        frame, sample = read_curve(path)
        self.check(sample, str(path))
        self.replace(frame.iter_rows(named=True))


def read_curve(path: str | os.PathLike[str]) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Read a curve's table and its sample.

    The table has the columns of `SCHEMA`, and those about tasks, which begin with `llm_jp_eval/`. Raises
    `InputError` for files that are not a learning curve.
    """
    try:
        content = Path(path).read_bytes()
        about = json.loads(pl.read_parquet_metadata(content).get(_SAMPLE, ""))
        table = pl.read_parquet(content)
        more = [name for name in table.columns if name.startswith(TASK_COLUMNS)]
        columns = [pl.col(name).cast(kind) for name, kind in SCHEMA.items()]
        return table.select(*columns, *more), about
    except OSError as error:
        raise InputError(unreadable(error), path=Path(path)) from error
    except (ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(f"not a learning curve: {error}", path=Path(path)) from None


def plot_curve(
    curve: pl.DataFrame, path: str | os.PathLike[str], *, x: Axis = "step", **look: Any
) -> None:
    """Plot the score with its interval, and its three parts, against `step` or `tokens`, as `.svg` or `.png`.

    `look`: `title`, `language` and `font`, as for all figures. Requires the extra `plots`. Raises `PlotError`
    and `OutputError`.
    """
    from pfgen_rs.report import plots

    plots.save(plots.learning_curve(curve, x=x, **look), path)
