"""`pfgen-rs gate`: whether a run may replace another, as an exit code and in a sentence."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from pfgen_rs.cli import app, options, process
from pfgen_rs.metrics.settings import Metric


@options.with_options(options.ScoringOptions, "scoring", without=("run_field",))
def gate(
    base: Annotated[str, typer.Argument(metavar="BASE", help="A run, as for `score`.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The run that may not be worse.")],
    scoring: options.ScoringOptions,
    benchmark: options.BenchmarkName = None,
    max_drop: Annotated[
        float, typer.Option(metavar="X", help="Largest drop that is accepted.")
    ] = 0.01,
    level: options.Level = 0.95,
    metric: Annotated[
        Literal[Metric, "all"],
        typer.Option(help="Metric that may not drop; `all`: all four, each tested more strictly."),
    ] = "average",
    test: Annotated[
        Literal["non-inferiority", "regression", "equivalence"],
        typer.Option(help="What has to be shown; see above."),
    ] = "non-inferiority",
    questions: Annotated[
        Literal["same", "other"],
        typer.Option(help="Whether NEW is worse on these questions, or would be on their kind."),
    ] = "same",
    output_format: Annotated[
        Literal["sentence", "json", "markdown"],
        typer.Option("--format", "-f", help="What to print; the sentence then goes to stderr."),
    ] = "sentence",
    junit: Annotated[
        Path | None,
        typer.Option(metavar="FILE", callback=app.checked_output, help="Also write JUnit XML."),
    ] = None,
    threads: options.Threads = None,
) -> None:
    """Decide whether a run may replace another, or has lost too much of its score.

    Tests, each with bounds for the difference NEW minus BASE:

    - `non-inferiority`: passes if a drop beyond --max-drop is excluded, and fails if one is certain.

    - `regression`: passes likewise, but fails for any significant drop, however small.

    - `equivalence`: passes if drops and rises beyond --max-drop are excluded, and fails if one is certain;
    for changes that should change nothing, such as another inference engine.

    A wrong verdict has a probability of at most 1 minus --level. Where neither is certain, the sentence says
    how many trials would tell. Trials of the same number are compared, as many as both runs have; fewer than
    three are compared over questions, where only larger drops show.

    `--format markdown` is a table for a pull request. In JUnit XML, each metric is a test: a drop is a
    failure, and one that the gate cannot tell is skipped. With another format than `sentence`, the sentence
    goes to standard error.

    Exit codes: 0 pass, 1 drop (or rise), 2 bad usage or input, 3 cannot tell.

    For example:

    - `pfgen-rs gate base/ new/`

    - `pfgen-rs gate base.jsonl new.jsonl -b pfgen-bench --max-drop 0.02 --junit gate.xml`

    - `pfgen-rs gate base/ new/ --format markdown >> "$GITHUB_STEP_SUMMARY"`
    """
    from pfgen_rs import comparisons, gating
    from pfgen_rs.stats.gating import Rule

    how: dict[str, Any] = {"max_drop": max_drop, "level": level, "test": test}
    Rule(**how)  # what is wrong with it is told before anything is scored
    paths = comparisons.distinct([base, new])
    if len(paths) != 2:
        raise typer.BadParameter(f"BASE and NEW are one run each, but {len(paths)} were found")
    held, tried = scoring.score_with(paths, benchmark, threads=threads)
    found = gating.gate(held, tried, metric=metric, questions=questions, **how)
    if junit is not None:
        found.to_junit(junit)
    if output_format == "sentence":
        process.emit(f"{found}\n")
    else:
        for line in found.sentence.splitlines():
            process.remark(line)
        if output_format == "json":
            process.emit_json(found.to_dict())
        else:
            process.emit(found.to_markdown())
    process.fail(found.exit_code)
