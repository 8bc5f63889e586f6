"""How the scores of runs change with smaller sets."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Sequence
from functools import partial

import polars as pl

from pfgen_rs import io
from pfgen_rs.benchmark import Benchmark
from pfgen_rs.errors import SettingsError
from pfgen_rs.questions.question import Question
from pfgen_rs.references.check.correlation import pearson, spearman
from pfgen_rs.references.check.scored_runs import SCORES, run_means
from pfgen_rs.references.check.steps import CheckProgress, tracked

__all__ = ["SIZES", "shrinking", "shrinking_runs", "shrunk"]

SIZES = (50, 100, 200, 500)
_PLACE = ["size", "draw", "run"]


def shrunk(benchmark: Benchmark, size: int, *, seed: int = 0, draw: int = 0) -> Benchmark:
    """Returns the same questions with at most `size` randomly chosen answers per source.

    One order is drawn for each seed, draw, question and source, and its first answers are kept, so the
    smaller sets of a draw are subsets of the larger ones. Empty answers are chosen last. Raises
    `SettingsError` for a `size` below 1.
    """
    if size < 1:
        raise SettingsError(f"size must be at least 1, not {size}")
    questions = [
        dataclasses.replace(
            question,
            answers={
                source: _answers_after_shrinking(question, source, size, f"{seed}:{draw}")
                for source in question.sources
            },
        )
        for question in benchmark
    ]
    return Benchmark(questions, "", benchmark.settings)


def _answers_after_shrinking(
    question: Question, source: str, size: int, stream: str
) -> tuple[str, ...]:
    answers = question.answers[source]
    # Only the sequence of `random()` is guaranteed to stay the same in all versions of Python.
    rng = random.Random(f"{stream}:{question.id}:{source}")  # noqa: S311 - a sample, no secret
    # Empty ones come last: a source with only empty answers cannot be scored against.
    order = sorted((not answer, rng.random(), number) for number, answer in enumerate(answers))
    kept = sorted(number for _, _, number in order[:size])
    return tuple(answers[number] for number in kept)


def shrinking_runs(
    benchmark: Benchmark,
    responses: pl.DataFrame,
    *,
    sizes: Sequence[int] = SIZES,
    draws: int = 3,
    seed: int = 0,
    threads: int | None = None,
    progress: CheckProgress | None = None,
) -> pl.DataFrame:
    """Returns the runs' means with smaller sets: `size`, `draw` (from 0), and the columns of `run_means`.

    The whole set comes first, with null as its size and draw. Sizes that no source exceeds are skipped.
    `responses` as returned by `scored_runs`.
    """
    largest = max(len(answers) for question in benchmark for answers in question.answers.values())
    steps = [(size, draw) for size in sorted(set(sizes)) if size < largest for draw in range(draws)]
    tables = [_shrinking_draw_placed(run_means(responses), None, None)]
    for size, draw in tracked(steps, "shrinking", progress):
        smaller = shrunk(benchmark, size, seed=seed, draw=draw)
        io.interruptibly(partial(smaller.prepare, threads=threads))
        scores = smaller.score_batch(
            responses.get_column("question_id"), responses.get_column("answer"), threads=threads
        )
        scores.insert_column(0, responses.get_column("run"))
        tables.append(_shrinking_draw_placed(run_means(scores), size, draw))
    return pl.concat(tables)


def _shrinking_draw_placed(means: pl.DataFrame, size: int | None, draw: int | None) -> pl.DataFrame:
    return means.select(
        pl.lit(size, dtype=pl.Int64).alias("size"),
        pl.lit(draw, dtype=pl.Int64).alias("draw"),
        pl.all(),
    )


def shrinking(by_run: pl.DataFrame) -> pl.DataFrame:
    """Compare runs' scores with smaller sets to those with the whole set, by size, draw and metric.

    Columns: `size`, `draw`, `metric` (as in `run_means`), `runs`, `pearson`, `spearman` (null for fewer than
    three runs), `mean_difference` and `largest_difference` (absolute). `by_run` as returned by
    `shrinking_runs`.
    """
    whole = by_run.filter(pl.col("size").is_null())
    smaller = by_run.filter(pl.col("size").is_not_null())
    rows = [
        (
            size,
            draw,
            metric,
            *_shrinking_rank_agreement(whole[metric].to_list(), part[metric].to_list()),
        )
        for (size, draw), part in smaller.group_by(["size", "draw"], maintain_order=True)
        for metric in SCORES
    ]
    agreement = ["pearson", "spearman", "mean_difference", "largest_difference"]
    schema = {
        "size": pl.Int64,
        "draw": pl.Int64,
        "metric": pl.String,
        "runs": pl.Int64,
        **dict.fromkeys(agreement, pl.Float64),
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def _shrinking_rank_agreement(
    whole: list[float], part: list[float]
) -> tuple[int, float | None, float | None, float, float]:
    differences = [abs(x - y) for x, y in zip(whole, part, strict=True)]
    return (
        len(whole),
        pearson(whole, part),
        spearman(whole, part),
        math.fsum(differences) / len(differences),
        max(differences),
    )
