"""Several answers of a judge to the same request (judging 9): what they say, and when they are enough."""

from functools import lru_cache
from typing import NamedTuple

from pfgen_rs.judge.decisions import (
    NONE,
    ORDERS,
    Codes,
    Flags,
    Indices,
    mean_of_orders,
    other_order,
)
from pfgen_rs.judge.verdicts import LETTERS
from pfgen_rs.lazy import Floats, np, pl
from pfgen_rs.stats.resampling import classes_of

CLOSE = 1e-9
"""Estimated probabilities that differ by less are equal: those that do differ are further apart."""
_C = len(LETTERS) - 1
_PRIOR = 1  # of each letter
_HARDEST = (0.45, 0.1)  # of the leading letter and its rival, and of the third letter


class Votes(NamedTuple):
    """What a judge said of pairs in one order, letters as they were shown.

    `letters`: how often it said each, shape (pairs, 3). `judged`: number of judgments, invalid ones too,
    shape (pairs,). `tokens`: mean probabilities of the tokens, shape (pairs, 3), NaN where unknown.
    """

    letters: Indices
    judged: Indices
    tokens: Floats

    def decisive(self, samples: int) -> tuple[Codes, Floats]:
        """Returns the letters and the probabilities by which a folder with so many samples is decided."""
        letters = np.where(self.letters.any(axis=1), leaders(self.letters), NONE).astype(np.int8)
        return letters, estimated(self.letters) if samples > 1 else self.tokens


def count_votes(pairs: int, places: Indices, codes: Codes, p: Floats) -> Votes:
    """Returns the votes on `pairs` pairs from judgments: their pair's place, letter and probabilities.

    `codes`: -1 for an invalid one. `p`: shape (judgments, 3), NaN for unknown ones. Linear time.
    """
    width = len(LETTERS)
    flat = (places * width + codes)[codes != NONE]
    letters = np.bincount(flat, minlength=pairs * width).reshape(pairs, width)
    tokens = np.empty((pairs, width))
    for i, column in enumerate(p.T):
        known = ~np.isnan(column)
        sums = np.bincount(places[known], weights=column[known], minlength=pairs)
        with np.errstate(invalid="ignore"):
            tokens[:, i] = sums / np.bincount(places[known], minlength=pairs)
    return Votes(letters, np.bincount(places, minlength=pairs), tokens)


def estimated(letters: Indices) -> Floats:
    """Returns probabilities of letters from how often they were said, NaN without any: shape (…, 3).

    (n_x + 1)/(n + 3) is the posterior mean under a uniform Dirichlet prior (judging 9.2).

    >>> estimated(np.array([[2, 1, 0]])).tolist()
    [[0.5, 0.3333333333333333, 0.16666666666666666]]
    """
    number = letters.sum(axis=-1, keepdims=True)
    return np.where(number > 0, (letters + _PRIOR) / (number + _PRIOR * len(LETTERS)), np.nan)


def sample_columns(votes: tuple[Votes, Votes], samples: int) -> list[pl.Series]:
    """Returns the columns of `VerdictFolder.decisions` that tell of samples."""
    tokens = mean_of_orders(votes[0].tokens, other_order(votes[1].tokens))
    if samples == 1:  # `p_a` … `p_c` are the same
        tokens[:] = np.nan
    found = {}
    for order, each in zip(ORDERS, votes, strict=True):
        same = pl.Series(each.letters.max(axis=1) == each.judged)
        found[f"samples_{order}"] = pl.Series(each.judged)
        found[f"stable_{order}"] = same.set(pl.Series(each.judged < 2), None)
    found |= {f"t_{x}": pl.Series(tokens[:, i], nan_to_null=True) for i, x in enumerate("abc")}
    return [column.alias(name) for name, column in found.items()]


# When further samples would hardly change a decision


