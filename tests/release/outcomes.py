"""What a check came to, and the table at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

__all__ = [
    "CheckFailedError",
    "CheckSkippedError",
    "Outcome",
    "State",
    "checked",
    "exit_status",
    "table",
]

State = Literal["ok", "skipped", "FAILED"]


class CheckFailedError(Exception):
    """What was checked is not as it should be; says in which way."""


class CheckSkippedError(Exception):
    """Something that this machine lacks; says what, and how to get it."""


class Outcome(NamedTuple):
    """One line of the table."""

    check: str
    state: State
    detail: str
    seconds: float = 0.0


def checked(check: str, run: Callable[[], str]) -> Outcome:
    """Run a check, which returns what it found; whatever it raises becomes a line of the table."""
    print(f"== {check}", flush=True)
    began = time.monotonic()
    state: State = "ok"
    try:
        detail = run()
    except CheckSkippedError as reason:
        state, detail = "skipped", str(reason)
    except CheckFailedError as reason:
        state, detail = "FAILED", str(reason)
    print(f"   {state}: {detail}", flush=True)
    return Outcome(check, state, detail, time.monotonic() - began)


def table(outcomes: Sequence[Outcome]) -> str:
    """All outcomes, one a line, and how many there are of each state."""
    width = max((len(outcome.check) for outcome in outcomes), default=0)
    lines = [
        f"{each.check:<{width}}  {each.state:<7}  {each.seconds:>4.0f} s  {_first_line(each.detail)}"
        for each in outcomes
    ]
    states = [outcome.state for outcome in outcomes]
    counts: Sequence[State] = ("ok", "skipped", "FAILED")
    lines.append(", ".join(f"{states.count(state)} {state}" for state in counts))
    return "\n".join(lines)


def _first_line(text: str) -> str:
    return text.partition("\n")[0]


def exit_status(outcomes: Sequence[Outcome], *, strict: bool) -> int:
    """1 if a check failed, or (`strict`) could not be made; else 0."""
    bad = {"FAILED", "skipped"} if strict else {"FAILED"}
    return int(any(outcome.state in bad for outcome in outcomes))
