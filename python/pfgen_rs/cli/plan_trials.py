"""`pfgen-rs plan-trials`: how many trials show a difference, or give a precision."""

from collections.abc import Iterator
from typing import Annotated

import typer
from rich.table import Table

from pfgen_rs import stats
from pfgen_rs.cli import options, process, terminal
from pfgen_rs.io.text import counted


@options.reading_options
def plan_trials(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="A run, as for `score`.", show_default=False)
    ],
    other: Annotated[
        str | None,
        typer.Argument(
            metavar="OTHER",
            help="Second run: plan trials for the difference between the two.",
            show_default=False,
        ),
    ] = None,
    *,
    reading: options.ReadingOptions,
    benchmark: options.BenchmarkName = None,
    precision: Annotated[
        float, typer.Option(metavar="X", help="Half-width of the interval.")
    ] = 0.005,
    difference: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="With OTHER: the difference to detect with 80 % power (default: the observed one).",
            show_default=False,
        ),
    ] = None,
    output_format: options.Format = "table",
) -> None:
    """Plan how many trials are needed for a precision, or to detect a difference.

    A trial is one answer to every question. More trials reduce the noise between trials, but not the error
    from the choice of questions; the plan shows both.

    For example:

    - `pfgen-rs plan-trials run/ --precision 0.005`

    - `pfgen-rs plan-trials run-a/ run-b/ --difference 0.01`
    """
    from pfgen_rs import comparisons

    if difference is not None and other is None and reading.run_field is None:
        raise typer.BadParameter("--difference needs a second run", param_hint="'--difference'")
    paths = comparisons.distinct([run] if other is None else [run, other])
    results = reading.score_with(paths, benchmark)
    samples = comparisons.comparison_samples(results)
    plan = stats.plan_trials(samples, precision=precision, difference=difference)
    if output_format == "json":
        process.emit_json({**plan.to_dict(), "signature": samples[0].signature})
    else:
        sentences = [*_sentences(plan), samples[0].signature or ""]
        terminal.show(_table(plan), *map(terminal.cell, sentences))


def _table(plan: "stats.Plan") -> Table:
    """Returns a table of precision by number of trials."""
    numbers = ["trials", "± same questions", "± other questions"]
    rows = [
        (f"{step.trials:,}", f"{step.trial_noise:.4f}", f"{step.with_questions:.4f}")
        for step in plan.table
    ]
    return terminal.new_table(*numbers, numbers=numbers, rows=rows)


def _sentences(plan: "stats.Plan") -> Iterator[str]:
    what = " minus ".join(plan.runs)
    mean = f"{plan.mean:.4f}" if len(plan.runs) == 1 else f"{plan.mean:+.4f}"
    yield f"{what}: score {mean}, SD of a trial {plan.trial_sd:.4f}"
    needed = counted(plan.trials_needed, "trial")
    yield f"±{plan.precision:g} ({plan.level * 100:g} %) needs {needed} for the same questions"
    if plan.trials_needed_with_questions is None:
        yield (
            "for other questions of the same kind, no number of trials is enough: "
            f"±{plan.remaining:.4f} is due to having only {counted(plan.questions, 'question')}"
        )
    else:
        needed = counted(plan.trials_needed_with_questions, "trial")
        yield (
            f"for other questions of the same kind, {needed}; "
            f"±{plan.remaining:.4f} remains with any number of trials"
        )
    if plan.difference is None:
        return
    for trials, where in (
        (plan.trials_to_tell, "for the same questions"),
        (plan.trials_to_tell_with_questions, "for other questions of the same kind"),
    ):
        reached = "cannot be reached with any number of trials"
        if trials is not None:
            reached = f"needs {counted(trials, 'trial')} per run"
        yield f"{plan.power * 100:g} % power to detect {plan.difference:.4f} {reached} {where}"
