"""Made runs, for statistics."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pfgen_rs import stats

Floats = NDArray[np.float64]


def made(
    name: str = "made",
    *,
    questions: int = 50,
    trials: int = 10,
    seed: int = 0,
    shift: float = 0.0,
    spread: float = 0.15,
) -> stats.Sample:
    """A run whose questions have means of their own, the same for every seed."""
    means = 0.6 + 0.13 * np.random.default_rng(99).standard_normal(questions) + shift
    noise = np.random.default_rng(seed)
    return sample(name, [mean + spread * noise.standard_normal(trials) for mean in means])


def sample(name: str, values: list[Floats], first: int = 0) -> stats.Sample:
    """A run with these values in every metric."""
    ids = tuple(f"Q{i:03}" for i in range(first, first + len(values)))
    categories: dict[str, str | None] = {
        question: "odd" if int(question[1:]) % 2 else None for question in ids
    }
    return stats.Sample(name, ids, categories, dict.fromkeys(stats.METRICS, values))
