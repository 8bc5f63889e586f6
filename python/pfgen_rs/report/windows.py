"""Tables of windows, with the number of reference answers that contain each: of shown answers, or of all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.questions.sources import order
from pfgen_rs.scoring.shading import WINDOW, Counts, window_counts

__all__ = [
    "SHADED",
    "WindowTable",
    "Windows",
    "distinct_windows",
    "reference_table",
    "window_table",
]

SHADED = 1000
"""Number of characters of an answer that pages shade; scoring reads 200."""

_BITS = 21  # of a code point
Windows = NDArray[np.uint64]
"""Windows as integers: three code points of 21 bits each."""


@dataclass(frozen=True)
class WindowTable:
    """The windows of some answers to a question that occur in its reference answers.

    `text`: the three characters of each window, concatenated, in the order of code points. `counts` (uint32,
    shape (windows, sources)): number of reference answers of each source that contain it.
    """

    sources: list[str]
    answers: list[int]
    text: str
    counts: Counts

    def payload(self) -> dict[str, Any]:
        """Returns the data for the page's script; `answers` is the number of reference answers per source.

        Sources are in the order of `sources.order`.
        """
        places = order(self.sources)
        return {
            "sources": [self.sources[i] for i in places],
            "answers": [self.answers[i] for i in places],
            "shaded": SHADED,
            "text": self.text,
            "counts": self.counts.T[places].tolist(),
        }


def distinct_windows(answers: Iterable[str], *, characters: int | None = SHADED) -> Windows:
    """Returns the distinct windows of these answers, or of their first `characters`, ascending.

    Windows are those of `^answer$`, as in `window_counts`. Time and memory are linear in the answers' length.
    """
    # Includes the windows that cover the last shaded character.
    end = None if characters is None else characters + WINDOW
    texts = [f"^{answer}$"[:end] for answer in answers]
    points = np.frombuffer("".join(texts).encode("utf-32-le"), dtype="<u4").astype(np.uint64)
    windows = points[:-2] << np.uint64(2 * _BITS) | points[1:-1] << np.uint64(_BITS) | points[2:]
    own = np.ones(len(windows), dtype=bool)
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)[:-1]
    own[ends - 2] = own[ends - 1] = False  # these span two texts
    return np.unique(windows[own])


def window_table(benchmark: QuestionSet, question_id: str, windows: Windows) -> WindowTable:
    """Returns the table of those windows that occur in the reference answers to a question."""
    question = benchmark[question_id]
    counts, _ = window_counts(benchmark, question_id, [_window_text(windows)])
    counts = counts[WINDOW // 2 :: WINDOW]  # around the middle character of each three
    known: NDArray[np.bool_] = np.any(counts, axis=1)
    return WindowTable(
        question.sources,
        [len(references) for references in question.answers.values()],
        _window_text(windows[known]),
        counts[known],
    )


def reference_table(benchmark: QuestionSet, question_id: str) -> WindowTable:
    """Returns the table of all windows that occur in the reference answers to a question.

    It holds for answers of any runs: what it lacks does not occur.
    """
    references = chain.from_iterable(benchmark[question_id].answers.values())
    windows = distinct_windows(references, characters=None)
    return window_table(benchmark, question_id, windows)


def _window_text(windows: Windows) -> str:
    shifts = np.array([2 * _BITS, _BITS, 0], dtype=np.uint64)
    points = windows[:, None] >> shifts & np.uint64((1 << _BITS) - 1)
    return points.astype("<u4").tobytes().decode("utf-32-le")
