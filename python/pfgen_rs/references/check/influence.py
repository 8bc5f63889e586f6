"""How much models that wrote reference answers lift their own scores.

Each is scored with the whole set and without its answers (or those of its family): its reference answers,
each left out of its own references, and its runs.
"""

import math
from collections.abc import Iterator
from typing import Any

from pfgen_rs import Benchmark, BenchmarkError
from pfgen_rs.io.text import counted
from pfgen_rs.lazy import pl
from pfgen_rs.questions.left_out import LeaveOut, families_in, own_models
from pfgen_rs.references.check import answers
from pfgen_rs.references.check.scores import model_of

_SCHEMA: dict[str, Any] = {
    "models": pl.String,
    "run": pl.String,
    "answers": pl.Int64,
    **dict.fromkeys(["score", "score_without"], pl.Float64),
    **dict.fromkeys(["rank", "rank_without"], pl.Int64),
}


def influence(
    benchmark: Benchmark,
    self_scores: pl.DataFrame,
    responses: pl.DataFrame | None,
    leave_out: LeaveOut = "model",
    *,
    threads: int | None = None,
    progress: answers.CheckProgress | None = None,
) -> pl.DataFrame:
    """Score each model that wrote reference answers, or each family, with the whole set and without them.

    For each of these `models`, a row for their reference answers (`run` is null; each is scored without
    itself), and one for each of their runs: the number of `answers`, the `score` (the mean average) and
    `score_without` theirs, and for runs the `rank` and `rank_without` among all, where others keep their
    scores. There is none if the set does not say who wrote its answers, nor for models without which a source
    of a question would have no answers. `self_scores`, `responses`: as `scores` returns them.
    """
    written = [
        {"answer": text, "maker": None if maker is None else question.models[maker]}
        for question in benchmark
        for source, own in question.answers.items()
        for text, maker in zip(own, question.makers.get(source, [None] * len(own)), strict=True)
    ]
    by_whom = pl.DataFrame(written, {"answer": pl.String, "maker": pl.String})
    scored = self_scores.select("question_id", "average").hstack(by_whom).drop_nulls()
    names = scored["maker"].unique().sort().to_list()
    runs = {} if responses is None else responses.partition_by("run", as_dict=True)
    whole = {name: _mean(part) for (name,), part in runs.items()}
    families = families_in(benchmark.folder)
    groups = dict.fromkeys(own_models(names, name, leave_out, families) for name in names)
    rows: list[tuple[Any, ...]] = []
    for models in answers.tracked(list(groups), "without own models", progress):
        try:
            left = benchmark.without_models(models)
        except BenchmarkError:
            continue
        theirs = [run for run in whole if own_models(models, model_of(run), leave_out, families)]
        parts = [scored.filter(pl.col("maker").is_in(models)), *(runs[run,] for run in theirs)]
        for name, part in zip([None, *theirs], parts, strict=True):
            again = left.score_batch(part["question_id"], part["answer"], threads=threads)
            both = _mean(part), _mean(again)
            others = [score for other, score in whole.items() if other != name]
            ranks = [1 + sum(other > score for other in others) if name else None for score in both]
            rows.append((", ".join(models), name, len(part), *both, *ranks))
    table = pl.DataFrame(rows, schema=_SCHEMA, orient="row")
    return table.with_columns(pl.col(pl.Float64).round(6))


def _mean(frame: pl.DataFrame) -> float:
    """Returns the mean over questions of the mean averages."""
    return math.fsum(of := answers.means(frame, ["question_id"], ["average"])["average"]) / len(of)


def _signed(value: float) -> str:
    return f"{round(value, 3) + 0.0:+.3f}"  # no zero has a minus


def sentences(table: pl.DataFrame, benchmark: Benchmark) -> Iterator[str]:
    """Yield what the table says."""
    if table.is_empty():
        nobody = "the set does not say who wrote its answers"
        reason = (
            "without any of them, a source would have no answers" if benchmark.models else nobody
        )
        yield f"how much models lift their own scores is unknown: {reason}"
    lifted = table.with_columns(lift=pl.col("score") - pl.col("score_without"))
    for (is_run,), rows in lifted.group_by(pl.col("run").is_not_null(), maintain_order=True):
        mean, most = (
            math.fsum(rows["lift"]) / len(rows),
            rows.row(rows["lift"].arg_max() or 0, named=True),
        )
        moved = len(rows.filter(pl.col("rank") != pl.col("rank_without")))
        ranks = f"; without these, {moved} of {counted(len(rows), 'run')} would have another rank"
        yield (
            "models' own reference answers change the scores of their "
            f"{'runs' if is_run else 'other reference answers'} by {_signed(mean)} on average (highest: "
            f"{most['models']!r}, {_signed(most['lift'])}){ranks * is_run}"
        )
