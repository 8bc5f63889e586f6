"""Loggers: functions that receive metrics and a step.

Any callable that accepts `logger({"pfgen/score": 0.71, …}, step)` is a logger. One that also has a number
`answers` and a method `log_answers(name, table, step)` receives that many answers of each step.
"""

from __future__ import annotations

import json
import logging
import math
import os
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import polars as pl

from pfgen_rs.errors import InputError, PfgenError
from pfgen_rs.extras import missing, needed
from pfgen_rs.io.atomic import write_atomic, writing_failed
from pfgen_rs.io.safe_text import visible
from pfgen_rs.training.checks import whole
from pfgen_rs.training.skipped import reason_of

__all__ = ["Finished", "JsonLines", "Logger", "TensorBoard", "WandB", "hand_over"]

_LOG = logging.getLogger("pfgen_rs")

Logger = Callable[[dict[str, float], int], None]
"""Logs numbers by name, of a step."""


class JsonLines:
    """Appends a line of JSON to a file for each evaluated step: `{"step": 500, "pfgen/score": …}`.

    If training went back or starts anew, lines with these metrics from the step on are moved to `PATH.old-1`
    (`.old-2`, …), so that the file has the steps of the curve. Other lines stay. The file is created
    immediately, so that an unwritable path is reported early, and opened again for each line, so that it can
    be read and moved at any time. Raises `OutputError`.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._append(b"")
        self._last: float = math.inf  # step in the file, which is read when the first one is logged

    def __call__(self, metrics: dict[str, float], step: int) -> None:
        """Append a line."""
        line = json.dumps({"step": step, **metrics}, ensure_ascii=False) + "\n"
        if step <= self._last:
            self._set_aside(metrics, step)
        self._append(line.encode())
        self._last = step

    def _set_aside(self, metrics: dict[str, float], step: int) -> None:
        """Move the lines of these metrics from this step on to a file of their own."""
        kept: list[bytes] = []
        dropped: list[bytes] = []
        try:
            lines = self.path.read_bytes().splitlines(keepends=True)
        except FileNotFoundError:
            return
        except OSError as error:
            raise writing_failed(self.path, error) from error
        for line in lines:
            row = _json_row(line)
            later = row.get("step", -1) >= step and not metrics.keys().isdisjoint(row)
            (dropped if later else kept).append(line)
        if dropped:
            names = (Path(f"{self.path}.old-{number}") for number in count(1))
            write_atomic(next(name for name in names if not name.exists()), b"".join(dropped))
            write_atomic(self.path, b"".join(kept))

    def _append(self, content: bytes) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as file:
                file.write(content)
        except OSError as error:
            raise writing_failed(self.path, error) from error


def _json_row(line: bytes) -> dict[str, Any]:
    """Returns a line that has a step; empty for any other."""
    try:
        row = json.loads(line)
    except ValueError:
        return {}
    return row if isinstance(row, dict) and isinstance(row.get("step"), int) else {}


class TensorBoard:
    """Logs scalars to TensorBoard and, on request, answers as text.

    `place`: a writer of `tensorboardX` or `torch.utils.tensorboard`, or a folder for a new writer of the
    first of these that is installed. `answers`: the number of answers to log of each step, the same ones each
    time, as `pfgen/answers`. Raises `PfgenError` if neither is installed, `InputError` for other values, and
    `OutputError`.
    """

    def __init__(self, place: Any, *, answers: int = 0) -> None:
        self.answers = whole(answers, "the number of answers")
        self.writer = (
            _tensorboard_logger_writer(place) if isinstance(place, str | os.PathLike) else place
        )
        needs = ("add_scalar", "add_text") if answers else ("add_scalar",)
        if not all(callable(getattr(self.writer, name, None)) for name in needs):
            raise InputError(
                f"TensorBoard: expected a writer or a folder, not {type(place).__name__}"
            )

    def __call__(self, metrics: dict[str, float], step: int) -> None:
        """Add a scalar for each metric, and flush the writer."""
        for name, value in metrics.items():
            self.writer.add_scalar(name, value, step)
        self.writer.flush()

    def log_answers(self, name: str, answers: pl.DataFrame, step: int) -> None:
        """Add the answers, which have the columns of `answer_table`, as one text."""
        rows = answers.iter_rows(named=True)
        self.writer.add_text(name, "\n\n".join(map(_answer_for_tensorboard_logger, rows)), step)
        self.writer.flush()


class WandB:
    """Logs metrics to Weights & Biases, with their own step axis.

    W&B drops values logged for a step before the current one, but scores are only available some steps
    later. So the step is logged as a metric, `pfgen/step` (`axis`), which the others use as their x axis.

    `run`: as returned by `wandb.init` (default: the active run when the first score is logged). `answers`:
    the number of answers to log of each step, the same ones each time, as the table `pfgen/answers`. Raises
    `PfgenError` if wandb is not installed, and `InputError` if `run` is not a run.
    """

    def __init__(self, run: Any = None, *, axis: str = "pfgen/step", answers: int = 0) -> None:
        self.answers = whole(answers, "the number of answers")
        if run is None or answers:
            needed("wandb", "wandb")
        methods = ("log", "define_metric")
        if run is not None and not all(callable(getattr(run, name, None)) for name in methods):
            raise InputError(f"WandB: expected a run of wandb.init, not {type(run).__name__}")
        self.run = run
        self.axis = axis
        self._declared: set[str] = set()

    def __call__(self, metrics: dict[str, float], step: int) -> None:
        """Log the metrics of a step."""
        self._log(metrics, step)

    def log_answers(self, name: str, answers: pl.DataFrame, step: int) -> None:
        """Log the answers, which have the columns of `answer_table`, as a table."""
        import wandb

        table = wandb.Table(columns=answers.columns, data=[list(row) for row in answers.rows()])
        self._log({name: table}, step)

    def _log(self, values: dict[str, Any], step: int) -> None:
        if self.run is None:
            self.run = _wandb_logger_run()
        for name in values.keys() - self._declared:
            self.run.define_metric(name, step_metric=self.axis)
            self._declared.add(name)
        self.run.log({**values, self.axis: step})


def _wandb_logger_run() -> Any:
    import wandb

    if wandb.run is None:
        raise InputError("W&B has no active run: call wandb.init first, or pass a run")
    return wandb.run


def _tensorboard_logger_writer(folder: str | os.PathLike[str]) -> Any:
    try:
        from tensorboardX import SummaryWriter
    except ImportError as error:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:  # the other package is the one to install
            raise missing("tensorboardX", "tensorboard", error, PfgenError) from error
    try:
        return SummaryWriter(os.fspath(folder))
    except OSError as error:
        raise writing_failed(Path(folder), error) from error


def _answer_for_tensorboard_logger(row: dict[str, Any]) -> str:
    """Returns an answer as Markdown; the texts are code blocks, since they may contain any markup."""
    lines = [f"Q: {row['question']}", *f"A: {row['answer']}".split("\n")]
    block = "\n".join(f"    {visible(line)}" for line in lines)
    return f"**{row['question_id']}** score {row['average']:.4f}\n\n{block}"


class Finished:
    """Stores metrics until `take` is called, for trainers that must log on their own thread."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[tuple[int, dict[str, float]]] = SimpleQueue()

    def __call__(self, metrics: dict[str, float], step: int) -> None:
        """Store the metrics of a step."""
        self._queue.put((step, metrics))

    def take(self) -> Iterator[tuple[int, dict[str, float]]]:
        """Yield the step and metrics of each step scored since the last call."""
        while True:
            try:
                yield self._queue.get_nowait()
            except Empty:
                return


def hand_over(log: Callable[[], object], name: str, step: int, on_error: str) -> None:
    """Have a trainer's own logger log a step; a failure is raised or, with `on_error="warn"`, logged."""
    try:
        log()
    except Exception as error:
        if on_error == "raise":
            raise
        _LOG.warning("%s failed at step %d: %s", name, step, reason_of(error))
