"""Options of the commands that ask a model."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

__all__ = ["Examples", "MaxTokens", "Mode", "ModeName", "Think", "ThinkName", "Trials"]


class ModeName(StrEnum):
    """How questions are asked."""

    COMPLETION = "completion"
    QA = "qa"
    CHAT = "chat"


class ThinkName(StrEnum):
    """What happens to the reasoning of a model."""

    KEEP = "keep"
    STRIP = "strip"


Mode = Annotated[
    ModeName,
    typer.Option(
        "--mode",
        "-m",
        help="How questions are asked: text to complete, an instruction in the prompt, or a chat.",
    ),
]
Trials = Annotated[
    int, typer.Option("--trials", "-n", min=1, metavar="N", help="Answers per question.")
]
Examples = Annotated[int, typer.Option(min=0, metavar="K", help="Example answers in each prompt.")]
MaxTokens = Annotated[
    int, typer.Option(min=1, metavar="N", help="Maximum length of an answer, in tokens.")
]
Think = Annotated[
    # In backticks, for help is Markdown, where a tag would vanish.
    ThinkName, typer.Option(help="Keep or strip `<think>…</think>` in answers.")
]
