"""Sign-flip tests by question, of any number of questions."""

from __future__ import annotations

import numpy as np

from pfgen_rs.judge.agreement.codes import Floats, Indices
from pfgen_rs.stats.permutation import sign_flip

__all__ = ["PERMUTATIONS", "question_differences", "sign_flip_by_size"]

PERMUTATIONS = 10_000
_FEW = 1000  # questions up to which each sign is drawn by itself
_WORD = 64
_WORDS = 8  # up to which counting random bits is faster than drawing from a binomial distribution
_SAME = 1e-12  # sums of the same numbers in another order differ by less, relative to their sizes


def question_differences(gained: Indices, judged: Floats, questions: Indices) -> Floats:
    """Returns by how much a difference of concordance (mean of the raters) is due to each question.

    `gained`: for each rater and pair, 1 where only the first of two decisions is right, -1 where only the
    second is, shape (raters, pairs). `judged`: numbers of pairs that the raters judged. The differences of
    all questions add up to that of concordance.
    """
    judging = judged > 0
    sums = np.stack([np.bincount(questions, weights=each) for each in gained[judging]])
    return np.asarray((sums / judged[judging, None]).sum(axis=0) / np.count_nonzero(judging))


def sign_flip_by_size(differences: Floats, *, permutations: int, seed: int) -> float:
    """Returns the p-value of `stats.sign_flip`, in time that does not grow with permutations · questions.

    Differences of 0 have no sign and are left out. Of many differences, those of the same size are flipped
    together: how many of n are positive is binomial, so only one number per size is drawn.
    """
    apart = differences[differences != 0]
    if not len(apart):
        return 1.0
    if len(apart) <= _FEW:
        return sign_flip(apart, permutations=permutations, seed=seed)
    sizes, numbers = np.unique(np.abs(apart), return_counts=True)
    random = np.random.default_rng(seed)
    sums = np.zeros(permutations)
    for size, number in zip(sizes.tolist(), numbers.tolist(), strict=True):
        sums += size * (2.0 * _fair_coins(random, number, permutations) - number)
    least = abs(float(apart.sum())) - _SAME * float(np.abs(apart).sum())
    return (int(np.count_nonzero(np.abs(sums) >= least)) + 1) / (permutations + 1)


def _fair_coins(random: np.random.Generator, coins: int, size: int) -> Indices:
    """Returns numbers of heads among fair coins: binomial with probability 1/2."""
    if coins > _WORD * _WORDS:
        return random.binomial(coins, 0.5, size)
    heads = np.zeros(size, dtype=np.int64)
    for start in range(0, coins, _WORD):
        bits = min(_WORD, coins - start)
        heads += np.bitwise_count(random.integers(0, 1 << bits, size, dtype=np.uint64))
    return heads
