"""`pfgen-rs judge grade`: ratings of the answers of runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pfgen_rs.cli import options, output
from pfgen_rs.cli.judge_against import show_correlation
from pfgen_rs.cli.judge_options import (
    RetryOptions,
    finish_asking,
    resumable_asking,
    retrying_options,
)
from pfgen_rs.cli.scoring_options import ScoringOptions, scoring_options
from pfgen_rs.io.counted import counted

if TYPE_CHECKING:
    import polars as pl

__all__ = ["grade"]


@scoring_options()
@retrying_options
def grade(
    runs: Annotated[
        list[str],
        typer.Argument(metavar="RUN…", help="Files or folders of runs.", show_default=False),
    ],
    asking: RetryOptions,
    scoring: ScoringOptions,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="DIR", help="Folder of ratings."),
    ] = Path("ratings"),
    prompt: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Prompt: single-reference (Imajo 2025), or one of --prompts."
        ),
    ] = "single-reference",
    benchmark: options.BenchmarkName = None,
    trials: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Rate the first N answers to each question (default: all)."
        ),
    ] = None,
    rubric: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="What {rubric} stands for in the prompt: a text, or a rubric of Prometheus (.json).",
        ),
    ] = None,
    samples: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", help="Ratings of each answer; needs a temperature above 0."
        ),
    ] = 1,
) -> None:
    """Let a judge rate every answer of runs, and correlate the means with the runs' scores.

    The benchmark's example answers are the reference answers. Nothing is asked twice.

    Example: `pfgen-rs judge grade runs/a runs/b -b pfgen-bench --engine openai --model gpt-4o --out ratings`
    """
    from pfgen_rs.judge.against_scores import run_correlation
    from pfgen_rs.judge.formats.prometheus import rubric_text
    from pfgen_rs.judge.grading import (
        answers_of_run,
        grading_requests,
        mean_ratings,
        open_ratings,
        ratings_of_runs,
    )
    from pfgen_rs.judge.grading import grade as graded
    from pfgen_rs.judge.run_pairs import references_of
    from pfgen_rs.runs.naming import named_results

    results = named_results(scoring.score_with(runs, benchmark))
    references = references_of(benchmark)
    text = None if rubric is None else rubric_text(rubric)
    items = [
        item
        for name, result in results.items()
        for item in answers_of_run(result.frame, name, references, trials, text)
    ]
    chosen = asking.prompt(prompt, "grade")
    brief = not (chosen.brackets or chosen.result)
    judge = asking.retrying(asking.judge(chosen, brief=brief), out)
    requests = list(grading_requests(items, chosen, samples))
    with resumable_asking(out, "rated"):
        asked = asking.ask(
            judge,
            "rating",
            open_ratings(out),
            requests,
            lambda engine, budget, progress: graded(
                items,
                engine,
                judge,
                chosen,
                out,
                samples=samples,
                budget=budget,
                keep_going=asking.keep_going,
                progress=progress,
            ),
        )
    if asked is not None:
        output.emit(f"{out}: {asked.stored} of {counted(asked.total, 'rating')}, {asked.new} new\n")
        scores = {name: result.score for name, result in results.items()}
        frames = {name: result.frame for name, result in results.items()}
        most = trials or max(frame.height for frame in frames.values())
        found = ratings_of_runs(out, frames, references, most)
        means = mean_ratings(found.frame)
        _show_ratings(means, scores)
        for note in found.notes():
            output.warn(note)
        show_correlation(run_correlation(means, scores))
    finish_asking(asked)


def _show_ratings(means: pl.DataFrame, scores: dict[str, float]) -> None:
    table = output.new_table(
        "model",
        "score",
        "rating",
        "±",
        "ratings",
        "invalid",
        numbers=("score", "rating", "±", "ratings", "invalid"),
    )
    for row in means.iter_rows(named=True):
        score = scores.get(row["model"])
        table.add_row(
            output.cell(row["model"]),
            output.cell("–" if score is None else f"{score:.4f}"),
            output.cell("–" if row["mean"] is None else f"{row['mean']:.3f}"),
            output.cell("–" if row["se"] is None else f"{row['se']:.3f}"),
            output.cell(row["ratings"]),
            output.cell(row["invalid"]),
        )
    output.show(table)
