"""Differences by question, for sign-flip tests."""

from __future__ import annotations

import numpy as np

from pfgen_rs.judge.agreement.codes import Floats, Indices

__all__ = ["PERMUTATIONS", "question_differences"]

PERMUTATIONS = 10_000


def question_differences(gained: Indices, judged: Floats, questions: Indices) -> Floats:
    """Returns by how much a difference of concordance (mean of the raters) is due to each question.

    `gained`: for each rater and pair, 1 where only the first of two decisions is right, -1 where only the
    second is, shape (raters, pairs). `judged`: numbers of pairs that the raters judged. The differences of
    all questions add up to that of concordance.
    """
    judging = judged > 0
    sums = np.stack([np.bincount(questions, weights=each) for each in gained[judging]])
    return np.asarray((sums / judged[judging, None]).sum(axis=0) / np.count_nonzero(judging))
