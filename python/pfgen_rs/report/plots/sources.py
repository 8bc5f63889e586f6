"""Scatter plots of one source of reference answers against another."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import polars as pl

from pfgen_rs.drawing.saving import finish
from pfgen_rs.drawing.style import drawing
from pfgen_rs.drawing.words import Language
from pfgen_rs.errors import PlotError
from pfgen_rs.metrics.names import BY_SOURCE, check_metric
from pfgen_rs.questions.sources import known, order
from pfgen_rs.report.plots.frames import drawable
from pfgen_rs.report.plots.metrics import (
    counted,
    diagonal,
    metric_correlation,
    over_list,
    panels_over_list,
)
from pfgen_rs.report.plots.points import number_points, numbered_points

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["source_means", "source_pairs"]

_METRICS = ("average", *BY_SOURCE)
_SCORES = {"average": "Score", "fluency": "Fluency", "truthfulness": "Truthfulness"}
_MOST = 4  # panels side by side


def source_pairs(
    scores: pl.DataFrame,
    runs: pl.DataFrame,
    *,
    metric: str = "average",
    sources: tuple[str, ...] | None = None,
    title: str | None = None,
    language: Language = "en",
    font: str | None = None,
) -> Figure:
    """Draw scores with the reference answers of one source alone against another (figures 4 to 6).

    `scores`: columns `name`, `question_id`, `source` and `metric`, as returned by `source_scores`. `runs`:
    columns `name`, `model`, `mode`, `score`. Pairs of sources are compared by the mean over the questions
    that have both. `sources`: names in order (default: the three with most questions). Raises `PlotError` if
    there is no pair to compare.
    """
    usable = drawable(scores, ["name", "question_id", "source"], _checked_source_metric(metric))
    means = source_means(usable, metric=metric, sources=sources)
    pairs = means.partition_by(["x_source", "y_source"], as_dict=True, maintain_order=True)
    if len(pairs) > _MOST:
        raise PlotError(f"too many pairs of sources: {len(pairs)}, at most {_MOST} fit")
    found = numbered_points(
        drawable(runs, ["name", "model", "mode"], ["score"]).join(means, on="name", how="semi")
    )
    with drawing(language, font) as look:
        figure = look.figure(title, "Scores by source of reference answers", *over_list(found))
        panels = panels_over_list(figure, len(pairs), found, look)
        drawn, told = [], []
        for axes, ((one, other), table) in zip(panels, pairs.items(), strict=True):
            both = found.join(table, on="name", how="inner", maintain_order="left")
            diagonal(axes, both, "x", "y")
            said = f"{look.say(_SCORES[metric])}\n{look.say('source')}"
            x, y = (look.name(_explained_source(source, usable), 30) for source in (one, other))
            axes.set(xlabel=f"{said} {x}", ylabel=f"{said} {y}")
            drawn.append((axes, "x", "y", both))
            told.append(f"{one}–{other} {metric_correlation(both, 'x', 'y')}")
        number_points(figure, drawn)
        description = "; ".join([counted(look, found), *told])
        return finish(figure, description)


def source_means(
    scores: pl.DataFrame, *, metric: str = "average", sources: tuple[str, ...] | None = None
) -> pl.DataFrame:
    """Returns what `source_pairs` draws; arguments and errors as there.

    A row for each pair of sources and run: `name`, `x_source`, `y_source`, and the means `x` and `y` over the
    questions that have both.
    """
    usable = drawable(scores, ["name", "question_id", "source"], _checked_source_metric(metric))
    chosen = _usual_sources(usable) if sources is None else sources
    found = [_means_of_source_pair(usable, metric, *pair) for pair in combinations(chosen, 2)]
    if not any(map(len, found)):
        raise PlotError("no question has reference answers from two of these sources")
    return pl.concat(found)


def _checked_source_metric(metric: str) -> list[str]:
    check_metric(metric)
    if metric not in _METRICS:
        raise PlotError(
            f"metric {metric!r} is not computed by source: expected one of {', '.join(_METRICS)}"
        )
    return [metric]


def _explained_source(source: str, scores: pl.DataFrame) -> str:
    """Returns a source with its meaning, if the names are those of the published set."""
    name = known(scores["source"].unique()).get(source)
    return source if name is None else f"{source} ({name})"


def _usual_sources(scores: pl.DataFrame) -> tuple[str, ...]:
    counts = scores.group_by("source").agg(pl.col("question_id").n_unique().alias("questions"))
    ordered = counts.sort(["questions", "source"], descending=[True, False])
    names = sorted(ordered["source"].head(3))
    return tuple(names[i] for i in order(names))


def _means_of_source_pair(scores: pl.DataFrame, metric: str, one: str, other: str) -> pl.DataFrame:
    """Returns the mean of each run over questions with both sources, as `source_means`."""
    keys = ["name", "question_id"]
    sides = [
        scores.filter(pl.col("source") == source).select(*keys, pl.col(metric).alias(side))
        for source, side in ((one, "x"), (other, "y"))
    ]
    joined = sides[0].join(sides[1], on=keys, how="inner", maintain_order="left")
    means = joined.group_by("name", maintain_order=True).agg(pl.col("x", "y").mean())
    return means.select(
        "name", pl.lit(one).alias("x_source"), pl.lit(other).alias("y_source"), "x", "y"
    )
