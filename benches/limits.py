"""Answers a second from a server with a hidden limit of requests at once, by `concurrency`.

Each fixed number and the number that adapts ask for the same time, one after the other. A number is fixed
unless the server keeps refusing.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import limited_server
from measures import Measure
from pfgen_rs.ask.engines.openai import OpenAIEngine
from pfgen_rs.ask.protocol import Answered, Parameters, Task

LIMIT = 48
SECONDS = 20.0
FIXED = (1, 2, 4, 8, 16, 32, LIMIT, 64, 128, 256, 512)


class Serving(Protocol):
    """Starts a script that prints its port, and yields its URL."""

    def __call__(self, script: str, *args: str) -> AbstractContextManager[str]:
        """Returns a context."""


def hidden_limit(
    kind: str,
    serving: Serving,
    limit: int = LIMIT,
    seconds: float = SECONDS,
    fixed: Sequence[int] = FIXED,
) -> Measure:
    """Percent of the best throughput that is lost by not knowing the limit; `kind`: `refuses` or `queues`."""
    found = {number: _asked(kind, serving, limit, seconds, number) for number in (*fixed, None)}
    rates = {number: rate for number, (rate, _) in found.items()}
    adapted, notes = found[None]
    best = max(number for number in fixed if rates[number] == max(map(rates.__getitem__, fixed)))
    note = (
        f"limit {limit}, {seconds:g} s each, answers a second: {adapted:.0f} "
        f"({notes['retries']} retries), "
        + ", ".join(f"{rates[number]:.0f} at {number}" for number in fixed)
    )
    lost = 100 * (1 - adapted / rates[best])
    details = {"answers a second": {str(n or "auto"): rate for n, rate in rates.items()}, **notes}
    return Measure(f"limit_{kind}", lost, note, details)


def _asked(
    kind: str, serving: Serving, limit: int, seconds: float, concurrency: int | None
) -> tuple[float, dict[str, Any]]:
    """Answers a second, and what the engine notes."""
    with serving(limited_server.__file__, kind, str(limit)) as url:
        engine = OpenAIEngine("limited", base_url=url, concurrency=concurrency)
        outcomes = engine.generate(_tasks(), Parameters())
        begun, answered = time.perf_counter(), 0
        for outcome in outcomes:
            answered += isinstance(outcome, Answered)
            if time.perf_counter() - begun > seconds:
                break
        taken = time.perf_counter() - begun
        outcomes.close()  # type: ignore[attr-defined]
    return answered / taken, engine.notes()


def _tasks() -> Iterator[Task]:
    number = 0
    while True:
        number += 1
        yield Task(f"q{number}", number, "completion", "Q: 何ですか？", number)
