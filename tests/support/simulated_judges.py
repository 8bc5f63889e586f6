"""Judges of known probabilities, whose letters are drawn, and how asking them would stop."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pfgen_rs.judge import sampling

Array = NDArray[Any]
_ALIKE = {
    "hard": (0.45, 0.45, 0.1),
    "slight": (0.55, 0.4, 0.05),
    "coin": (0.5, 0.5, 0.0),
    "third": (1 / 3, 1 / 3, 1 / 3),
}


def difficulties(pairs: int, random: np.random.Generator) -> Array:
    """Probabilities of letters of pairs, most of them easy, with some preference for what is shown first.

    Shape (2, pairs, 3), for both orders; letters are those of the pair.
    """
    odds = np.log(random.dirichlet((0.3, 0.3, 0.1), pairs) + 1e-4)
    bias = random.normal(0.5, 0.3, pairs)
    orders = []
    for shown_first in (0, 1):
        seen = odds.copy()
        seen[:, shown_first] += bias
        raised = np.exp(seen)
        orders.append(raised / raised.sum(axis=1, keepdims=True))
    return np.stack(orders)


def judge(kind: str, pairs: int, random: np.random.Generator) -> Array:
    """Probabilities of pairs that are `mixed`, `uniform`, or alike and hard."""
    if kind == "mixed":
        return difficulties(pairs, random)
    if kind == "uniform":
        return random.dirichlet((1, 1, 1), (2, pairs))
    return np.tile(_ALIKE[kind], (2, pairs, 1))


def true_letters(p: Array, random: np.random.Generator | None = None) -> Array:
    """The most probable letters of both orders' mean, or letters drawn from it."""
    mean = p.mean(axis=0)
    if random is None:
        return np.asarray(mean.argmax(axis=1))
    return np.asarray((random.random((len(mean), 1)) > mean.cumsum(axis=1)[:, :2]).sum(axis=1))


def answers_of(p: Array, samples: int, random: np.random.Generator) -> Array:
    """How often each letter is said, shape (2, pairs, 3)."""
    return np.stack([random.multinomial(samples, each) for each in p])


def asked_until_settled(
    kind: str, pairs: int, samples: int, stop_at: float, random: np.random.Generator
) -> tuple[float, float]:
    """The share of requests that stopping saves, and of decisions that it changes."""
    p = judge(kind, pairs, random)
    at = random.random((2, pairs, samples))
    steps = p.cumsum(axis=2)
    letters = (at > steps[..., :1]).astype(int) + (at > steps[..., 1:2])

    def counts(places: Array, number: int) -> Array:
        some = letters[:, places, :number]
        return np.stack([np.count_nonzero(some == x, axis=2) for x in range(3)], axis=2)

    going = np.arange(pairs)
    whole = sampling.leaders(counts(going, samples).sum(axis=0))
    decided, asked = whole.copy(), 0
    for number in range(1, samples + 1):
        asked += len(going)
        said = counts(going, number)
        left = np.full((len(going), 2), samples - number)
        done = sampling.settled(said[0], said[1], left, stop_at)
        decided[going[done]] = sampling.leaders(said[:, done].sum(axis=0))
        going = going[~done]
    return 1 - asked / (pairs * samples), float((decided != whole).mean())


def table_of_samples(kind: str, random: np.random.Generator) -> list[tuple[int, float, float]]:
    """For numbers of samples, the share of decisions that are those of the true probabilities, and the
    expected calibration error where the right letters are drawn from these."""
    p = judge(kind, 20_000, random)
    truth, right = true_letters(p), true_letters(p, random)
    rows = []
    for samples in (1, 3, 9, 27):
        estimates = sampling.estimated(answers_of(p, samples, random)).mean(axis=0)
        decided = sampling.leaders(np.round(estimates, 9))
        sure = estimates[np.arange(len(truth)), decided]
        bins = np.minimum((sure * 10).astype(int), 9)
        apart = np.bincount(bins, decided == right, 10) - np.bincount(bins, sure, 10)
        error = np.abs(apart).sum() / len(truth)
        rows.append((samples, float((decided == truth).mean()), float(error)))
    return rows
