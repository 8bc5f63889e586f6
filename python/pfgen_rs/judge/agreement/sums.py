"""Counts of classes of pairs, and the same counts in each bootstrap resample.

Every statistic of agreement is a function of sums over pairs, so that it is computed for all resamples at
once from resampled sums. `Sums` keeps them by name: what a class counts is told once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pfgen_rs.judge.agreement.codes import Floats, Indices
from pfgen_rs.judge.agreement.resampling import Questions, resampled_sums

__all__ = ["Sums", "summed"]


@dataclass(frozen=True)
class Sums:
    """Sums by name. `observed`: any shape; `resampled`: the same with resamples as first axis."""

    observed: dict[str, Floats]
    resampled: dict[str, Floats]


def summed(
    counted: dict[str, NDArray[Any]],
    classes: Indices,
    questions: Indices,
    resamples: int,
    seed: int,
) -> Sums:
    """Returns sums over all pairs and over each resample.

    `counted`: what each class counts, integers of shape (classes, …), by name. `classes`, `questions`: class
    and question of each pair.
    """
    number = next(iter(counted.values())).shape[0]
    flat = {name: each.reshape(number, -1).astype(np.int64) for name, each in counted.items()}
    table = np.concatenate(list(flat.values()), axis=1)
    total = np.bincount(classes, minlength=number) @ table
    drawn = resampled_sums(Questions(questions, classes), table, resamples, seed)
    ends = np.cumsum([each.shape[1] for each in flat.values()])[:-1]
    shapes = [each.shape[1:] for each in counted.values()]
    return Sums(
        _named_sums(counted, np.split(total, ends), [(*shape,) for shape in shapes]),
        _named_sums(counted, np.split(drawn, ends, axis=1), [(len(drawn), *s) for s in shapes]),
    )


def _named_sums(
    names: dict[str, NDArray[Any]], parts: list[Floats], shapes: list[tuple[int, ...]]
) -> dict[str, Floats]:
    each = zip(names, parts, shapes, strict=True)
    return {name: part.reshape(shape) for name, part, shape in each}
