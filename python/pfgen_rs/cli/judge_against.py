"""`pfgen-rs judge against-scores`: judges and people beside the n-gram scores."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pfgen_rs.cli import options, output
from pfgen_rs.cli.judge_agree_view import percent, range_text
from pfgen_rs.cli.judge_decide import RuleName, read_decisions
from pfgen_rs.cli.scoring_options import ScoringOptions, scoring_options
from pfgen_rs.io.counted import counted

if TYPE_CHECKING:
    import polars as pl

    from pfgen_rs.judge.against_scores import RunCorrelation

__all__ = ["against_scores", "show_correlation"]


@scoring_options()
def against_scores(
    verdicts: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[VERDICTS…]",
            help="Folders of verdicts on answers to the benchmark's questions (default: the bundled "
            "sample's).",
            show_default=False,
        ),
    ] = None,
    *,
    scoring: ScoringOptions,
    benchmark: options.BenchmarkName = None,
    humans: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Verdicts of people on the same pairs.")
    ] = None,
    by: Annotated[
        RuleName, typer.Option(help="How pairs are decided; see `judge decide`.")
    ] = RuleName.PROBABILITY,
    ratings: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of ratings (made by `judge grade`) of --run."),
    ] = None,
    runs: Annotated[
        list[str] | None,
        typer.Option(
            "--run", metavar="RUN", help="Rated runs, for the correlation over runs; repeatable."
        ),
    ] = None,
    bins: Annotated[
        int, typer.Option(min=1, metavar="N", help="Number of bins of the margin.")
    ] = 4,
    output_format: options.Format = options.JsonFormat.TABLE,
) -> None:
    """Tell how often the answer with the higher score is the one that a judge or people prefer, by margin.

    With --ratings and --run, correlate mean ratings with the scores of runs as well (Imajo 2025, figure 4).
    Without arguments: the bundled, made-up sample, whose figures are no findings.

    Example: `pfgen-rs judge against-scores verdicts -b pfgen-bench --humans humans.jsonl`
    """
    from pfgen_rs.judge.against_scores import agreement_by_margin, scored_pairs, verdicts_by_name
    from pfgen_rs.judge.verdict_folder import VerdictFolder, distinct_judge_names

    folders = verdicts
    if not verdicts and ratings is None:
        folders, ratings, runs = _sample_arguments()
    found: dict[str, Any] = {}
    table = None
    if folders:
        opened = [VerdictFolder(path) for path in folders]
        read = read_decisions(opened)
        pairs = list({pair.id: pair for folder in opened for pair in folder.pairs()}.values())
        scores = scored_pairs(pairs, scoring.load(benchmark), clean=scoring.cleaning)
        frames = dict(zip(distinct_judge_names(opened), (frame for frame, _ in read), strict=True))
        table = agreement_by_margin(scores, verdicts_by_name(frames, by.value, humans), bins)
        found["pairs"] = table.to_dicts()
        found["coverage"] = [coverage.to_dict() for _, coverage in read]
    correlation = None
    if ratings is not None:
        correlation, missing = _correlation_of_runs(ratings, runs or [], benchmark, scoring)
        found["runs"] = {**correlation.to_dict(), **missing}
    if output_format is options.JsonFormat.JSON:
        output.emit_json(found)
        return
    if table is not None:
        _show_margins(table)
    if correlation is not None:
        show_correlation(correlation)


def _sample_arguments() -> tuple[list[Path], Path, list[str]]:
    from pfgen_rs.judge.sample import sample_path
    from pfgen_rs.questions.locate import sample_runs

    output.remark("the bundled sample, which is made up: its figures are no findings")
    sample = sample_path()
    return (
        [sample / "verdicts" / "runs"],
        sample / "ratings",
        [str(path) for path in sample_runs().values()],
    )


def _correlation_of_runs(
    ratings: Path, runs: list[str], benchmark: str | None, scoring: ScoringOptions
) -> tuple[RunCorrelation, dict[str, Any]]:
    """Returns the correlation, and how many answers lack a rating and ratings an answer."""
    from pfgen_rs.judge.against_scores import run_correlation
    from pfgen_rs.judge.grading import mean_ratings, ratings_of_runs
    from pfgen_rs.judge.run_pairs import references_of
    from pfgen_rs.runs.naming import named_results

    if not runs:
        raise typer.BadParameter("--ratings requires the rated runs: --run RUN", param_hint="--run")
    results = named_results(scoring.score_with(runs, benchmark))
    scores = {name: result.score for name, result in results.items()}
    frames = {name: result.frame for name, result in results.items()}
    found = ratings_of_runs(ratings, frames, references_of(benchmark))
    for note in found.notes():
        output.warn(note)
    missing = {"missing": dict(found.missing), "stale": found.others}
    return run_correlation(mean_ratings(found.frame), scores), missing


def _show_margins(table: pl.DataFrame) -> None:
    names = ["who", "margin", "share", "exact interval", "pairs", "ties", "missing"]
    shown = output.new_table(
        *names, numbers=names[1:], title="the answer with the higher score is preferred, %"
    )
    for row in table.iter_rows(named=True):
        cells = [
            row["who"],
            row["margin"],
            percent(row["share"]),
            range_text(row["low"], row["high"]),
            row["pairs"],
            row["ties"],
            row["missing"],
        ]
        shown.add_row(*map(output.cell, cells))
    output.show(shown)


def show_correlation(found: RunCorrelation) -> None:
    """Print the correlation of ratings with scores over runs."""
    for name, value, interval in (
        ("Pearson's r", found.pearson, found.pearson_interval),
        ("Spearman's ρ", found.spearman, found.spearman_interval),
    ):
        if value is None:
            output.emit(
                f"{name} of ratings and scores: undefined for {counted(len(found.runs), 'run')}\n"
            )
            continue
        bounds = range_text(*interval, 1, 4)
        output.emit(
            f"{name} of ratings and scores: {value:.4f} (95 % interval {bounds}), "
            f"{counted(len(found.runs), 'run')}\n"
        )
