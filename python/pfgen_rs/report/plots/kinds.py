"""Draws figures by name, from files, with the tables that are drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from pfgen_rs.comparisons import comparison_samples
from pfgen_rs.drawing.style import NEEDED, available
from pfgen_rs.drawing.words import Language
from pfgen_rs.errors import OutputError, PlotError
from pfgen_rs.metrics.names import PARTS
from pfgen_rs.questions.locate import benchmark_path
from pfgen_rs.questions.question import read_folder
from pfgen_rs.report.plots import cuts
from pfgen_rs.report.plots.categories import MOST as MOST_MAPPED
from pfgen_rs.report.plots.categories import category_map, category_means
from pfgen_rs.report.plots.convergence import convergence, running
from pfgen_rs.report.plots.distributions import MOST as MOST_QUESTIONS
from pfgen_rs.report.plots.distributions import distributions
from pfgen_rs.report.plots.frames import question_scores, responses, source_scores
from pfgen_rs.report.plots.inputs import (
    Inputs,
    question_folder,
    read_curve_rows,
    read_inputs,
    sample_names,
    score_inputs,
)
from pfgen_rs.report.plots.intervals import MOST as MOST_INTERVALS
from pfgen_rs.report.plots.intervals import intervals
from pfgen_rs.report.plots.learning import LearningAxis, learning_curve
from pfgen_rs.report.plots.metrics import metric_pairs, score_length
from pfgen_rs.report.plots.points import BEST, NAMED
from pfgen_rs.report.plots.sources import source_means, source_pairs
from pfgen_rs.report.plots.steps import STEP, score_steps, series

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["KINDS", "Drawn", "Wish", "draw"]

_RUN = ("name", "run", "model", "mode", "score")
_BOUNDS = ("score_low", "score_high")
_RANKS = ("rank", "rank_low", "rank_high")


@dataclass(frozen=True)
class Wish:
    """What to draw: runs as for `read_inputs`, and options; a figure ignores options it does not need."""

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

    @property
    def look(self) -> dict[str, Any]:
        """The arguments of every figure."""
        return {"title": self.title, "language": self.language, "font": self.font}


@dataclass
class Drawn:
    """A figure, remarks about its runs, and the table that it shows, of all runs that could be shown."""

    figure: Figure
    notes: list[str] = field(default_factory=list)
    table: pl.DataFrame = field(default_factory=pl.DataFrame)

    def csv(self) -> bytes:
        """Returns the table as CSV, without columns of lists, in full precision."""
        plain = [name for name, kind in self.table.schema.items() if not kind.is_nested()]
        return self.table.select(plain).write_csv().encode()


def draw(kind: str, wish: Wish) -> Drawn:
    """Draw a figure of `KINDS`. Raises a `PfgenError` for what cannot be read, scored or drawn."""
    if kind not in KINDS:
        raise PlotError(f"unknown figure {kind!r}: expected one of {', '.join(KINDS)}")
    if not available():  # before anything is scored
        raise OutputError(NEEDED)
    return KINDS[kind](wish)


def _drawing_of_points(
    drawing: Callable[..., Figure], columns: Sequence[str]
) -> Callable[[Wish], Drawn]:
    def drawn(wish: Wish) -> Drawn:
        inputs = read_inputs(wish.paths, wish.benchmark)
        table = _drawn_columns(inputs.runs, columns)
        cut = cuts.cut_note(cuts.NUMBERED, BEST, len(table)) if len(table) > NAMED else ""
        return _noted_figure(drawing(inputs.runs, **wish.look), inputs, table, cut)

    return drawn


def _drawn_columns(runs: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Returns runs by descending score, with these columns as far as they are there."""
    found = [name for name in (*_RUN, *columns) if name in runs.columns]
    return runs.select(found).sort("score", descending=True, maintain_order=True)


def _noted_figure(figure: Figure, inputs: Inputs, table: pl.DataFrame, cut: str = "") -> Drawn:
    notes = [f"left out: {problem}" for problem in inputs.problems]
    return Drawn(figure, [*notes, cut] if cut else notes, table)


def _draw_intervals(wish: Wish) -> Drawn:
    inputs = read_inputs(wish.paths, wish.benchmark)
    top = MOST_INTERVALS if wish.top is None else wish.top
    table = _drawn_columns(inputs.runs, (*_BOUNDS, *_RANKS))
    cut = cuts.cut_note(cuts.RUNS, top, len(table))
    return _noted_figure(intervals(inputs.runs, top=top, **wish.look), inputs, table, cut)


def _draw_sources(wish: Wish) -> Drawn:
    inputs = _with_results(wish)
    scores = source_scores(inputs.results)
    sources = None if wish.sources is None else tuple(wish.sources)
    figure = source_pairs(scores, inputs.runs, metric=wish.metric, sources=sources, **wish.look)
    means = source_means(scores, metric=wish.metric, sources=sources)
    table = _drawn_columns(inputs.runs, ()).join(means, on="name", maintain_order="left_right")
    runs = table["name"].n_unique()
    cut = cuts.cut_note(cuts.NUMBERED, BEST, runs) if runs > NAMED else ""
    return _noted_figure(figure, inputs, table, cut)


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
    top = MOST_MAPPED if wish.top is None else wish.top
    table = category_means(scores, categories, overall)
    cut = cuts.cut_note(cuts.RUNS, top, len(table))
    figure = category_map(scores, categories, overall, top=top, **wish.look)
    return _noted_figure(figure, inputs, table, cut)


def _with_results(wish: Wish) -> Inputs:
    inputs = read_inputs(wish.paths, wish.benchmark)
    if not inputs.results:
        raise PlotError("a leaderboard file has no questions: pass a checkout or runs")
    return inputs


def _draw_convergence(wish: Wish) -> Drawn:
    results = score_inputs(wish.paths, wish.benchmark)
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
    inputs = read_inputs(wish.paths, wish.benchmark)
    figure = score_steps(inputs.runs, pattern=wish.step_pattern, **wish.look)
    steps = series(inputs.runs, wish.step_pattern)
    shown = [name for name in ("series", "step", *_RUN, *_BOUNDS) if name in steps.columns]
    return _noted_figure(figure, inputs, steps.select(shown))


def _draw_distributions(wish: Wish) -> Drawn:
    results = score_inputs(wish.paths, wish.benchmark)
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
    "metrics": _drawing_of_points(metric_pairs, PARTS),
    "length": _drawing_of_points(score_length, ("length",)),
    "intervals": _draw_intervals,
    "sources": _draw_sources,
    "categories": _draw_categories,
    "convergence": _draw_convergence,
    "steps": _draw_steps,
    "spread": _draw_distributions,
    "learning": _draw_learning,
}
