"""A plan of trials as a table and sentences."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType

from pfgen_rs.cli import output
from pfgen_rs.stats import Plan

__all__ = ["report"]


def report(plan: Plan) -> list[RenderableType]:
    """The precision that numbers of trials give, and the numbers that were asked for."""
    numbers = ["trials", "± same questions", "± such questions"]
    table = output.new_table(*numbers, numbers=numbers)
    for step in plan.table:
        table.add_row(
            output.cell(f"{step.trials:,}"),
            output.cell(f"{step.trial_noise:.4f}"),
            output.cell(f"{step.with_questions:.4f}"),
        )
    return [table, *map(output.cell, _sentences(plan))]


def _sentences(plan: Plan) -> Iterator[str]:
    what = plan.metric if plan.metric != "average" else "score"
    if len(plan.runs) == 1:
        yield f"{plan.runs[0]}: {what} {plan.mean:.4f}, SD of a trial {plan.trial_sd:.4f}"
    else:
        a, b = plan.runs
        yield f"{a} minus {b}: {what} {plan.mean:+.4f}, SD of a trial {plan.trial_sd:.4f}"
    level = f"{plan.level * 100:g} %"
    yield (
        f"±{plan.precision:g} ({level}) needs {_trials(plan.trials_needed)} where the questions stay the same"
    )
    if plan.trials_needed_with_questions is None:
        yield (
            "where they are a sample of such questions, no number of trials gives that: "
            f"±{plan.remaining:.4f} comes of having {plan.questions} questions"
        )
    else:
        yield (
            f"where they are a sample of such questions, {_trials(plan.trials_needed_with_questions)}; "
            f"±{plan.remaining:.4f} remains whatever the number"
        )
    if plan.difference is not None:
        yield from _telling(plan)


def _telling(plan: Plan) -> Iterator[str]:
    finding = (
        f"to find a difference of {plan.difference:.4f} {plan.power * 100:g} times in a hundred"
    )
    for trials, where in (
        (plan.trials_to_tell, "where the questions stay the same"),
        (plan.trials_to_tell_with_questions, "where they are a sample of such questions"),
    ):
        needed = (
            "no number of trials is enough"
            if trials is None
            else f"each run needs {_trials(trials)}"
        )
        yield f"{finding}, {needed} {where}"


def _trials(count: int) -> str:
    return f"{count:,} trial" if count == 1 else f"{count:,} trials"
