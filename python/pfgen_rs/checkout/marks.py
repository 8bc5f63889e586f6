"""Marks of samples: which characters are bold or struck out, from the counts of their windows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.scoring.shading import covering, window_counts

__all__ = ["BOLD", "STRUCK", "Marks", "marks_of"]

Marks = bytes
"""The marks of an answer, a byte for each character: `BOLD`, `STRUCK`, or 0 for neither."""
BOLD, STRUCK = 1, 2
_BOLD_ABOVE, _STRUCK_BELOW = 10, 200  # one in so many of all reference answers


def marks_of(
    benchmark: QuestionSet, results: Sequence[Mapping[str, Any]]
) -> list[dict[tuple[str, int], Marks]]:
    """Returns for each result the marks of its samples, by question and number of the sample.

    All answers to a question are looked up together.
    """
    places: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
    for number, result in enumerate(results):
        for key, entry in result["questions"].items():
            places[key] += [(number, i, s["answer"]) for i, s in enumerate(entry["samples"])]
    found: list[dict[tuple[str, int], Marks]] = [{} for _ in results]
    for key, answers in places.items():
        marks = _question_marks(benchmark, key, [answer for _, _, answer in answers])
        for (number, i, _), own in zip(answers, marks, strict=True):
            found[number][key, i] = own
    return found


def _question_marks(benchmark: QuestionSet, key: str, answers: Sequence[str]) -> Iterator[Marks]:
    counts, starts = window_counts(benchmark, key, answers)
    total = sum(map(len, benchmark[key].answers.values()))
    # Windows are counted over all sources before the most common one is chosen.
    common = covering(counts.sum(axis=1, keepdims=True), starts)[:, 0].astype(np.int64)
    struck = np.where(common * _STRUCK_BELOW < total, STRUCK, 0)
    marks = np.where(common * _BOLD_ABOVE > total, BOLD, struck).astype(np.uint8).tobytes()
    return (marks[a:b] for a, b in pairwise(starts.tolist()))
