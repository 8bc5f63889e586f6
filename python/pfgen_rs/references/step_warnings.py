"""Warnings about steps that remove nothing or nearly everything: their settings hardly fit the candidates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from pfgen_rs.references.funnel import StepReport

__all__ = ["NEARLY", "step_warnings"]

NEARLY = 0.95
"""Share of the answers from which a step removes nearly all."""

_SHOWN = 3  # ids of questions
Extreme = Literal["no", "nearly all"]

_ADVICE: Mapping[tuple[str, Extreme], str] = {
    ("normalise", "no"): "its rules do not apply to these candidates",
    ("normalise", "nearly all"): "the style may not be meant for these candidates",
    ("rules", "no"): "no answer breaks a rule",
    ("rules", "nearly all"): "check the rules",
    ("duplicates", "no"): "no two answers are equal",
    ("duplicates", "nearly all"): "most candidates are equal",
    (
        "singletons",
        "no",
    ): "no n-gram is rare enough, or fewer answers than singletons.at_least would be left",
    ("singletons", "nearly all"): "add candidates, or lower singletons.n or singletons.threshold",
    ("length", "no"): "lower length.share or length.count, or set length.deviation",
    ("length", "nearly all"): "hardly any length is near length.target",
    ("consensus", "no"): "there are no more answers than select.count; add candidates",
    ("consensus", "nearly all"): "consensus.share is small",
    ("select", "no"): "there are no more answers than select.count; lower it or add candidates",
}


def step_warnings(reports: Mapping[str, Sequence[StepReport]]) -> list[str]:
    """Returns a sentence for each step that removes nothing or nearly all answers to some questions.

    `reports`: those of each question, by its id.
    """
    found: dict[tuple[str, Extreme], list[str]] = {}
    for question_id, steps in reports.items():
        for report in steps:
            for extreme in _step_extremes(report):
                found.setdefault((report.step, extreme), []).append(question_id)
    return [
        f"{step} removes {extreme} answers to {_step_warning_questions(ids, len(reports))}: "
        f"{_ADVICE[step, extreme]}"
        for (step, extreme), ids in found.items()
    ]


def _step_extremes(report: StepReport) -> Iterator[Extreme]:
    details = report.details
    if not report.before:
        return
    if report.after == report.before:
        idle = {
            "normalise": any(details.get("corrected", {}).values()),
            "rules": not details.get("rules"),
            "duplicates": details.get("keep") == "all",
        }
        if not idle.get(report.step, False):
            yield "no"
    elif report.before - report.after > NEARLY * report.before and not _keeps_step_count(report):
        yield "nearly all"


def _keeps_step_count(report: StepReport) -> bool:
    """Whether the number of answers to keep is a setting, so that any share may have to go."""
    if report.step != "length":
        return report.step == "select"
    limits = {each["limit"] for each in report.details["sources"].values()}
    return limits <= {"count", "select.count", "all"}


def _step_warning_questions(ids: Sequence[str], total: int) -> str:
    shown = ", ".join(ids[:_SHOWN]) + ", …" * (len(ids) > _SHOWN)
    return f"{len(ids)} of {total} question{'s' * (total != 1)} ({shown})"
