"""Sampling parameters."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Parameters"]


@dataclass(frozen=True, slots=True)
class Parameters:
    """Sampling parameters. `None` leaves a value to the engine.

    `logprobs`: the number of most likely tokens to report for each position of an answer, with their log
    probabilities (`None`: no log probabilities); see `Details.tokens`.
    """

    max_tokens: int | None = 300
    temperature: float | None = 1.0
    top_p: float | None = 0.98
    stop: tuple[str, ...] = ("Q:",)
    logprobs: int | None = None
