"""Made-up judges: true winners, probabilities, a planted position bias, and raters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs.judge.verdicts import LETTERS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
A, B, TIE = 0, 1, 2


@dataclass(frozen=True)
class Made:
    """Letters as codes (-1 for none) of a made-up judge; `p`: mean probabilities, shape (pairs, 3)."""

    truth: Ints
    first: Ints
    second: Ints
    p: Floats
    rules: dict[str, Ints]


def softmax(values: Floats) -> Floats:
    raised = np.exp(values - values.max(axis=-1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True))


def made(
    random: np.random.Generator,
    pairs: int,
    *,
    bias: float = 1.0,
    clear: float = 1.0,
    truth: Ints | None = None,
    offsets: Floats | None = None,
) -> Made:
    """A judge whose log-odds favour the true letter by about `clear`, and what is shown first by `bias`.

    Each order's letter is the most probable one, as at temperature 0. `offsets`: added to the log-odds of the
    true letter, a pair each.
    """
    if truth is None:
        truth = random.choice(3, pairs, p=[0.45, 0.45, 0.1])
    evidence = random.normal(0, 1, (pairs, 3))
    evidence[np.arange(pairs), truth] += clear + (0 if offsets is None else offsets)
    by_order = []
    for shown_first in (A, B):
        seen = evidence + random.normal(0, 0.2, (pairs, 3))
        seen[:, shown_first] += bias
        by_order.append(softmax(seen))
    first, second = (p.argmax(axis=1) for p in by_order)
    mean = (by_order[0] + by_order[1]) / 2
    rules = {
        "probability": mean.argmax(axis=1),
        "strict": np.where(first == second, first, -1),
        "tie": np.where(first == second, first, TIE),
        "first": first,
    }
    return Made(truth, first, second, mean, rules)


def letters(codes: Ints) -> list[str | None]:
    return [None if code < 0 else LETTERS[code] for code in codes.tolist()]


def decisions_frame(judge: Made, **columns: Any) -> pl.DataFrame:
    """A frame as `agree` and `rank` take it; every pair is a question of its own unless told otherwise."""
    pairs = [str(i) for i in range(len(judge.truth))]
    frame: dict[str, Any] = {
        "pair": pairs,
        "question_id": pairs,
        "task": None,
        "v1": pl.Series(letters(judge.first), dtype=pl.String),
        "v2": pl.Series(letters(judge.second), dtype=pl.String),
        **{name: pl.Series(letters(c), dtype=pl.String) for name, c in judge.rules.items()},
        **{name: judge.p[:, i] for i, name in enumerate(("p_a", "p_b", "p_c"))},
    }
    return pl.DataFrame({**frame, **columns})


def humans_frame(raters: dict[str, Ints]) -> pl.DataFrame:
    """Verdicts of raters by name; -1: not judged."""
    rows = [
        (str(i), name, letter)
        for name, codes in raters.items()
        for i, letter in enumerate(letters(codes))
        if letter is not None
    ]
    return pl.DataFrame(rows, schema=["pair", "rater", "verdict"], orient="row")


def raters_of(
    random: np.random.Generator, truth: Ints, number: int, right: float = 0.8
) -> dict[str, Ints]:
    """Raters who see the true letter with probability `right`, and any letter otherwise."""
    found = {}
    for i in range(number):
        guess = random.integers(0, 3, len(truth))
        found[f"rater{i + 1}"] = np.where(random.random(len(truth)) < right, truth, guess)
    return found