def settled(one: Indices, two: Indices, left: Indices, stop_at: float) -> Flags:
    """Whether pairs need no further samples: `change_risk` is at most `stop_at`.

    `one`, `two`: how often the judge said each letter of the pair in both orders, shape (pairs, 3). `left`:
    samples that are left in each order, shape (pairs, 2).
    """
    rows = np.hstack([one, two, left])
    # Orders of equal length weigh the same, so that their letters can be added.
    even = (one.sum(axis=1) == two.sum(axis=1)) & (left[:, 0] == left[:, 1])
    rows[even, :3] += rows[even, 3:6]
    rows[even, 6] += rows[even, 7]
    rows[even, 3:6] = rows[even, 7:] = 0
    kinds, places = classes_of(list(rows.T))
    states = rows[places].tolist()
    risks = [change_risk(tuple(s[:3]), tuple(s[3:6]), tuple(s[6:])) for s in states]
    return np.asarray(np.array(risks) <= stop_at)[kinds]


@lru_cache(maxsize=1 << 18)
def change_risk(one: tuple[int, ...], two: tuple[int, ...], left: tuple[int, ...]) -> float:
    """Returns how probable it is that the samples that are left change a pair's decision by probability.

    `one`, `two`: how often each letter of the pair was said in both orders. `left`: how many samples are left
    in each. The letters to come are those of a hard judge, who says the leading letter as often as a rival,
    whichever rival is worse. Their counts are summed exactly. 1 without a letter so far.

    Under the posterior predictive of the uniform prior, up to twice as many decisions changed as stated where
    all pairs are hard (judging 9.5).

    >>> change_risk((2, 0, 0), (2, 0, 0), (1, 1))
    0.0
    """
    counts = np.array([one, two])
    if not counts.any():
        return 1.0
    said = counts.sum(axis=1)
    weights = _weights(said + left)
    first = int(leaders(_weights(said) @ (counts + _PRIOR)))
    scores = weights @ (counts + _PRIOR)
    stays = []
    for third in {0, 1, 2} - {first}:
        p = np.full(3, _HARDEST[0])
        p[third] = _HARDEST[1]
        alone = [_chance_to_lead(x, scores, weights, left, p) for x in range(_C)]
        stays.append(1 - sum(alone) if first == _C else alone[first])
    return max(0.0, round(1 - min(stays), 12))


def _chance_to_lead(
    letter: int, scores: Indices, weights: Indices, left: tuple[int, ...], p: Floats
) -> float:
    """Returns how probable it is that a letter's final score exceeds the others'.

    `scores`: those so far, to which each letter to come adds its order's weight. Quadratic in `left`.
    """
    (one, ways_one), (two, ways_two) = (_outcomes(size) for size in left)
    others = [x for x in range(len(LETTERS)) if x != letter]
    apart = scores[letter] - scores[others] + weights[0] * (one[:, [letter]] - one[:, others])
    size = 2 * left[1] + 2
    mass = np.zeros((size, size))  # of both differences in order 2, from -left to left
    np.add.at(mass, tuple((two[:, [letter]] - two[:, others] + left[1]).T), _mass(two, ways_two, p))
    above = mass[::-1, ::-1].cumsum(axis=0).cumsum(axis=1)[::-1, ::-1]
    least = (-apart // max(weights[1], 1) + 1 + left[1]).clip(0, size - 1)
    return float(_mass(one, ways_one, p) @ above[least[:, 0], least[:, 1]])


def _mass(counts: Indices, ways: Floats, p: Floats) -> Floats:
    return np.exp(ways + counts @ np.log(p))


def _weights(totals: Indices) -> Indices:
    """Returns integers by which (n_x + 1) of both orders weigh in the mean of their probabilities."""
    if not totals.all() or totals[0] == totals[1]:
        return (totals > 0).astype(np.int64)
    return totals[::-1] + _PRIOR * len(LETTERS)


def leaders(scores: Indices) -> Codes:
    """Returns the letter with the largest score, C if several have it: shape (…, 3) to (…)."""
    alone = np.count_nonzero(scores == scores.max(axis=-1, keepdims=True), axis=-1) == 1
    return np.where(alone, scores.argmax(axis=-1), _C).astype(np.int8)


@lru_cache(maxsize=256)
def _outcomes(size: int) -> tuple[Indices, Floats]:
    """Returns how often letters may occur among `size`, and the logarithm of the number of ways."""
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, size + 1)))])
    a, b = np.nonzero(np.add.outer(np.arange(size + 1), np.arange(size + 1)) <= size)
    counts = np.stack([a, b, size - a - b], axis=1)
    return counts, logs[size] - logs[counts].sum(axis=1)
