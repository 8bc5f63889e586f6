"""Draws figures by name, from files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pfgen_rs.comparisons import comparison_samples
from pfgen_rs.drawing.style import NEEDED, available
from pfgen_rs.drawing.words import Language
from pfgen_rs.errors import OutputError, PlotError
from pfgen_rs.questions.locate import benchmark_path
from pfgen_rs.questions.question import read_folder
from pfgen_rs.report.plots.categories import category_map
from pfgen_rs.report.plots.convergence import convergence
from pfgen_rs.report.plots.distributions import distributions
from pfgen_rs.report.plots.frames import question_scores, responses, source_scores
from pfgen_rs.report.plots.inputs import Inputs, question_folder, read_inputs, score_inputs
from pfgen_rs.report.plots.intervals import intervals
from pfgen_rs.report.plots.metrics import metric_pairs, score_length
from pfgen_rs.report.plots.sources import source_pairs
from pfgen_rs.report.plots.steps import STEP, score_steps

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["KINDS", "Drawn", "Wish", "draw"]


@dataclass(frozen=True)
class Wish:
    """What to draw: runs as for `read_inputs`, and options; a figure ignores options it does not need."""

    paths: Sequence[str]
    benchmark: str | None = None
    metric: str = "average"
    sources: Sequence[str] | None = None
    step_pattern: str = STEP
    title: str | None = None
    language: Language = "en"
    font: str | None = None

    @property
    def look(self) -> dict[str, Any]:
        """The arguments of every figure."""
        return {"title": self.title, "language": self.language, "font": self.font}


@dataclass
class Drawn:
    """A figure, and notes about its runs."""

    figure: Figure
    notes: list[str] = field(default_factory=list)


def draw(kind: str, wish: Wish) -> Drawn:
    """Draw a figure of `KINDS`. Raises a `PfgenError` for what cannot be read, scored or drawn."""
    if kind not in KINDS:
        raise PlotError(f"unknown figure {kind!r}: expected one of {', '.join(KINDS)}")
    if not available():  # before anything is scored
        raise OutputError(NEEDED)
    return KINDS[kind](wish)


def _drawing_of_runs(drawing: Callable[..., Figure]) -> Callable[[Wish], Drawn]:
    def drawn(wish: Wish) -> Drawn:
        inputs = read_inputs(wish.paths, wish.benchmark)
        return _noted_figure(drawing(inputs.runs, **wish.look), inputs)

    return drawn


def _noted_figure(figure: Figure, inputs: Inputs) -> Drawn:
    return Drawn(figure, [f"left out: {problem}" for problem in inputs.problems])


def _draw_sources(wish: Wish) -> Drawn:
    inputs = _with_results(wish)
    scores = source_scores(inputs.results)
    sources = None if wish.sources is None else tuple(wish.sources)
    figure = source_pairs(scores, inputs.runs, metric=wish.metric, sources=sources, **wish.look)
    return _noted_figure(figure, inputs)


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
    return _noted_figure(category_map(scores, categories, overall, **wish.look), inputs)


def _with_results(wish: Wish) -> Inputs:
    inputs = read_inputs(wish.paths, wish.benchmark)
    if not inputs.results:
        raise PlotError("a leaderboard file has no questions: pass a checkout or runs")
    return inputs


def _draw_convergence(wish: Wish) -> Drawn:
    found, notes = comparison_samples(score_inputs(wish.paths, wish.benchmark))
    return Drawn(convergence(found, metric=wish.metric, **wish.look), notes)


def _draw_steps(wish: Wish) -> Drawn:
    inputs = read_inputs(wish.paths, wish.benchmark)
    return _noted_figure(score_steps(inputs.runs, pattern=wish.step_pattern, **wish.look), inputs)


def _draw_distributions(wish: Wish) -> Drawn:
    results = score_inputs(wish.paths, wish.benchmark)
    if len(results) != 1:
        raise PlotError(f"the spread figure takes one run, got {len(results)}")
    return Drawn(distributions(responses(results[0]), **wish.look))


KINDS: dict[str, Callable[[Wish], Drawn]] = {
    "metrics": _drawing_of_runs(metric_pairs),
    "length": _drawing_of_runs(score_length),
    "intervals": _drawing_of_runs(intervals),
    "sources": _draw_sources,
    "categories": _draw_categories,
    "convergence": _draw_convergence,
    "steps": _draw_steps,
    "spread": _draw_distributions,
}
