"""Loggers: functions that receive metrics and a step.

Any callable that accepts `logger({"pfgen/score": 0.71, …}, step)` is a logger.
"""

import atexit
import json
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from queue import Queue
from typing import Any
from weakref import WeakSet

from pfgen_rs import InputError, PfgenError, extras
from pfgen_rs.io import ahead, atomic
from pfgen_rs.training import checks

LOG = logging.getLogger("pfgen_rs")
_AXIS = "pfgen/step"

Logger = Callable[[dict[str, float], int], None]
"""Logs numbers by name, of a step."""


class JsonLines:
    """Appends a line of JSON to a file for each evaluated step: `{"step": 500, "pfgen/score": …}`.

    A step that is evaluated again, since training went back, is appended again. The file is created
    immediately, so that an unwritable path is reported early, and opened again for each line, so that it can
    be read and moved at any time. Raises `OutputError`.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._append("")

    def __call__(self, metrics: dict[str, float], step: int) -> None:
        """Append a line."""
        self._append(json.dumps({"step": step, **metrics}, ensure_ascii=False) + "\n")

    def _append(self, content: str) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as file:
                file.write(content.encode())
        except OSError as error:
            raise atomic.writing_failed(self.path, error) from error


class TensorBoard:
    """Logs scalars to TensorBoard.

    `place`: a writer of `tensorboardX` or `torch.utils.tensorboard`, or a folder for a new writer of the
    first of these that is installed. Raises `PfgenError` if neither is installed, `InputError` for other
    values, and `OutputError`.
    """

    def __init__(self, place: Any) -> None:
        self.writer = _new_writer(place) if isinstance(place, str | os.PathLike) else place
        if not callable(getattr(self.writer, "add_scalar", None)):
            raise InputError(
                f"TensorBoard: expected a writer or a folder, not {type(place).__name__}"
            )

    def __call__(self, metrics: dict[str, float], step: int) -> None:
        """Add a scalar for each metric, and flush the writer."""
        for name, value in metrics.items():
            self.writer.add_scalar(name, value, step)
        self.writer.flush()


class WandB:
    """Logs metrics to Weights & Biases, with their own step axis.

    W&B drops values logged for a step before the current one, but scores are only available some steps
    later. So the step is logged as a metric, `pfgen/step`, which the others use as their x axis.

    `run`: as returned by `wandb.init` (default: the active run when the first score is logged). Raises
    `PfgenError` if wandb is not installed, and `InputError` if `run` is not a run.
    """

    def __init__(self, run: Any = None) -> None:
        if run is None:
            extras.needed("wandb", "wandb")
        methods = ("log", "define_metric")
        if run is not None and not all(callable(getattr(run, name, None)) for name in methods):
            raise InputError(f"WandB: expected a run of wandb.init, not {type(run).__name__}")
        self.run = run
        self._declared: set[str] = set()

    def __call__(self, metrics: dict[str, Any], step: int) -> None:
        """Log the metrics of a step."""
        if self.run is None:
            self.run = import_module("wandb").run
            if self.run is None:
                raise InputError("W&B has no active run: call wandb.init first, or pass a run")
        for name in metrics.keys() - self._declared:
            self.run.define_metric(name, step_metric=_AXIS)
            self._declared.add(name)
        self.run.log({**metrics, _AXIS: step})


class MLflow:
    """Logs metrics to MLflow, at their steps.

    `run_id`: the run (default: the active one, or a new one, as `MLFLOW_RUN_ID` and other variables of MLflow
    say). Raises `PfgenError` if mlflow is not installed.
    """

    def __init__(self, run_id: str | None = None) -> None:
        self._mlflow = extras.needed("mlflow", "mlflow")
        if run_id is None:
            run_id = (self._mlflow.active_run() or self._mlflow.start_run()).info.run_id
        self.run_id = run_id

    def __call__(self, metrics: dict[str, float], step: int) -> None:
        """Log the metrics of a step."""
        # The active run is that of a thread, which is not this one.
        self._mlflow.log_metrics(metrics, step=step, run_id=self.run_id)


def _wandb(stack: ExitStack) -> WandB:
    run = extras.needed("wandb", "wandb").init()
    stack.callback(run.finish)
    return WandB(run)


def _mlflow(stack: ExitStack) -> MLflow:
    logger = MLflow()
    stack.callback(import_module("mlflow").end_run)
    return logger


_BY_NAME: dict[str, Callable[[Path, ExitStack], Logger]] = {
    "jsonl": lambda folder, _: JsonLines(folder / "metrics.jsonl"),
    "tensorboard": lambda folder, _: TensorBoard(folder / "tensorboard"),
    "wandb": lambda _, stack: _wandb(stack),
    "mlflow": lambda _, stack: _mlflow(stack),
}
NAMES = tuple(_BY_NAME)
"""The loggers that `named` knows."""


def named(name: str, folder: Path, stack: ExitStack) -> Logger:
    """Returns a new logger: to `metrics.jsonl` or `tensorboard` in a folder, or to a run of wandb or mlflow.

    The run is as the variables of these packages say, and is finished by `stack`. Raises `PfgenError`.
    """
    checks.check_choice(name, "log", NAMES)
    return _BY_NAME[name](folder, stack)


def _new_writer(folder: str | os.PathLike[str]) -> Any:
    try:
        from tensorboardX import SummaryWriter
    except ImportError as error:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:  # the other package is the one to install
            raise extras.missing("tensorboardX", "tensorboard", error, PfgenError) from error
    try:
        return SummaryWriter(os.fspath(folder))
    except OSError as error:
        raise atomic.writing_failed(Path(folder), error) from error


# Calls loggers in threads of their own, so that a slow or blocked one delays nothing else.

_DEPTH = 64  # steps that wait for one logger, with the one it is called for
_PATIENCE = 30.0  # seconds that `close` waits for all loggers together
# With polars' SIGINT handler installed, a wait without a timeout could not be interrupted.
_TICK = 0.05


class Finished:
    """Stores metrics until `take` is called, for trainers that must log on their own thread."""

    def __init__(self) -> None:
        self._entries: deque[tuple[int, dict[str, float]]] = deque()

    def __call__(self, metrics: dict[str, float], step: int) -> None:
        """Store the metrics of a step."""
        self._entries.append((step, metrics))

    def take(self) -> Iterator[tuple[int, dict[str, float]]]:
        """Yield the step and metrics of each step scored since the last call."""
        while self._entries:
            yield self._entries.popleft()


class LoggerQueue:
    """Calls a logger in a thread of its own, step by step. Neither waits for it nor raises.

    If it lags behind by more than 64 steps, further steps are
    dropped, with a warning in the log `pfgen_rs` at the first one, and another one with their number when the
    queue is closed. The thread starts with the first step, and ends then.
    """

    def __init__(self, logger: Logger) -> None:
        self._logger = logger
        self._name = getattr(logger, "__name__", type(logger).__name__)
        self._steps: Queue[tuple[dict[str, float], int] | None] = Queue()
        self._dropped = 0
        self._closed = False

    def __call__(self, metrics: dict[str, float], step: int) -> None:
        """Have the metrics of a step logged."""
        if self._steps.unfinished_tasks >= _DEPTH:
            self._dropped += 1
            if self._dropped == 1:
                LOG.warning(
                    "the logger %s lags behind by %d steps: dropping step %d and others until it has room",
                    *(self._name, _DEPTH, step),
                )
            return
        self._steps.put((dict(metrics), step))
        if self not in _UNFINISHED:
            _UNFINISHED.add(self)
            threading.Thread(target=self._run, name=ahead.THREADS, daemon=True).start()

    def close(self, deadline: float) -> None:
        """Wait for the logger, and report what was dropped."""
        if self._closed:
            return
        while self._steps.unfinished_tasks and time.monotonic() < deadline:
            time.sleep(_TICK)
        self._closed = True
        self._dropped += self._steps.unfinished_tasks
        self._steps.put(None)
        if self._dropped:
            steps = "1 step" if self._dropped == 1 else f"{self._dropped} steps"
            LOG.warning("the logger %s was too slow: %s not logged", self._name, steps)

    def _run(self) -> None:
        while (entry := self._steps.get()) is not None:
            if not self._closed:
                self._call(*entry)
            self._steps.task_done()

    def _call(self, metrics: dict[str, float], step: int) -> None:
        try:
            self._logger(metrics, step)
        except BaseException as error:
            reason = f"{type(error).__name__}: {error}"
            LOG.warning("the logger %s failed at step %d: %s", self._name, step, reason)


_UNFINISHED: WeakSet[LoggerQueue] = WeakSet()


def close_queues(queues: Iterable[Logger]) -> None:
    """Wait for loggers, at most 30 seconds, and report what was dropped. May be called again."""
    deadline = time.monotonic() + _PATIENCE
    for queue in queues:
        if isinstance(queue, LoggerQueue):
            queue.close(deadline)


@atexit.register
def _finish_all() -> None:
    """Log what is waiting when the process ends, unless a logger is blocked."""
    close_queues(list(_UNFINISHED))


if hasattr(os, "register_at_fork"):  # the threads are not copied
    os.register_at_fork(after_in_child=_UNFINISHED.clear)
