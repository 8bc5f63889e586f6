"""Metrics against each other, and scores with one source of reference answers against another."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import combinations
from typing import Unpack

from pfgen_rs.drawing.style import GREY, LookOptions, drawing
from pfgen_rs.errors import PlotError
from pfgen_rs.lazy import Axes, Figure, np, pl
from pfgen_rs.metrics.settings import BY_SOURCE, PARTS, check_metric
from pfgen_rs.questions.unknown import known, order
from pfgen_rs.report.plot_kinds import Plot, plot_kind
from pfgen_rs.report.plots import points
from pfgen_rs.report.plots.inputs import PlotRequest, drawable, run_columns, source_scores
from pfgen_rs.report.plots.scatter import Panel, correlation_text, draw_panels


@plot_kind("metrics", "each pair of metrics, one point per run", of_sites=True)
def _metrics(request: PlotRequest) -> Plot:
    """Returns the plot of the kind `metrics`."""
    runs = request.inputs.runs
    notes = [*request.inputs.notes, *points.numbered_note(len(runs))]
    return Plot(run_columns(runs, PARTS), partial(metric_pairs, runs), notes)


@plot_kind(
    "sources", "scores with one source of reference answers against another", options=["metric"]
)
def _sources(request: PlotRequest) -> Plot:
    """Returns the plot of the kind `sources`."""
    inputs = request.by_question
    scores = source_scores(inputs.results)
    means = source_means(scores, metric=request.metric)
    table = run_columns(inputs.runs, ()).join(means, on="name", maintain_order="left_right")
    notes = [*inputs.notes, *points.numbered_note(table["name"].n_unique())]
    draw = partial(source_pairs, scores, inputs.runs, metric=request.metric)
    return Plot(table, draw, notes)


def metric_pairs(runs: pl.DataFrame, **options: Unpack[LookOptions]) -> Figure:
    """Draw each metric against each other, one point per run (figures 1 to 3 of the Japanese paper).

    `runs`: columns `model`, `mode`, `score`, `fluency`, `truthfulness`, `helpfulness`, for example from
    `pfgen_rs.checkout.entries.entries_frame`; runs with missing values are left out. Correlations do not
    include system runs. Raises `PlotError` if there is nothing to draw.
    """
    found = points.numbered_points(drawable(runs, ["model", "mode"], ["score", *PARTS]))
    with drawing(**options) as look:
        shown = [
            Panel(found, x, y, (look.say(x.title()), look.say(y.title())), _diagonal(found, x, y))
            for x, y in combinations(PARTS, 2)
        ]
        return draw_panels(look, "Relationships between metrics", found, shown)


def _diagonal(
    runs: pl.DataFrame, x: str, y: str, named: str | None = None
) -> Callable[[Axes], str]:
    """Returns what makes a panel square, with the line of equal values and the correlation of models."""

    def draw(axes: Axes) -> str:
        top = 1.06 * max(1.0, float(np.max(runs.select(x, y).to_numpy())))
        axes.plot([0, top], [0, top], ":", color=GREY, linewidth=1, zorder=1)
        axes.set(xlim=(0, top), ylim=(0, top), aspect="equal")
        said = correlation_text(runs, runs[x].to_numpy(), runs[y].to_numpy())
        axes.set_title(said, loc="right", fontsize=9)
        return f"{named or f'{x}–{y}'} {said}"

    return draw


_SCORES = {"average": "Score", **{metric: metric.title() for metric in BY_SOURCE}}


def source_pairs(
    scores: pl.DataFrame,
    runs: pl.DataFrame,
    *,
    metric: str = "average",
    **options: Unpack[LookOptions],
) -> Figure:
    """Draw scores with the reference answers of one source alone against another (figures 4 to 6).

    `scores`: columns `name`, `question_id`, `source` and `metric`, as returned by `source_scores`. `runs`:
    columns `name`, `model`, `mode`, `score`. The three sources with most questions are compared in pairs, by
    the mean over the questions that have both. Raises `PlotError` if there is no pair to compare.
    """
    means = source_means(scores, metric=metric)
    pairs = means.partition_by(["x_source", "y_source"], as_dict=True, maintain_order=True)
    meanings = known(scores["source"].cast(pl.String).unique())
    found = points.numbered_points(
        drawable(runs, ["name", "model", "mode"], ["score"]).join(means, on="name", how="semi")
    )
    with drawing(**options) as look:
        said = f"{look.say(_SCORES[metric])}\n{look.say('source')}"
        shown = []
        for pair, table in pairs.items():
            both = found.join(table, on="name", how="inner", maintain_order="left")
            named = (f"{key} ({meanings[key]})" if key in meanings else key for key in pair)
            x, y = (f"{said} {look.name(name, 30)}" for name in named)
            draw = _diagonal(both, "x", "y", "–".join(pair))
            shown.append(Panel(both, "x", "y", (x, y), draw))
        return draw_panels(look, "Scores by source of reference answers", found, shown)


def source_means(scores: pl.DataFrame, *, metric: str = "average") -> pl.DataFrame:
    """Returns what `source_pairs` draws; arguments and errors as there.

    A row for each pair of sources and run: `name`, `x_source`, `y_source`, and the means `x` and `y` over the
    questions that have both.
    """
    check_metric(metric)
    if metric not in _SCORES:
        raise PlotError(
            f"metric {metric!r} is not computed by source: expected one of {', '.join(_SCORES)}"
        )
    keys = ["name", "question_id"]
    usable = drawable(scores, [*keys, "source"], [metric])
    found = pl.DataFrame(
        list(combinations(_usual_sources(usable), 2)),
        schema={"x_source": pl.String, "y_source": pl.String},
        orient="row",
    )
    for side, on in (("x", ["x_source"]), ("y", ["y_source", *keys])):
        own = usable.select(
            *keys, pl.col("source").alias(f"{side}_source"), pl.col(metric).alias(side)
        )
        found = found.join(own, on=on, maintain_order="left_right")
    if found.is_empty():
        raise PlotError("no question has reference answers from two of these sources")
    means = found.group_by("x_source", "y_source", "name", maintain_order=True)
    return means.agg(pl.col("x", "y").mean()).select("name", "x_source", "y_source", "x", "y")


def _usual_sources(scores: pl.DataFrame) -> tuple[str, ...]:
    counts = scores.group_by("source").agg(pl.col("question_id").n_unique().alias("questions"))
    ordered = counts.sort(["questions", "source"], descending=[True, False])
    names = sorted(ordered["source"].head(3))
    return tuple(names[i] for i in order(names))
