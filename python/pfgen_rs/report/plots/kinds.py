"""Draws figures by name, from files, with the tables that are drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from pfgen_rs.benchmark import score_runs
from pfgen_rs.comparisons import comparison_samples
from pfgen_rs.drawing.style import NEEDED, available
from pfgen_rs.drawing.words import Language
from pfgen_rs.errors import OutputError, PlotError
from pfgen_rs.questions.locate import benchmark_path
from pfgen_rs.questions.question import read_folder
from pfgen_rs.report.plots import cuts
from pfgen_rs.report.plots.convergence import convergence, running
from pfgen_rs.report.plots.distributions import MOST as MOST_QUESTIONS
from pfgen_rs.report.plots.distributions import distributions
from pfgen_rs.report.plots.drawn import (
    BOUNDS,
    OF_RUNS,
    RUN,
    Drawn,
    draw_categories,
    draw_runs,
    numbered_note,
    run_columns,
)
from pfgen_rs.report.plots.frames import question_scores, responses, source_scores
from pfgen_rs.report.plots.inputs import (
    Inputs,
    Score,
    question_folder,
    read_curve_rows,
    read_inputs,
    sample_names,
    score_inputs,
)
from pfgen_rs.report.plots.learning import LearningAxis, learning_curve
from pfgen_rs.report.plots.sources import source_means, source_pairs
from pfgen_rs.report.plots.steps import STEP, score_steps, series

__all__ = ["KINDS", "Drawn", "Wish", "draw"]


@dataclass(frozen=True)
class Wish:
    """What to draw: runs, `score` and `again` as for `read_inputs`, and options.

    A figure ignores options that it does not need.
    """

    paths: Sequence[str]
    benchmark: str | None = None
    metric: str = "average"
    sources: Sequence[str] | None = None
    step_pattern: str = STEP
    top: int | None = None
    x: LearningAxis = "step"
    title: str | None = None
    language: Language = "en"
    font: str | None = None
    score: Score = score_runs
    again: bool = False

    @property
    def look(self) -> dict[str, Any]:
        """The arguments of every figure."""
        return {"title": self.title, "language": self.language, "font": self.font}


def draw(kind: str, wish: Wish) -> Drawn:
    """Draw a figure of `KINDS`. Raises a `PfgenError` for what cannot be read, scored or drawn."""
    if kind not in KINDS:
        raise PlotError(f"unknown figure {kind!r}: expected one of {', '.join(KINDS)}")
    if not available():  # before anything is scored
        raise OutputError(NEEDED)
    return KINDS[kind](wish)


def _drawing_of_runs(kind: str) -> Callable[[Wish], Drawn]:
    def drawn(wish: Wish) -> Drawn:
        inputs = read_inputs(wish.paths, wish.benchmark, wish.score, again=wish.again)
        return _with_problems(draw_runs(kind, inputs.runs, top=wish.top, **wish.look), inputs)

    return drawn


def _with_problems(drawn: Drawn, inputs: Inputs) -> Drawn:
    drawn.notes[:0] = [f"left out: {problem}" for problem in inputs.problems]
    return drawn


def _draw_sources(wish: Wish) -> Drawn:
    inputs = _with_results(wish)
    scores = source_scores(inputs.results)
    sources = None if wish.sources is None else tuple(wish.sources)
    figure = source_pairs(scores, inputs.runs, metric=wish.metric, sources=sources, **wish.look)
    means = source_means(scores, metric=wish.metric, sources=sources)
    table = run_columns(inputs.runs, ()).join(means, on="name", maintain_order="left_right")
    notes = numbered_note(table["name"].n_unique())
    return _with_problems(Drawn(figure, notes, table), inputs)


def _draw_categories(wish: Wish) -> Drawn:
    inputs = _with_results(wish)
    folder = benchmark_path(question_folder(wish.paths, wish.benchmark))
    questions, metadata_hash = read_folder(folder)
    for name, result in inputs.results.items():
        if result["metadata_hash"] != metadata_hash:
            raise PlotError(
                f"{name}: scored with other questions than {folder}: pass its benchmark"
            )
    categories = {question.id: question.category or None for question in questions}
    overall = {name: result["score"] for name, result in inputs.results.items()}
    scores = question_scores(inputs.results)
    drawn = draw_categories(scores, categories, overall, top=wish.top, **wish.look)
    return _with_problems(drawn, inputs)


def _with_results(wish: Wish) -> Inputs:
    inputs = read_inputs(wish.paths, wish.benchmark, wish.score, again=wish.again)
    if not inputs.results:
        raise PlotError("a leaderboard file has no questions: pass a checkout or runs")
    return inputs


def _draw_convergence(wish: Wish) -> Drawn:
    results = score_inputs(wish.paths, wish.benchmark, wish.score)
    found, notes = comparison_samples(results)
    named = [
        replace(sample, name=name)
        for sample, name in zip(found, sample_names(results), strict=True)
    ]
    figure = convergence(named, metric=wish.metric, **wish.look)
    rows = [
        running(sample, wish.metric).select(pl.lit(sample.name).alias("name"), pl.all())
        for sample in named
    ]
    return Drawn(figure, notes, pl.concat(rows))


def _draw_steps(wish: Wish) -> Drawn:
    inputs = read_inputs(wish.paths, wish.benchmark, wish.score, again=wish.again)
    figure = score_steps(inputs.runs, pattern=wish.step_pattern, **wish.look)
    steps = series(inputs.runs, wish.step_pattern)
    shown = [name for name in ("series", "step", *RUN, *BOUNDS) if name in steps.columns]
    return _with_problems(Drawn(figure, [], steps.select(shown)), inputs)


def _draw_distributions(wish: Wish) -> Drawn:
    results = score_inputs(wish.paths, wish.benchmark, wish.score)
    if len(results) != 1:
        raise PlotError(f"the spread figure takes one run, got {len(results)}")
    table = responses(results[0])
    cut = cuts.cut_note(cuts.QUESTIONS, MOST_QUESTIONS, table["question_id"].n_unique())
    figure = distributions(table, name=sample_names(results)[0], **wish.look)
    return Drawn(figure, [cut] if cut else [], table)


def _draw_learning(wish: Wish) -> Drawn:
    curve = read_curve_rows(wish.paths)
    return Drawn(learning_curve(curve, x=wish.x, **wish.look), [], curve)


KINDS: dict[str, Callable[[Wish], Drawn]] = {
    **{kind: _drawing_of_runs(kind) for kind in OF_RUNS},
    "sources": _draw_sources,
    "categories": _draw_categories,
    "convergence": _draw_convergence,
    "steps": _draw_steps,
    "spread": _draw_distributions,
    "learning": _draw_learning,
}
