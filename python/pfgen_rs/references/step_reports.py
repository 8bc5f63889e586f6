"""What steps say of the answers that they remove and keep."""

from __future__ import annotations

from typing import Any

from pfgen_rs.errors import BuildError
from pfgen_rs.references.config import Length, Singletons
from pfgen_rs.references.funnel import StepReport
from pfgen_rs.references.lengths import Lengths

__all__ = [
    "DUPLICATE",
    "length_details",
    "length_reason",
    "refuse_removing_everything",
    "singletons_reason",
]

DUPLICATE = "the same text again"


def singletons_reason(settings: Singletons) -> str:
    """Returns why the filter of seldom n-grams removes an answer."""
    if settings.threshold == 1:
        return f"a {settings.n}-gram that occurs once"
    return f"a {settings.n}-gram that occurs at most {settings.threshold} times"


def length_reason(settings: Length) -> str:
    """Returns why the filter of lengths removes an answer."""
    return f"a length further from {settings.target} than that of the kept answers of its source"


def length_details(found: Lengths, number: int) -> dict[str, Any]:
    """Returns what the report says of a source's `number` kept answers."""
    return {
        "answers": number,
        "mean": found.mean if number else None,
        "std": found.std if number else None,
        "limit": "select.count" if found.limit == "at_least" else found.limit,
    }


def refuse_removing_everything(question_id: str, report: StepReport) -> None:
    """Raise `BuildError` if a single rule of a step removed all answers."""
    removed = report.removed
    if removed and report.before and removed[0].count == report.before:
        hint = " (the standard style is meant for Japanese text)" * (report.step == "normalise")
        raise BuildError(
            f"question {question_id}: {report.step}: {removed[0].reason!r} removes all "
            f"{report.before:,} answers, such as {removed[0].examples[:1]}{hint}: change or disable that rule"
        )
