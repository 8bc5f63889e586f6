"""Where metrics go: functions of metrics and a step.

Anything that can be called so is a logger: `logger({"pfgen/score": 0.71, …}, step)`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from pfgen_rs.errors import InputError, PfgenError
from pfgen_rs.extras import missing, needed
from pfgen_rs.io.atomic import writing_failed

__all__ = ["Finished", "JsonLines", "Logger", "TensorBoard", "WandB"]

Logger = Callable[[dict[str, float], int], None]


class JsonLines:
    """A line of JSON for each step that was evaluated, appended to a file: `{"step": 500, "pfgen/score": …}`.

    The file is opened for each line, so it can be moved and read at any time, and made at once, so that a
    place that cannot be written shows early. Raises `OutputError`.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._append(b"")

    def __call__(self, metrics: dict[str, float], step: int) -> None:
        """Append a line."""
        line = json.dumps({"step": step, **metrics}, ensure_ascii=False) + "\n"
        self._append(line.encode())

    def _append(self, content: bytes) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as file:
                file.write(content)
        except OSError as error:
            raise writing_failed(self.path, error) from error


class TensorBoard:
    """Scalars for TensorBoard.

    `place`: a writer (of `tensorboardX` or `torch.utils.tensorboard`), or the folder for one of our own,
    which the first of the two that is installed makes. Raises `PfgenError` where none is, and
    `OutputError`.
    """

    def __init__(self, place: Any) -> None:
        self.writer = _writer(place) if isinstance(place, str | os.PathLike) else place
        if not callable(getattr(self.writer, "add_scalar", None)):
            raise InputError(f"TensorBoard needs a writer or a folder, not {type(place).__name__}")

    def __call__(self, metrics: dict[str, float], step: int) -> None:
        """Add a scalar for each metric, so that it can be seen at once."""
        for name, value in metrics.items():
            self.writer.add_scalar(name, value, step)
        self.writer.flush()


class WandB:
    """Metrics for Weights & Biases, with the step as an axis of their own.

    W&B drops what is logged for a step before its present one, and a score is known some steps later. Hence
    the step is logged as a metric, `pfgen/step` (`axis`), and the others are declared to be drawn over it.

    `run`: as `wandb.init` gave it; without it the one that is active when the first score is logged. Raises
    `PfgenError` where wandb is not installed, and `InputError` for what is no run.
    """

    def __init__(self, run: Any = None, *, axis: str = "pfgen/step") -> None:
        if run is None:
            needed("wandb", "wandb")
        elif not all(callable(getattr(run, name, None)) for name in ("log", "define_metric")):
            raise InputError(f"WandB needs a run of wandb.init, not {type(run).__name__}")
        self.run = run
        self.axis = axis
        self._declared: set[str] = set()

    def __call__(self, metrics: dict[str, float], step: int) -> None:
        """Log the metrics of a step."""
        if self.run is None:
            self.run = _active_run()
        for name in metrics.keys() - self._declared:
            self.run.define_metric(name, step_metric=self.axis)
            self._declared.add(name)
        self.run.log({**metrics, self.axis: step})


def _active_run() -> Any:
    import wandb

    if wandb.run is None:
        raise InputError("W&B has no active run: call wandb.init first, or pass a run")
    return wandb.run


def _writer(folder: str | os.PathLike[str]) -> Any:
    try:
        from tensorboardX import SummaryWriter
    except ImportError:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise missing("tensorboardX", "tensorboard", error, PfgenError) from error
    try:
        return SummaryWriter(os.fspath(folder))
    except OSError as error:
        raise writing_failed(Path(folder), error) from error


class Finished:
    """A logger that keeps metrics until `take`: for trainers whose own logs want their own thread."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[tuple[int, dict[str, float]]] = SimpleQueue()

    def __call__(self, metrics: dict[str, float], step: int) -> None:
        """Keep the metrics of a step."""
        self._queue.put((step, metrics))

    def take(self) -> Iterator[tuple[int, dict[str, float]]]:
        """Step and metrics of each step scored since the last time."""
        while True:
            try:
                yield self._queue.get_nowait()
            except Empty:
                return
