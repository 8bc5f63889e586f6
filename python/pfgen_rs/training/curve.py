"""The learning curve, and the record of a run: its curve, answers and logged metrics."""

import json
import logging
import os
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, Literal

import polars as pl

from pfgen_rs.errors import InputError, OutputError, SettingsError, unreadable
from pfgen_rs.io.atomic import remove_unfinished, writing_failed
from pfgen_rs.io.table_writer import write_parquet
from pfgen_rs.metrics.settings import PARTS
from pfgen_rs.training.loggers import Entry, Logger, LoggerQueues
from pfgen_rs.training.measure import (
    Measured,
    MeasuredTasks,
    answer_table,
    measure,
    measure_tasks,
    row_of,
)
from pfgen_rs.training.sample import TASK_ANSWERS, TASK_COLUMNS, FixedSample, TaskSample

Axis = Literal["step", "tokens"]

_LOG = logging.getLogger("pfgen_rs")

CURVE = "curve.parquet"
ANSWERS = "answers"
OUTPUTS = "task_answers"
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


_UNLOGGED = {"step", "questions", "answers", "question_scores"}


class Record:
    """The curve of one sample, its files in `folder` (`None`: in memory only), and its loggers.

    `clean` turns generated text into an answer. The answers of a step are written before the curve lists the
    step. `question_metrics`: whether loggers receive the score of each question, too. `tasks`: the tasks of
    llm-jp-eval that are evaluated at the same steps; `clean_output` is applied to their outputs. Loggers are
    called in threads of their own: see `LoggerQueues`. A curve that is in `folder` goes on. Thread-safe.

    Raises `OutputError` if `folder` is a file, `InputError` if its curve cannot be read, and `SettingsError`
    if it is of another sample.
    """

    def __init__(
        self,
        sample: FixedSample,
        clean: Callable[[str], str],
        folder: Path | None,
        loggers: Sequence[Logger] = (),
        prefix: str = "",
        *,
        question_metrics: bool = False,
        tasks: TaskSample | None = None,
        clean_output: Callable[[str], str] = str,
    ) -> None:
        self.sample, self.tasks, self.folder = sample, tasks, folder
        self._clean, self._clean_output = clean, clean_output
        self._loggers, self._prefix = LoggerQueues(loggers), prefix
        self._question_metrics = question_metrics
        self.description = sample.description
        """The settings that must agree for steps to be comparable, as values for JSON."""
        self._schema = SCHEMA
        if tasks is not None:
            self.description = self.description | tasks.description
            self._schema = pl.Schema({**SCHEMA, **tasks.schema})
        self._rows: dict[int, dict[str, Any]] = {}
        self._lock = threading.Lock()
        if folder is not None:
            self._go_on(folder)

    def _go_on(self, folder: Path) -> None:
        if folder.exists() and not folder.is_dir():
            raise OutputError(f"{folder}: not a directory: choose another folder for the curve")
        _remove_unfinished(folder)
        path = folder / CURVE
        if path.exists():
            frame, sample = read_curve(path)
            self.check(sample, str(path))
            self._set_rows(frame.iter_rows(named=True))

    @property
    def frame(self) -> pl.DataFrame:
        """The curve as a table."""
        return pl.DataFrame(self.rows, schema=self._schema, orient="row")

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of the curve, by ascending step."""
        with self._lock:
            return self._sorted()

    def add(
        self, step: int, tokens: int | None, texts: Sequence[str | None], seconds: float
    ) -> dict[str, Any]:
        """Score the texts generated at a step in `seconds`, write and log the results, and return the row.

        `texts`: of the sample's tasks, then of those of llm-jp-eval; `None` is a task without a text. If the
        results cannot be written, the step is not added.
        """
        asked = len(self.sample.tasks)
        measured = self._measured(texts[:asked])
        outputs = self._measured_outputs(texts[asked:])
        table = None
        if measured is not None and (self.folder is not None or self._loggers.want_answers):
            table = answer_table(self.sample, measured)
        with self._lock:
            row = self._row(step, tokens, measured) | {"generation_seconds": seconds}
            row |= {} if outputs is None else outputs.row
            self._write(row, table, None if outputs is None else outputs.table)
        self._log(row, table)
        return row

    def close(self) -> None:
        """Wait for the loggers, for a limited time, and report what they did not receive."""
        self._loggers.close()

    def _measured(self, texts: Sequence[str | None]) -> Measured | None:
        """Returns the scores of the answers to the sample's tasks, `None` if there are none."""
        answers = [None if text is None else self._clean(text) for text in texts]
        return measure(self.sample, answers) if answers.count(None) < len(answers) else None

    def _measured_outputs(self, texts: Sequence[str | None]) -> MeasuredTasks | None:
        if self.tasks is None:
            return None
        outputs = [None if text is None else self._clean_output(text) for text in texts]
        return measure_tasks(self.tasks, outputs)

    def _row(self, step: int, tokens: int | None, measured: Measured | None) -> dict[str, Any]:
        if measured is None:
            unknown: dict[str, Any] = dict.fromkeys(SCHEMA)
            return {**unknown, "step": step, "tokens": tokens, "questions": 0, "answers": 0}
        return row_of(measured, step, tokens, self._rows.get(0) if step else None)

    def _write(
        self, row: dict[str, Any], table: pl.DataFrame | None, outputs: pl.DataFrame | None
    ) -> None:
        step = row["step"]
        for found, folder in ((table, ANSWERS), (outputs, OUTPUTS)):
            if found is not None and self.folder is not None:
                write_parquet(self.folder / folder / _file_name(step), found)
        self._rows[step] = row
        try:
            self._save()
        except Exception:
            del self._rows[step]
            raise

    def _sorted(self) -> list[dict[str, Any]]:
        return [self._rows[step] for step in sorted(self._rows)]

    def _set_rows(self, rows: Iterable[Mapping[str, Any]]) -> None:
        self._rows = {row["step"]: {name: row.get(name) for name in self._schema} for row in rows}

    def _save(self, folder: Path | None = None) -> None:
        """Write the curve atomically, into another folder on request."""
        folder = folder or self.folder
        if folder is not None:
            frame = pl.DataFrame(self._sorted(), schema=self._schema, orient="row")
            about = {_SAMPLE: json.dumps(self.description, sort_keys=True)}
            write_parquet(folder / CURVE, frame, about)

    def _drop(self, step: int) -> list[int]:
        """Drop this step and all later ones; returns the dropped steps."""
        dropped = [other for other in sorted(self._rows) if other >= step]
        for other in dropped:
            del self._rows[other]
        return dropped

    def drop_from(self, step: int) -> None:
        """Drop this step and all later ones after training went back, with their answers."""
        with self._lock:
            dropped = self._drop(step)
            if dropped:
                self._save()
                self._remove(dropped)

    def set_aside(self, step: int) -> None:
        """Drop this step and later ones of an earlier run, saving its curve and their answers in `old-N`.

        N is the first free number. Logs a warning, since this may be unintended.
        """
        with self._lock:
            if self.folder is None or not any(known >= step for known in self._rows):
                return
            old = _old_folder(self.folder)
            self._save(old)
            dropped = self._drop(step)
            self._save()
            self._move(dropped, old)
        many = "1 step" if len(dropped) == 1 else f"{len(dropped)} steps"
        _LOG.warning(
            "%s contains the curve of an earlier run, but training starts at step %d: moved %s (%d to %d) to "
            "%s. To continue a curve, use load_state_dict",
            *(self.folder, step, many, dropped[0], dropped[-1], old),
        )

    def replace(self, rows: Iterable[Mapping[str, Any]], keep: Collection[int] = ()) -> None:
        """Replace all rows except those of the steps in `keep`, and remove the answers of dropped steps."""
        with self._lock:
            before = self._rows
            self._set_rows([*(row for step, row in before.items() if step in keep), *rows])
            self._save()
            self._remove(sorted(before.keys() - self._rows.keys()))

    def check(self, sample: Mapping[str, Any], origin: str) -> None:
        """Raise `SettingsError` if `origin` holds the curve of another sample."""
        for name in (*self.description, *sample):
            theirs, ours = sample.get(name), self.description.get(name)
            if theirs != ours:
                raise SettingsError(
                    f"{origin}: contains the curve of another sample ({name}: {theirs!r}, now {ours!r}): "
                    "choose another folder, or use the same settings"
                )

    def _answers(self, steps: Iterable[int]) -> list[Path]:
        """Returns the files of the answers at these steps; empty without a folder."""
        if self.folder is None:
            return []
        names = [_file_name(step) for step in steps]
        return [self.folder / kind / name for kind in (ANSWERS, OUTPUTS) for name in names]

    def _remove(self, steps: Iterable[int]) -> None:
        for path in self._answers(steps):
            path.unlink(missing_ok=True)

    def _move(self, steps: Iterable[int], old: Path) -> None:
        try:
            for path in filter(Path.exists, self._answers(steps)):
                place = old / path.parent.name
                place.mkdir(exist_ok=True)
                path.rename(place / path.name)
        except OSError as error:
            raise writing_failed(old, error) from error

    def _log(self, row: Mapping[str, Any], table: pl.DataFrame | None) -> None:
        metrics = {
            self._prefix + name: value
            for name, value in row.items()
            if value is not None and name not in _UNLOGGED and not name.endswith(TASK_ANSWERS)
        }
        if self.sample.tasks:
            metrics[f"{self._prefix}missing"] = 1 - row["answers"] / len(self.sample.tasks)
        if self.tasks is not None:
            answered = sum(row[name] or 0 for name in row if name.endswith(TASK_ANSWERS))
            missing = 1 - answered / len(self.tasks.tasks)
            metrics[f"{self._prefix}{TASK_COLUMNS}missing"] = missing
        if self._question_metrics and row["question_scores"] is not None:
            scores = zip(self.sample.ids, row["question_scores"], strict=True)
            metrics |= {f"{self._prefix}questions/{q}": s for q, s in scores if s is not None}
        self._loggers.put(Entry(row["step"], metrics, f"{self._prefix}answers", table))


def _remove_unfinished(folder: Path) -> None:
    """Remove temporary files left by a killed process."""
    remove_unfinished(folder / CURVE)
    for kind in (ANSWERS, OUTPUTS):
        for path in (folder / kind).glob(".step_*.parquet.*.tmp"):
            path.unlink(missing_ok=True)


def _file_name(step: int) -> str:
    return f"step_{step:08d}.parquet"


def _old_folder(place: Path) -> Path:
    """Create the first of the folders `old-1`, `old-2`, … that does not exist."""
    names = (place / f"old-{number}" for number in count(1))
    folder = next(path for path in names if not path.exists())
    try:
        folder.mkdir()
    except OSError as error:
        raise writing_failed(folder, error) from error
    return folder
