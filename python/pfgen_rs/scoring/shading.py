"""How common an answer's characters are among the reference answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pfgen_rs import _native
from pfgen_rs.metrics.units import Answer
from pfgen_rs.questions.question_set import QuestionSet

__all__ = ["WINDOW", "covering", "window_counts"]

WINDOW = 3
Counts = NDArray[np.uint32]


def window_counts(
    benchmark: QuestionSet,
    question_id: str,
    answers: Sequence[Answer],
    threads: int | None = None,
) -> tuple[Counts, NDArray[np.int64]]:
    """For every character of every answer: reference answers that contain the 3 characters around it.

    The windows are those of the text `^answer$`, as published, so there are as many as characters; the two
    signs are ordinary characters, which references hardly ever contain. Returns counts by source (uint32,
    shape (characters of all answers, sources)) and where each answer begins (int64, shape (answers + 1,)).
    Units other than characters are counted as they are scored. Time linear in the text.
    """
    settings = benchmark.settings
    if settings.truthfulness_n != WINDOW:  # whose windows the scoring table counts
        benchmark = benchmark.with_settings(replace(settings, truthfulness_n=WINDOW))
    coded = "^" + benchmark.coder.encode(answers) + "$"
    scorer = benchmark.native_scorer(benchmark[question_id])
    return scorer.windows(_native.Texts(coded, threads), threads)


def covering(counts: Counts, starts: NDArray[np.int64]) -> Counts:
    """Per character (and source), the largest count among the up to three windows that cover it."""
    best = counts.copy()
    within = np.ones(len(counts) + 1, dtype=bool)
    within[starts] = False  # no answer's first character follows the last one of another
    follows = within[1:-1, None]
    best[1:] = np.maximum(best[1:], np.where(follows, counts[:-1], 0))
    best[:-1] = np.maximum(best[:-1], np.where(follows, counts[1:], 0))
    return best
