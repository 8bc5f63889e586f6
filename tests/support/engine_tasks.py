"""Tasks and an impatient engine for tests of engines."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from fault_server import DEADLINE, Asked, Behaviour, FaultServer
from pfgen_rs.ask.engines.openai import OpenAIEngine
from pfgen_rs.ask.protocol import Answered, Details, Outcome, Parameters, Task
from pfgen_rs.ask.retrying import Backoff
from pfgen_rs.io.cleaning import Mode

SHORT = Backoff(first=0.02, longest=0.08, patience=0.1)


def tasks(count: int = 1, mode: Mode = "completion") -> list[Task]:
    """Questions q0, q1, … with prompts p0, p1, … and seeds 100, 101, …"""
    system = "answer" if mode == "chat" else None
    return [Task(f"q{i}", 1, mode, f"p{i}", 100 + i, system) for i in range(count)]


def bare(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """The outcomes without the details of answers."""
    return [one._replace(details=None) if isinstance(one, Answered) else one for one in outcomes]


def engine(server: FaultServer, **more: Any) -> OpenAIEngine:
    """An engine that does not wait long; `more`: its other settings."""
    settings: dict[str, Any] = {"retries": 3, "backoff": SHORT, "timeout": 20.0, **more}
    return OpenAIEngine("m", base_url=server.url, **settings)


def exchanged(
    asked: Sequence[Task],
    script: Mapping[str, Sequence[Behaviour]] | None = None,
    default: Behaviour | None = None,
    parameters: Parameters | None = None,
    **more: Any,
) -> tuple[list[Outcome], list[Asked]]:
    """The outcomes of tasks, and what a server with a script was asked; `more`: settings of the engine."""
    with FaultServer(script, default) as server:
        outcomes = list(engine(server, **more).generate(asked, parameters or Parameters()))
    return outcomes, server.asked


def details(outcome: Outcome) -> Details:
    """What is known of an answer."""
    assert isinstance(outcome, Answered), outcome
    assert outcome.details is not None
    return outcome.details


def until(condition: Callable[[], bool], seconds: float = DEADLINE) -> None:
    """Wait for a condition; fails after a deadline."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)
