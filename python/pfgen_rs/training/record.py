"""What is kept of a training run: curve, answers, and what loggers are told."""

from __future__ import annotations

import logging
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import polars as pl

from pfgen_rs.errors import OutputError
from pfgen_rs.io.atomic import remove_unfinished, writing_failed
from pfgen_rs.io.table_writer import write_parquet
from pfgen_rs.training.curve import CURVE, Curve
from pfgen_rs.training.loggers import Logger
from pfgen_rs.training.measure import answer_table, measure, row_of
from pfgen_rs.training.sample import FixedSample

__all__ = ["ANSWERS", "Record", "metrics_of"]

ANSWERS = "answers"
_LOG = logging.getLogger("pfgen_rs")
_UNLOGGED = {"step", "questions", "answers", "question_scores"}


class Record:
    """The curve of one sample, its files in `folder` (`None`: kept in memory alone), and its loggers.

    `clean` makes an answer of a generated text. Answers are written before the curve names their step. Safe
    to share between threads. Raises `OutputError` where `folder` is a file, and what `Curve` raises.
    """

    def __init__(
        self,
        sample: FixedSample,
        clean: Callable[[str], str],
        folder: Path | None,
        loggers: Sequence[Logger] = (),
        prefix: str = "",
    ) -> None:
        if folder is not None and folder.exists() and not folder.is_dir():
            raise OutputError(f"{folder}: not a directory: choose another for the curve")
        if folder is not None:
            _remove_unfinished(folder)
        self.sample, self.folder = sample, folder
        self._clean = clean
        self._loggers, self._prefix = tuple(loggers), prefix
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
        self, step: int, tokens: int | None, texts: Sequence[str], seconds: float
    ) -> dict[str, Any]:
        """Score what was generated at a step, in so many seconds; write it, tell loggers, give the row."""
        measured = measure(self.sample, list(map(self._clean, texts)))
        with self._lock:
            baseline = self._curve.baseline if step else None
            row = row_of(measured, step, tokens, baseline) | {"generation_seconds": seconds}
            for path in self._answers([step]):
                write_parquet(path, answer_table(self.sample, measured))
            self._curve.put(row)
            self._curve.save()
        self._log(row)
        return row

    def drop_from(self, step: int) -> None:
        """Forget this step and all later ones, and their answers."""
        with self._lock:
            dropped = self._curve.drop_from(step)
            if dropped:
                self._curve.save()
                self._remove(dropped)

    def set_aside(self, step: int) -> None:
        """Forget this step and later ones of an earlier run; its curve, and their answers, move to `old-N`.

        N is the first number that is free. Logged as a warning, since it may not have been meant.
        """
        with self._lock:
            dropped = [row["step"] for row in self._curve.rows if row["step"] >= step]
            if self.folder is None or not dropped:
                return
            old = _new_folder(self.folder)
            self._curve.save_as(old / CURVE)
            self._curve.drop_from(step)
            self._curve.save()
            self._move(dropped, old / ANSWERS)
        _LOG.warning(_moved(self.folder, step, dropped, old))

    def replace(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Take these rows instead of those that there are; answers of steps that go are removed."""
        with self._lock:
            before = {row["step"] for row in self._curve.rows}
            self._curve.replace(rows)
            self._curve.save()
            self._remove(sorted(before - {row["step"] for row in self._curve.rows}))

    def check(self, sample: Mapping[str, Any], origin: str) -> None:
        """Raise `SettingsError` where `origin` is of another sample."""
        self._curve.check(sample, origin)

    def _answers(self, steps: Iterable[int]) -> list[Path]:
        """Files of the answers at these steps, where there is a folder for them."""
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

    def _log(self, row: Mapping[str, Any]) -> None:
        metrics = metrics_of(row, self._prefix)
        for logger in self._loggers:
            try:
                logger(dict(metrics), row["step"])
            except Exception as error:
                name = getattr(logger, "__name__", type(logger).__name__)
                text = f"the logger {name} failed at step {row['step']}: {type(error).__name__}: {error}"
                warnings.warn(text, RuntimeWarning, stacklevel=2)


def _remove_unfinished(folder: Path) -> None:
    """Remove what a process that was killed was just writing."""
    remove_unfinished(folder / CURVE)
    for path in (folder / ANSWERS).glob(".step_*.parquet.*.tmp"):
        path.unlink(missing_ok=True)


def _new_folder(place: Path) -> Path:
    """A folder `old-1`, `old-2`, … that was not there."""
    names = (place / f"old-{number}" for number in count(1))
    folder = next(path for path in names if not path.exists())
    try:
        folder.mkdir()
    except OSError as error:
        raise writing_failed(folder, error) from error
    return folder


def _moved(folder: Path, step: int, steps: Sequence[int], old: Path) -> str:
    many = "1 step" if len(steps) == 1 else f"{len(steps)} steps"
    return (
        f"{folder} holds the curve of an earlier run, and training begins at step {step}: {many} from there "
        f"on ({steps[0]} to {steps[-1]}) moved to {old}; load_state_dict goes on with a curve"
    )


def metrics_of(row: Mapping[str, Any], prefix: str) -> dict[str, float]:
    """What loggers are told of a row: its scores that there are, by their names with a prefix."""
    kept = {name: value for name, value in row.items() if name not in _UNLOGGED}
    return {prefix + name: value for name, value in kept.items() if value is not None}
