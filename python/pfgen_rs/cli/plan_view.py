"""Shows a plan of trials as a table and sentences."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType

from pfgen_rs.cli import output
from pfgen_rs.io.counted import counted
from pfgen_rs.stats import Plan

__all__ = ["plan_report"]


def plan_report(plan: Plan) -> list[RenderableType]:
    """Returns a table of precision by number of trials, and the requested numbers of trials."""
    numbers = ["trials", "± same questions", "± other questions"]
    table = output.new_table(*numbers, numbers=numbers)
    for step in plan.table:
        table.add_row(
            output.cell(f"{step.trials:,}"),
            output.cell(f"{step.trial_noise:.4f}"),
            output.cell(f"{step.with_questions:.4f}"),
        )
    return [table, *map(output.cell, _plan_sentences(plan))]


def _plan_sentences(plan: Plan) -> Iterator[str]:
    what = plan.metric if plan.metric != "average" else "score"
    if len(plan.runs) == 1:
        yield f"{plan.runs[0]}: {what} {plan.mean:.4f}, SD of a trial {plan.trial_sd:.4f}"
    else:
        a, b = plan.runs
        yield f"{a} minus {b}: {what} {plan.mean:+.4f}, SD of a trial {plan.trial_sd:.4f}"
    level = f"{plan.level * 100:g} %"
    yield (
        f"±{plan.precision:g} ({level}) needs {_trials_planned(plan.trials_needed)} for the same questions"
    )
    if plan.trials_needed_with_questions is None:
        yield (
            "for other questions of the same kind, no number of trials is enough: "
            f"±{plan.remaining:.4f} is due to having only {counted(plan.questions, 'question')}"
        )
    else:
        yield (
            f"for other questions of the same kind, {_trials_planned(plan.trials_needed_with_questions)}; "
            f"±{plan.remaining:.4f} remains with any number of trials"
        )
    if plan.difference is not None:
        yield from _plan_to_tell_apart(plan)


def _plan_to_tell_apart(plan: Plan) -> Iterator[str]:
    finding = f"{plan.power * 100:g} % power to detect {plan.difference:.4f}"
    for trials, where in (
        (plan.trials_to_tell, "for the same questions"),
        (plan.trials_to_tell_with_questions, "for other questions of the same kind"),
    ):
        needed = (
            "cannot be reached with any number of trials"
            if trials is None
            else f"needs {_trials_planned(trials)} per run"
        )
        yield f"{finding} {needed} {where}"


def _trials_planned(count: int) -> str:
    return counted(count, "trial")
