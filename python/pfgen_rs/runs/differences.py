"""What a result says when it is asked: its interval, and its difference from another run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

Method = Literal["t", "bootstrap"]


class Interval(NamedTuple):
    """A confidence interval at `level`, `None` where one question does not tell.

    `method`: `t`, Student's t over questions, or `bootstrap`, over questions and trials.

    >>> import pfgen_rs
    >>> low, high, level, method = pfgen_rs.score_file(pfgen_rs.sample_runs()["careless"], "mini").interval()
    >>> f"[{low:.3f}, {high:.3f}]", level, method
    ('[0.414, 0.505]', 0.95, 't')
    """

    low: float | None
    high: float | None
    level: float
    method: Method


@dataclass(frozen=True)
class Difference:
    """How the scores of two runs differ, paired by question; `str` is `sentence`.

    `difference`: a's mean minus b's, over the questions that both answer. `interval`: that of the
    difference. `p`: of a permutation test over questions. `detectable`: the difference that this test has
    80 % power to detect, `None` with too few questions for any. `notes`: what else to know, such as questions
    left out.

    >>> import pfgen_rs
    >>> careless, faithful = (pfgen_rs.score_file(pfgen_rs.sample_runs()[name], "mini")
    ...                       for name in ("careless", "faithful"))
    >>> found = faithful.compare(careless)
    >>> f"{found.difference:+.3f}, p = {found.p:.4f}, detectable: {found.detectable:.3f}"
    '+0.366, p = 0.0003, detectable: 0.065'
    """

    a: str
    b: str
    metric: str
    difference: float
    interval: Interval
    p: float
    detectable: float | None
    sentence: str
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The difference in a sentence, as `pfgen-rs compare` prints it."""
        return self.sentence
