"""`pfgen-rs compare`: compares runs, overall and by question."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from pfgen_rs.cli import options, output
from pfgen_rs.cli.loading import is_folder_there
from pfgen_rs.cli.scoring_options import ScoringOptions, scoring_options
from pfgen_rs.metrics.names import METRICS

__all__ = ["compare"]


class ComparedMetric(StrEnum):
    """The metric to compare, or all metrics."""

    AVERAGE = "average"
    FLUENCY = "fluency"
    TRUTHFULNESS = "truthfulness"
    HELPFULNESS = "helpfulness"
    ALL = "all"


def _compare_html_path(path: Path | None) -> Path | None:
    if path is not None and not is_folder_there(path):
        raise typer.BadParameter(f"{path.parent}: not a directory")
    return path


@scoring_options()
def compare(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE|DIR|GLOB",
            help="Two or more runs, as for `score`; with --run-field, a file may have them all.",
            show_default=False,
        ),
    ],
    scoring: ScoringOptions,
    benchmark: options.BenchmarkName = None,
    output_format: options.Format = options.JsonFormat.TABLE,
    metric: Annotated[
        ComparedMetric | None,
        typer.Option(
            help="Metric to compare (default: all for two runs, the average for more).",
            show_default=False,
        ),
    ] = None,
    level: options.Level = 0.95,
    questions: Annotated[
        int,
        typer.Option(
            min=0, metavar="N", help="Number of questions for which to show the runs' answers."
        ),
    ] = 3,
    resamples: Annotated[
        int,
        typer.Option(
            min=100, max=1_000_000, metavar="N", help="Number of resamples of the bootstrap."
        ),
    ] = 10_000,
    seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="Seed for resamples and permutations.")
    ] = 0,
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="PAGE",
            callback=_compare_html_path,
            help="Also write a web page with all metrics and answers: a single file if PAGE ends in "
            ".html, otherwise a folder. Its intervals of differences are Student's t.",
            show_default=False,
        ),
    ] = None,
    threads: options.Threads = None,
) -> None:
    """Compare runs, paired by question.

    The interval of a run's mean is over questions (Student's t), as in `score`; the interval of a difference
    is from a bootstrap over questions and trials. p-values are from permutation tests over questions,
    corrected for the number of pairs (Holm). Rank ranges are the ranks that these tests cannot rule out. The
    questions that differ most are shown last, each with a typical answer of every run.

    For example:

    - `pfgen-rs compare run-a/ run-b/`

    - `pfgen-rs compare 'result/*/*/*' -b pfgen-bench --metric fluency`

    - `pfgen-rs compare a.jsonl b.jsonl --format json`

    - `pfgen-rs compare run-a/ run-b/ --html page.html`

    - `pfgen-rs compare all.csv --run-field model --clean`
    """
    from pfgen_rs import comparisons
    from pfgen_rs.cli import compare_view

    paths = comparisons.distinct(files)
    results = scoring.score_with(paths, benchmark, threads=threads)
    if metric is None:
        metric = ComparedMetric.ALL if len(results) == 2 else ComparedMetric.AVERAGE
    settings: dict[str, Any] = {"level": level, "resamples": resamples, "seed": seed}
    metrics = METRICS if metric is ComparedMetric.ALL else (metric.value,)
    found = comparisons.compare_runs(results, metrics=metrics, **settings)
    for note in found.notes:
        output.warn(note)
    if html is not None:
        from pfgen_rs.report.site import write_comparison

        with output.busy(f"writing {html}"):
            write_comparison(results, html, level=level, seed=seed)
    if output_format is options.JsonFormat.JSON:
        output.emit_json(compare_view.comparison_document(found, questions))
    else:
        output.show(*compare_view.comparison_report(found, questions, output.width()))
