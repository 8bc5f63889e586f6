"""Consecutive chunks of a file whose responses are scored together.

A question's table is read from memory once a batch, so three chunks of 7,500 responses take 0.85 of the CPU
time that they take one after the other. Everything but scoring goes chunk by chunk.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pfgen_rs import _native, io, lazy
from pfgen_rs.io import Chunk
from pfgen_rs.runs.score_store import Part
from pfgen_rs.scoring.batch import ScoreArrays

if TYPE_CHECKING:
    import polars as pl
else:
    pl = lazy.module("polars")

__all__ = ["Answers", "Gathered", "Numbers", "Waiting", "gathered"]

Numbers = NDArray[np.uint32]
# Scores answers, of which each is to the question with this number.
Answers: TypeAlias = "_native.Texts | pl.Series"
Scoring = Callable[[Answers, Numbers], ScoreArrays]

# Chunks are gathered until they have this many times the text of a block (`Options.text_size`): usually 3.
# With more, memory grows faster than time falls.
_TOGETHER = 2.5


class Waiting(NamedTuple):
    """A chunk with the numbers of its questions; `parts`: its scores, if an interrupted run has them."""

    chunk: Chunk
    numbers: Numbers
    parts: dict[str | None, Part] | None


class Gathered:
    """Chunks that are being scored. Iterating yields each with its scores, once, and keeps none."""

    def __init__(
        self, waiting: Iterable[Waiting], score: Scoring, *, tokens: bool, in_this_thread: bool
    ) -> None:
        self._waiting = deque(waiting)
        fresh = [each for each in self._waiting if each.parts is None]
        self._scores: Iterator[ScoreArrays] = iter(())
        if fresh:
            answers = _joined([each.chunk for each in fresh], tokens=tokens)
            numbers = np.concatenate([each.numbers for each in fresh])
            self._scores = (
                iter([score(answers, numbers)])
                if in_this_thread
                else io.begun(lambda: score(answers, numbers))
            )

    def __iter__(self) -> Iterator[tuple[Waiting, ScoreArrays | None]]:
        """Wait for the scores, and yield the chunks in order; those with parts have no others."""
        scores = next(self._scores, None)
        end = 0
        while self._waiting:
            each = self._waiting.popleft()
            if each.parts is not None or scores is None:
                yield each, None
                continue
            start, end = end, end + len(each.chunk)
            yield each, scores.rows(slice(start, end))
            del each  # before the next ones are scored


def _joined(chunks: Sequence[Chunk], *, tokens: bool) -> Answers:
    if tokens:
        return pl.concat([chunk.answers for chunk in chunks], rechunk=False)
    return _native.Texts.joined([chunk.texts for chunk in chunks])


def gathered(chunks: Iterable[Waiting], text_size: int) -> Generator[list[Waiting]]:
    """Yield consecutive chunks together: one at first, so that scoring begins, and soon several.

    If reading a chunk fails, the chunks before it are yielded first. `text_size`: bytes of text of a usual
    chunk.
    """
    together: list[Waiting] = []
    size, enough = 0, 1
    try:
        for each in chunks:
            together.append(each)
            size += each.chunk.size
            del each  # so that whoever takes them can free them
            if size >= enough:
                enough = min(2 * size, int(_TOGETHER * text_size))
                found, together, size = together, [], 0
                yield found
                del found
    except Exception:
        if together:
            yield together
        raise
    if together:
        yield together
