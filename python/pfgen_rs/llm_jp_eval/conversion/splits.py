"""Shuffling and splitting as the reference does it."""

from __future__ import annotations

import random
from collections.abc import Sequence

__all__ = ["Pair", "Splits", "halved", "shuffled", "with_test", "without_test"]

Pair = tuple[str, str]
"""Input and output of a sample."""
Splits = dict[str, list[Pair]]
"""Samples of train, dev and test."""

_SEED = 42


def shuffled(samples: Sequence[Pair]) -> list[Pair]:
    """Returns the samples in the order of CPython's `random.Random(42).shuffle`."""
    mixed = list(samples)
    random.Random(_SEED).shuffle(mixed)  # noqa: S311 - published files depend on it
    return mixed


def with_test(samples: Sequence[Pair], test: Sequence[Pair]) -> Splits:
    """Split published training samples into train and dev; `test` keeps its order."""
    mixed = shuffled(samples)
    cut = int(len(mixed) * 0.9)
    return {"train": mixed[:cut], "dev": mixed[cut:], "test": list(test)}


def without_test(samples: Sequence[Pair]) -> Splits:
    """Split samples that are published without a split."""
    mixed = shuffled(samples)
    first, second = int(len(mixed) * 0.8), int(len(mixed) * 0.9)
    return {"train": mixed[:first], "dev": mixed[first:second], "test": mixed[second:]}


def halved(examples: Sequence[Pair], questions: Sequence[Pair]) -> Splits:
    """Use worked examples for train, in their order, and shuffled questions for dev and test, half each."""
    mixed = shuffled(questions)
    cut = int(len(mixed) / 2)
    return {"train": list(examples), "dev": mixed[:cut], "test": mixed[cut:]}
