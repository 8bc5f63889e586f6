"""Marks of samples: which characters are bold or struck out, from the counts of their windows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.scoring.shading import marks

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
        total = sum(map(len, benchmark[key].answers.values()))
        texts = [answer for _, _, answer in answers]
        # More than total / 10 for a whole number, and fewer than total / 200.
        above, below = total // _BOLD_ABOVE, -(-total // _STRUCK_BELOW)
        found_marks = marks(benchmark, key, texts, above=above, below=below)
        for (number, i, _), own in zip(answers, found_marks, strict=True):
            found[number][key, i] = own
    return found
