"""The judge that is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pfgen_rs.generate.asking import Respondent

__all__ = ["Judge"]


@dataclass(frozen=True)
class Judge(Respondent):
    """A judge and its sampling parameters; `None` leaves a value to the engine.

    The defaults are those of Morita 2025: temperature 0, seed 1, and log probabilities of the 20 most likely
    tokens.
    """

    role: ClassVar[str] = "judge"
    logprobs: int | None = 20
