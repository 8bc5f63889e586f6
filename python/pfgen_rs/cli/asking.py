"""Options of the commands that ask a model."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

__all__ = ["Examples", "MaxTokens", "Mode", "ModeName", "Think", "ThinkName", "Trials"]


class ModeName(StrEnum):
    """How questions are put."""

    COMPLETION = "completion"
    QA = "qa"
    CHAT = "chat"


class ThinkName(StrEnum):
    """What becomes of what a model thinks aloud."""

    KEEP = "keep"
    STRIP = "strip"


Mode = Annotated[
    ModeName,
    typer.Option(
        "--mode",
        "-m",
        help="How questions are put: completed text, an instruction in the prompt, or a chat.",
    ),
]
Trials = Annotated[
    int, typer.Option("--trials", "-n", min=1, metavar="N", help="Answers to each question.")
]
Examples = Annotated[
    int, typer.Option(min=0, metavar="K", help="Sample answers that each prompt shows.")
]
MaxTokens = Annotated[
    int, typer.Option(min=1, metavar="N", help="Length of an answer at the most.")
]
Think = Annotated[
    ThinkName, typer.Option(help="Whether answers keep what stands in `<think>…</think>`.")
]
