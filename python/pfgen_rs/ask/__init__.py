"""Asking models: engines, one resumable journal of answers, and the loop that fills it."""

from pfgen_rs.ask.protocol import (
    Answered,
    Details,
    Engine,
    Failed,
    Outcome,
    Parameters,
    Task,
    Usage,
    abilities,
)

__all__ = [
    "Answered",
    "Details",
    "Engine",
    "Failed",
    "Outcome",
    "Parameters",
    "Task",
    "Usage",
    "abilities",
]
