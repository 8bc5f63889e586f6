"""What a result says when it is asked: its interval, and its difference from another run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

Method = Literal["t", "bootstrap"]


class Interval(NamedTuple):
    """A confidence interval at `level`, `None` where one question does not tell.

    `method`: `t`, Student's t over questions, or `bootstrap`, over questions and trials.
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
    80 % power to detect. `notes`: what else to know, such as questions left out.
    """

    a: str
    b: str
    metric: str
    difference: float
    interval: Interval
    p: float
    detectable: float
    sentence: str
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The difference in a sentence, as `pfgen-rs compare` prints it."""
        return self.sentence
