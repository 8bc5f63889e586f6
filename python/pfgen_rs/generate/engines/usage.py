"""Counting the tokens that an engine uses."""

from __future__ import annotations

import threading
from dataclasses import astuple, dataclass
from typing import Self

__all__ = ["Meter", "Usage"]

_PRICED = 1_000_000


@dataclass(frozen=True, slots=True)
class Usage:
    """Requests and their tokens.

    `requests`: requests sent, including retries. `reported`: how many of them were answered with numbers of
    tokens; the others count as 0 tokens. `cached_tokens` are part of `prompt_tokens`, and `reasoning_tokens`
    of `completion_tokens`.
    """

    requests: int = 0
    reported: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: Usage) -> Self:
        return type(self)(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def __sub__(self, other: Usage) -> Self:
        return type(self)(*(a - b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def __bool__(self) -> bool:
        """Whether anything was counted."""
        return any(astuple(self))

    def cost(self, prompt: float, completion: float) -> float:
        """Returns the cost at these prices per million tokens, in their currency.

        Cached tokens cost as much as the others.
        """
        return (self.prompt_tokens * prompt + self.completion_tokens * completion) / _PRICED


class Meter:
    """Adds up usage; any thread may count and read."""

    def __init__(self) -> None:
        self._total = Usage()
        self._lock = threading.Lock()

    def count(self, usage: Usage) -> None:
        """Add usage to the total."""
        with self._lock:
            self._total += usage

    @property
    def total(self) -> Usage:
        """The usage so far."""
        return self._total
