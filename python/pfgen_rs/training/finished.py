"""Scores on their way back to the training thread."""

from __future__ import annotations

from collections.abc import Iterator
from queue import Empty, SimpleQueue

__all__ = ["Finished"]


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
