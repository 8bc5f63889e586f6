"""Figures that show a part of what they were given, and say so."""

from __future__ import annotations

from pfgen_rs.drawing.style import Look
from pfgen_rs.errors import PlotError

__all__ = ["NUMBERED", "QUESTIONS", "RUNS", "check_top", "cut_in_figure", "cut_note"]

RUNS = "{shown} of {count} runs shown, best first"
NUMBERED = "The best {shown} of {count} runs are numbered"
QUESTIONS = "{shown} of {count} questions shown"


def cut_note(said: str, shown: int, count: int) -> str:
    """Returns a remark such as `RUNS` with its numbers; empty if everything is shown."""
    return "" if shown >= count else said.format(shown=f"{shown:,}", count=f"{count:,}")


def cut_in_figure(look: Look, said: str, shown: int, count: int) -> str:
    """Returns the same in the language of a figure."""
    return cut_note(look.say(said), shown, count)


def check_top(top: int) -> int:
    """Returns the number of runs to show; raises `PlotError` if it is not positive."""
    if top < 1:
        raise PlotError(f"invalid number of runs {top}: expected 1 or more")
    return top
