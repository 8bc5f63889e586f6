"""Computes how common an answer's characters are among the reference answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pfgen_rs import _native
from pfgen_rs.metrics.units import Answer
from pfgen_rs.questions.question_set import QuestionSet

__all__ = ["WINDOW", "marks", "window_counts"]

WINDOW = 3
Counts = NDArray[np.uint32]


def window_counts(
    benchmark: QuestionSet,
    question_id: str,
    answers: Sequence[Answer],
    threads: int | None = None,
) -> tuple[Counts, NDArray[np.int64]]:
    """Count, for every character of every answer, the reference answers that contain the 3 around it.

    The windows are those of the text `^answer$`, as published, so there is one per character; `^` and `$` are
    treated as ordinary characters, which references hardly ever contain. Returns counts by source (uint32,
    shape (characters of all answers, sources)) and where each answer begins (int64, shape (answers + 1,)).
    Other units are counted as they are scored. Takes time linear in the text.
    """
    coded = [f"^{text}$" for text in benchmark.coder.encode(answers).to_list()]
    scorer = _shading_scorer(benchmark, question_id)
    return scorer.windows(_native.Texts(coded, threads), threads)


def marks(
    benchmark: QuestionSet,
    question_id: str,
    answers: Sequence[Answer],
    *,
    above: int,
    below: int,
    threads: int | None = None,
) -> list[bytes]:
    """Returns the marks of each answer, a byte for each character, by the windows of `window_counts`.

    1 if more than `above` reference answers of all sources contain one of the up to 3 windows that cover the
    character, 2 if fewer than `below` contain each of them, otherwise 0.
    """
    coded = benchmark.coder.column(answers, threads).coded
    return _shading_scorer(benchmark, question_id).marks(coded, above, below, threads)


def _shading_scorer(benchmark: QuestionSet, question_id: str) -> _native.Scorer:
    question, settings = benchmark[question_id], benchmark.settings
    if settings.truthfulness_n == WINDOW:  # the native scorer counts windows of this length
        return benchmark.native_scorer(question)
    other = replace(settings, truthfulness_n=WINDOW)
    return _native.Scorer(benchmark.columns(question), other.native)
