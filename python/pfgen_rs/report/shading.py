"""How common an answer's characters are among the reference answers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs.question_set import QuestionSet

__all__ = ["covering", "window_counts"]

Counts = NDArray[np.uint32]


def window_counts(
    benchmark: QuestionSet, question_id: str, answers: Sequence[str]
) -> tuple[Counts, NDArray[np.int64]]:
    """For every character of every answer: reference answers that contain the 3 characters around it.

    The windows are those of `^answer$`, whose begin and end count as characters, so there are as many as
    characters. Gives counts by source (uint32, shape (characters of all answers, sources)) and where each answer
    begins among them (int64, shape (answers + 1,)).
    """
    question = benchmark[question_id]
    index = benchmark.index(question_id)
    lengths = np.array([len(answer) for answer in answers], dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    windows = [window for answer in answers for window in _windows(answer)]
    distinct = list(dict.fromkeys(windows))
    inner = [window for window in distinct if None not in window]
    patterns = pl.Series(["".join(map(str, window)) for window in inner], dtype=pl.String)
    found = dict(zip(inner, index.document_frequency_batch(patterns), strict=True))
    for window in distinct:
        if None in window:
            found[window] = np.array(
                [
                    sum(_at_edge(window, text) for text in texts)
                    for texts in question.answers.values()
                ],
                dtype=np.uint32,
            )
    rows = np.array([found[window] for window in windows], dtype=np.uint32)
    return rows.reshape(-1, len(question.sources)), starts


def covering(counts: Counts, starts: NDArray[np.int64]) -> Counts:
    """Per character (and source), the largest count among the up to three windows that cover it."""
    best = counts.copy()
    inside = np.ones(len(counts) + 1, dtype=bool)
    inside[starts] = False  # no answer's first character follows the last one of another
    follows = inside[1:-1, None] if len(counts) else np.zeros((0, 1), dtype=bool)
    best[1:] = np.maximum(best[1:], np.where(follows, counts[:-1], 0))
    best[:-1] = np.maximum(best[:-1], np.where(follows, counts[1:], 0))
    return best


def _windows(answer: str) -> list[tuple[str | None, ...]]:
    marked = [None, *answer, None]
    return [tuple(marked[i : i + 3]) for i in range(len(answer))]


def _at_edge(window: tuple[str | None, ...], text: str) -> bool:
    inner = "".join(c for c in window if c is not None)
    if window[0] is None and window[-1] is None:
        return text == inner
    return text.startswith(inner) if window[0] is None else text.endswith(inner)
