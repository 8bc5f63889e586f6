"""The record of a training run: its curve, answers, and logged metrics."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import polars as pl

from pfgen_rs.errors import OutputError
from pfgen_rs.io.atomic import remove_unfinished, writing_failed
from pfgen_rs.io.table_writer import write_parquet
from pfgen_rs.training.curve import CURVE, Curve
from pfgen_rs.training.logger_queue import Entry, LoggerQueues
from pfgen_rs.training.loggers import Logger
from pfgen_rs.training.measure import answer_table, measure, row_of
from pfgen_rs.training.sample import FixedSample

__all__ = ["ANSWERS", "Record", "metrics_of"]

ANSWERS = "answers"
_LOG = logging.getLogger("pfgen_rs")
_UNLOGGED = {"step", "questions", "answers", "question_scores"}


class Record:
    """The curve of one sample, its files in `folder` (`None`: in memory only), and its loggers.

    `clean` turns generated text into an answer. The answers of a step are written before the curve lists the
    step. `question_metrics`: whether loggers receive the score of each question, too. Loggers are called in
    threads of their own: see `LoggerQueues`. Thread-safe. Raises `OutputError` if `folder` is a file, and any
    error of `Curve`.
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
    ) -> None:
        if folder is not None and folder.exists() and not folder.is_dir():
            raise OutputError(f"{folder}: not a directory: choose another folder for the curve")
        if folder is not None:
            _remove_unfinished_record(folder)
        self.sample, self.folder = sample, folder
        self._clean = clean
        self._loggers, self._prefix = LoggerQueues(loggers), prefix
        self._question_metrics = question_metrics
        self._curve = Curve(sample.description, None if folder is None else folder / CURVE)
        self._lock = threading.Lock()

    @property
    def frame(self) -> pl.DataFrame:
        """The curve as a table."""
        with self._lock:
            return self._curve.frame

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of the curve."""
        with self._lock:
            return self._curve.rows

    def add(
        self, step: int, tokens: int | None, texts: Sequence[str | None], seconds: float
    ) -> dict[str, Any]:
        """Score the texts generated at a step in `seconds`, write and log the results, and return the row.

        `None` is a task without a text. If the results cannot be written, the step is not added.
        """
        answers = [None if text is None else self._clean(text) for text in texts]
        measured = measure(self.sample, answers)
        table = None
        if self.folder is not None or self._loggers.want_answers:
            table = answer_table(self.sample, measured)
        with self._lock:
            baseline = self._curve.baseline if step else None
            row = row_of(measured, step, tokens, baseline) | {"generation_seconds": seconds}
            self._write(row, table)
        self._log(row, table)
        return row

    def close(self) -> None:
        """Wait for the loggers, for a limited time, and report what they did not receive."""
        self._loggers.close()

    def _write(self, row: dict[str, Any], table: pl.DataFrame | None) -> None:
        step = row["step"]
        if table is not None:
            for path in self._answers([step]):
                write_parquet(path, table)
        self._curve.put(row)
        try:
            self._curve.save()
        except Exception:
            self._curve.remove(step)
            raise

    def drop_from(self, step: int) -> None:
        """Drop this step and all later ones, with their answers."""
        with self._lock:
            dropped = self._curve.drop_from(step)
            if dropped:
                self._curve.save()
                self._remove(dropped)

    def set_aside(self, step: int) -> None:
        """Drop this step and later ones of an earlier run, saving its curve and their answers in `old-N`.

        N is the first free number. Logs a warning, since this may be unintended.
        """
        with self._lock:
            dropped = [row["step"] for row in self._curve.rows if row["step"] >= step]
            if self.folder is None or not dropped:
                return
            old = _folder_for_old_record(self.folder)
            self._curve.save_as(old / CURVE)
            self._curve.drop_from(step)
            self._curve.save()
            self._move(dropped, old / ANSWERS)
        _LOG.warning(_moved_record(self.folder, step, dropped, old))

    def replace(self, rows: Iterable[Mapping[str, Any]], keep: Iterable[int] = ()) -> None:
        """Replace all rows except those of the steps in `keep`, and remove the answers of dropped steps."""
        with self._lock:
            before = {row["step"] for row in self._curve.rows}
            kept = [row for row in self._curve.rows if row["step"] in set(keep)]
            self._curve.replace([*kept, *rows])
            self._curve.save()
            self._remove(sorted(before - {row["step"] for row in self._curve.rows}))

    def check(self, sample: Mapping[str, Any], origin: str) -> None:
        """Raise `SettingsError` if `origin` is of another sample."""
        self._curve.check(sample, origin)

    def _answers(self, steps: Iterable[int]) -> list[Path]:
        """Returns the files of the answers at these steps; empty without a folder."""
        if self.folder is None:
            return []
        return [self.folder / ANSWERS / f"step_{step:08d}.parquet" for step in steps]

    def _remove(self, steps: Iterable[int]) -> None:
        for path in self._answers(steps):
            path.unlink(missing_ok=True)

    def _move(self, steps: Iterable[int], place: Path) -> None:
        try:
            place.mkdir()
            for path in filter(Path.exists, self._answers(steps)):
                path.rename(place / path.name)
        except OSError as error:
            raise writing_failed(place, error) from error

    def _log(self, row: Mapping[str, Any], table: pl.DataFrame | None) -> None:
        metrics = metrics_of(row, self._prefix)
        metrics[f"{self._prefix}missing"] = 1 - row["answers"] / len(self.sample.tasks)
        if self._question_metrics:
            scores = zip(self.sample.ids, row["question_scores"], strict=True)
            metrics |= {f"{self._prefix}questions/{q}": s for q, s in scores if s is not None}
        self._loggers.put(Entry(row["step"], metrics, f"{self._prefix}answers", table))


def _remove_unfinished_record(folder: Path) -> None:
    """Remove temporary files left by a killed process."""
    remove_unfinished(folder / CURVE)
    for path in (folder / ANSWERS).glob(".step_*.parquet.*.tmp"):
        path.unlink(missing_ok=True)


def _folder_for_old_record(place: Path) -> Path:
    """Create the first of the folders `old-1`, `old-2`, … that does not exist."""
    names = (place / f"old-{number}" for number in count(1))
    folder = next(path for path in names if not path.exists())
    try:
        folder.mkdir()
    except OSError as error:
        raise writing_failed(folder, error) from error
    return folder


def _moved_record(folder: Path, step: int, steps: Sequence[int], old: Path) -> str:
    many = "1 step" if len(steps) == 1 else f"{len(steps)} steps"
    return (
        f"{folder} contains the curve of an earlier run, but training starts at step {step}: moved {many} "
        f"({steps[0]} to {steps[-1]}) to {old}. To continue a curve, use load_state_dict"
    )


def metrics_of(row: Mapping[str, Any], prefix: str) -> dict[str, float]:
    """Returns the metrics of a row for loggers: its non-null scores, with prefixed names."""
    kept = {name: value for name, value in row.items() if name not in _UNLOGGED}
    return {prefix + name: value for name, value in kept.items() if value is not None}
