"""Loggers: functions that receive metrics and a step.

Any callable that accepts `logger({"pfgen/score": 0.71, …}, step)` is a logger. One that also has a number
`answers` and a method `log_answers(name, table, step)` receives that many answers of each step.
"""

import atexit
import json
import logging
import math
import os
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple
from weakref import WeakSet

import polars as pl

from pfgen_rs.errors import InputError, PfgenError
from pfgen_rs.extras import missing, needed
from pfgen_rs.io.ahead import THREADS
from pfgen_rs.io.atomic import write_atomic, writing_failed
from pfgen_rs.io.text import visible
from pfgen_rs.training.checks import reason_of, whole

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
        self.writer = _new_writer(place) if isinstance(place, str | os.PathLike) else place
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
        self.writer.add_text(name, "\n\n".join(map(_as_markdown, rows)), step)
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
            self.run = _active_run()
        for name in values.keys() - self._declared:
            self.run.define_metric(name, step_metric=self.axis)
            self._declared.add(name)
        self.run.log({**values, self.axis: step})


def _active_run() -> Any:
    import wandb

    if wandb.run is None:
        raise InputError("W&B has no active run: call wandb.init first, or pass a run")
    return wandb.run


def _new_writer(folder: str | os.PathLike[str]) -> Any:
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


def _as_markdown(row: dict[str, Any]) -> str:
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


# Calls loggers in threads of their own, so that a slow or blocked one delays nothing else.


_DEPTH = 64  # steps that wait for one logger, with the one it is called for
_PATIENCE = 30.0  # seconds that `close` waits for all loggers together
# With polars' SIGINT handler installed, a wait without a timeout could not be interrupted.
_TICK = 0.05


class Entry(NamedTuple):
    """What is logged of a step: its metrics and, if any logger wants them, its answers.

    `answers` is a table as returned by `answer_table`, `name` its name for loggers.
    """

    step: int
    metrics: dict[str, float]
    name: str
    answers: pl.DataFrame | None = None


class LoggerQueues:
    """Calls each logger in a thread of its own, step by step. Neither waits for loggers nor raises.

    If a logger lags behind by more than 64 steps, further steps are dropped for it, with a warning in the log
    `pfgen_rs` at the first one, and another one with their number when the queues are closed.
    """

    def __init__(self, loggers: Sequence[Logger]) -> None:
        # `Finished` never blocks, and trainers expect its metrics as soon as a step is scored.
        self._prompt = [logger for logger in loggers if isinstance(logger, Finished)]
        self._queues = [_LoggerQueue(one) for one in loggers if not isinstance(one, Finished)]

    @property
    def want_answers(self) -> bool:
        """Whether any logger wants the answers."""
        return any(queue.answers for queue in self._queues)

    def put(self, entry: Entry) -> None:
        """Have a step logged."""
        for logger in self._prompt:
            logger(dict(entry.metrics), entry.step)
        for queue in self._queues:
            queue.put(entry)

    def close(self) -> None:
        """Wait for the loggers, at most 30 seconds, and report what was dropped. May be called again."""
        deadline = time.monotonic() + _PATIENCE
        for queue in self._queues:
            queue.close(deadline)


class _LoggerQueue:
    """Calls one logger. Its thread runs only while steps are waiting."""

    def __init__(self, logger: Logger) -> None:
        self._logger = logger
        self._name = getattr(logger, "__name__", type(logger).__name__)
        self.answers = int(getattr(logger, "answers", 0))
        self._waiting: deque[Entry] = deque()
        self._running = self._abandoned = False
        self._dropped = 0
        self._changed = threading.Condition()
        _UNFINISHED.add(self)

    def put(self, entry: Entry) -> None:
        if self.answers and entry.answers is not None:
            entry = entry._replace(answers=entry.answers.head(self.answers))
        else:
            entry = entry._replace(answers=None)
        with self._changed:
            if (self._abandoned and self._running) or len(self._waiting) >= _DEPTH:
                self._drop(entry.step)
                return
            self._waiting.append(entry)
            if not self._running:
                self._start()

    def close(self, deadline: float) -> None:
        with self._changed:
            while self._running and not self._abandoned and time.monotonic() < deadline:
                self._changed.wait(_TICK)
            self._abandoned = self._running
            self._dropped += len(self._waiting)
            self._waiting.clear()
            dropped, self._dropped = self._dropped, 0
        if dropped:
            steps = "1 step" if dropped == 1 else f"{dropped} steps"
            _LOG.warning("the logger %s was too slow: %s not logged", self._name, steps)

    def _drop(self, step: int) -> None:
        self._dropped += 1
        if self._dropped == 1:
            _LOG.warning(
                "the logger %s lags behind by %d steps: dropping step %d and others until it has room",
                self._name,
                len(self._waiting),
                step,
            )

    def _start(self) -> None:
        thread = threading.Thread(target=self._run, name=THREADS, daemon=True)
        self._running, self._abandoned = True, False
        try:
            thread.start()
        except RuntimeError:  # no more threads
            self._running = False
            self._drop(self._waiting.pop().step)

    def _run(self) -> None:
        entry: Entry | None = None
        while (entry := self._next(entry)) is not None:
            try:
                self._logger(dict(entry.metrics), entry.step)
                if entry.answers is not None:
                    self._logger.log_answers(entry.name, entry.answers, entry.step)  # type: ignore[attr-defined]
            except BaseException as error:
                _warn(
                    f"the logger {self._name} failed at step {entry.step}: {type(error).__name__}: {error}"
                )

    def _next(self, done: Entry | None) -> Entry | None:
        """Returns the next entry, which keeps its place until it is done; without any, the thread ends."""
        with self._changed:
            if self._waiting and self._waiting[0] is done:
                self._waiting.popleft()
            if self._waiting:
                return self._waiting[0]
            self._running = False
            self._changed.notify_all()
            return None


def _warn(text: str) -> None:
    try:
        warnings.warn(text, RuntimeWarning, stacklevel=2)
    except RuntimeWarning:  # nobody could catch it in this thread
        _LOG.warning("%s", text)


_UNFINISHED: WeakSet[_LoggerQueue] = WeakSet()


@atexit.register
def _finish_all() -> None:
    """Log what is waiting when the process ends, unless a logger is blocked."""
    deadline = time.monotonic() + _PATIENCE
    for queue in list(_UNFINISHED):
        queue.close(deadline)


if hasattr(os, "register_at_fork"):  # the threads are not copied
    os.register_at_fork(after_in_child=_UNFINISHED.clear)
