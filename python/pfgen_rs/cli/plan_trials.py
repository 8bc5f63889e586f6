"""`pfgen-rs plan-trials`: computes how many trials are needed."""

from __future__ import annotations

from typing import Annotated

import typer

from pfgen_rs.cli import options, output
from pfgen_rs.cli.scoring_options import ScoringOptions, scoring_options

__all__ = ["plan_trials"]


@scoring_options()
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
    scoring: ScoringOptions,
    benchmark: options.BenchmarkName = None,
    precision: Annotated[
        float, typer.Option(metavar="X", help="Half-width of the interval.")
    ] = 0.005,
    level: options.Level = 0.95,
    difference: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="With OTHER: the difference to detect (default: the observed one).",
            show_default=False,
        ),
    ] = None,
    power: Annotated[
        float,
        typer.Option(metavar="SHARE", help="With OTHER: power to detect that difference."),
    ] = 0.8,
    metric: Annotated[
        options.MetricName,
        typer.Option(help="The average of the metrics, or one of them."),
    ] = options.MetricName.AVERAGE,
    output_format: options.Format = options.JsonFormat.TABLE,
    threads: options.Threads = None,
) -> None:
    """Plan how many trials are needed for a precision, or to detect a difference.

    A trial is one answer to every question. More trials reduce the noise between trials, but not the error
    from the choice of questions; the plan shows both.

    For example:

    - `pfgen-rs plan-trials run/ --precision 0.005`

    - `pfgen-rs plan-trials run-a/ run-b/ --difference 0.01`
    """
    from pfgen_rs import comparisons, stats
    from pfgen_rs.cli import plan_view

    if difference is not None and other is None and scoring.run_field is None:
        raise typer.BadParameter("--difference needs a second run", param_hint="'--difference'")
    paths = comparisons.distinct([run] if other is None else [run, other])
    results = scoring.score_with(paths, benchmark, threads=threads)
    samples, _ = comparisons.comparison_samples(results)
    plan = stats.plan_trials(
        samples,
        precision=precision,
        difference=difference,
        level=level,
        power=power,
        metric=metric.value,
    )
    if output_format is options.JsonFormat.JSON:
        output.emit_json({**plan.to_dict(), "signature": samples[0].signature})
    else:
        output.show(*plan_view.plan_report(plan), output.cell(samples[0].signature or ""))
