"""Scatter plots with a point per run: metrics, score and length, and sources of reference answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from typing import Any, Unpack

from pfgen_rs.drawing.figures import finish, fixed
from pfgen_rs.drawing.style import GREY, GROUNDS, Look, LookOptions, drawing
from pfgen_rs.errors import PlotError
from pfgen_rs.lazy import Axes, Figure, NDArray, np, pl
from pfgen_rs.metrics.settings import BY_SOURCE, PARTS, Settings, check_metric
from pfgen_rs.metrics.signature import lengths_in
from pfgen_rs.questions.unknown import known, order
from pfgen_rs.report.plot_kinds import Plot, plot_kind
from pfgen_rs.report.plots import points
from pfgen_rs.report.plots.inputs import PlotRequest, drawable, run_columns, source_scores

_COLUMNS = 3
_PANELS, _LINE = 3.9, 0.165  # inches
_BEYOND = 0.03  # share of the runs that may be beyond the axis,
_FAR = 2.0  # if it would be more than so many times as long with them
_EDGE: dict[str, Any] = {  # a triangle that points outwards
    "color": GREY,
    "linestyle": "none",
    "marker": 9,
    "markersize": 9,
    "clip_on": False,
    "zorder": 2,
}


@plot_kind("metrics", "each pair of metrics, one point per run", of_sites=True)
def _metrics(request: PlotRequest) -> Plot:
    """Returns the plot of the kind `metrics`."""
    return _runs_as_points(request, PARTS, metric_pairs)


@plot_kind("length", "score against mean length", of_sites=True)
def _length(request: PlotRequest) -> Plot:
    """Returns the plot of the kind `length`."""
    return _runs_as_points(request, ("length",), score_length)


def _runs_as_points(
    request: PlotRequest, columns: Sequence[str], draw: Callable[..., Figure]
) -> Plot:
    inputs = request.inputs
    table = run_columns(inputs.runs, columns)
    return Plot(
        table, partial(draw, inputs.runs), [*inputs.notes, *points.numbered_note(len(table))]
    )


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
        pairs = list(combinations(PARTS, 2))
        figure = look.figure(look.title, "Relationships between metrics", *over_list(found))
        panels = panels_over_list(figure, len(pairs), found, look)
        for axes, (x, y) in zip(panels, pairs, strict=True):
            diagonal(axes, found, x, y)
            axes.set(xlabel=look.say(x.title()), ylabel=look.say(y.title()))
        points.number_points(
            figure, [(axes, x, y, found) for axes, (x, y) in zip(panels, pairs, strict=True)]
        )
        told = ", ".join(f"{x}–{y} {metric_correlation(found, x, y)}" for x, y in pairs)
        return finish(figure, f"{counted(look, found)}; {told}")


def score_length(runs: pl.DataFrame, **options: Unpack[LookOptions]) -> Figure:
    """Draw score against mean length in characters, with the lengths at which the discount applies.

    `runs`: columns `model`, `mode`, `score`, `length`. Few runs (3 %, or one) that are much longer than all
    others stand at the edge. Raises `PlotError` if there is nothing to draw.
    """
    found = points.numbered_points(drawable(runs, ["model", "mode"], ["score", "length"]))
    with drawing(**options) as look:
        figure = look.figure(look.title, "Score and length", *over_list(found))
        [axes] = panels_over_list(figure, 1, found, look)
        signature = next(iter(found["signature"]), "") if "signature" in found.columns else ""
        settings = lengths_in(signature)
        unit = look.say(f"{settings.unit}s")
        right = _right_end(found["length"].to_numpy(), settings.zero_length)
        placed = found.with_columns(pl.col("length").clip(upper_bound=right))
        points.scatter(axes, placed, "length", "score")
        _discount(axes, look, right, settings, unit)
        beyond = found.filter(pl.col("length") > right)
        axes.set(
            xlabel=_length_label(look, beyond["length"].to_list(), unit),
            ylabel=look.say("Score"),
        )
        if len(beyond):
            axes.plot([right] * len(beyond), beyond["score"].to_numpy(), **_EDGE)
        axes.set_xlim(left=0, right=right)
        axes.set_ylim(bottom=0)
        points.number_points(figure, [(axes, "length", "score", placed)])
        return finish(figure, counted(look, found))


def _right_end(lengths: NDArray[np.float64], nothing: int) -> float:
    """Returns where the axis of lengths ends; a few much longer runs do not stretch it."""
    ordered = np.sort(lengths)
    most = max(1, int(_BEYOND * len(ordered)))
    usual = float(ordered[-1 - most]) if len(ordered) > most else float(ordered[-1])
    right = max(1.05 * usual, nothing + 90)
    longest = 1.05 * float(ordered[-1])
    return right if longest > _FAR * right else max(longest, right)


def _length_label(look: Look, beyond: Sequence[float], unit: str) -> str:
    said = look.say("Mean length ({unit})").format(unit=unit)
    if not beyond:
        return said
    more = look.say("at the right edge: {count} longer, up to {most}")
    return f"{said} – {more.format(count=len(beyond), most=f'{max(beyond):,.0f}', unit=unit)}"


def _discount(axes: Axes, look: Look, right: float, settings: Settings, unit: str) -> None:
    """Mark where the length discount begins, and from where on nothing counts; above the panel, what that is.

    Answers are scored at their best cut, so that those which go on have a score, too.

    Within the panel, the words would lie on points, and on each other where some answers are very long.
    """
    full, nothing = settings.target_length, settings.zero_length
    grounds = []
    for start, stop, ground, said in (
        (full, nothing, GROUNDS[0], "length discount ({start}–{stop} {unit})"),
        (nothing, right, GROUNDS[1], "longer: the best cut before {start} {unit} is scored"),
    ):
        label = look.say(said).format(start=start, stop=nothing, unit=unit)
        grounds.append(axes.axvspan(start, stop, color=ground, zorder=0, linewidth=0, label=label))
    axes.legend(
        handles=grounds,
        loc="lower right",
        bbox_to_anchor=(1, 1),
        ncols=2,
        borderaxespad=0.2,
        handlelength=1.2,
    )


def over_list(runs: pl.DataFrame) -> tuple[float, float]:
    """Returns width and height of a figure with panels above the list of runs."""
    return 12.2, _PANELS + 0.4 + _LINE * points.list_height(len(runs), _COLUMNS)


def panels_over_list(figure: Figure, panels: int, runs: pl.DataFrame, look: Look) -> list[Axes]:
    """Returns empty panels side by side, above the list of runs."""
    listed = _LINE * points.list_height(len(runs), _COLUMNS)
    grid = figure.add_gridspec(2, panels, height_ratios=(_PANELS, listed))
    points.list_runs(figure.add_subplot(grid[1, :]), runs, look, _COLUMNS)
    return [figure.add_subplot(grid[0, i]) for i in range(panels)]


def diagonal(axes: Axes, runs: pl.DataFrame, x: str, y: str) -> None:
    """Draw points in a square panel with the line of equal values, and the correlation of models."""
    points.scatter(axes, runs, x, y)
    top = 1.06 * max(1.0, float(np.max(runs.select(x, y).to_numpy())))
    axes.plot([0, top], [0, top], ":", color=GREY, linewidth=1, zorder=1)
    axes.set(xlim=(0, top), ylim=(0, top), aspect="equal")
    axes.set_title(metric_correlation(runs, x, y), loc="right", fontsize=9)


def metric_correlation(runs: pl.DataFrame, x: str, y: str) -> str:
    """Returns Pearson's correlation over the `numbered` runs other than system runs, and their number.

    With four decimals, or a dash if it is undefined. Reference answers scored against themselves are far from
    all models, which would look like agreement.
    """
    models = runs.filter(pl.col("kind") != "system")
    constant = models[x].n_unique() < 2 or models[y].n_unique() < 2
    r = "–" if constant else fixed(np.corrcoef(models[x], models[y])[0, 1], 4)
    return f"r = {r} (n = {len(models)})"


def counted(look: Look, runs: pl.DataFrame) -> str:
    """Returns the number of runs for a description."""
    return f"{look.say('Runs')}: {len(runs)}"


_METRICS = ("average", *BY_SOURCE)
_SCORES = {"average": "Score", "fluency": "Fluency", "truthfulness": "Truthfulness"}


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
    usable = drawable(scores, ["name", "question_id", "source"], _checked_metric(metric))
    means = source_means(usable, metric=metric)
    pairs = means.partition_by(["x_source", "y_source"], as_dict=True, maintain_order=True)
    found = points.numbered_points(
        drawable(runs, ["name", "model", "mode"], ["score"]).join(means, on="name", how="semi")
    )
    with drawing(**options) as look:
        figure = look.figure(look.title, "Scores by source of reference answers", *over_list(found))
        panels = panels_over_list(figure, len(pairs), found, look)
        drawn, told = [], []
        for axes, ((one, other), table) in zip(panels, pairs.items(), strict=True):
            both = found.join(table, on="name", how="inner", maintain_order="left")
            diagonal(axes, both, "x", "y")
            said = f"{look.say(_SCORES[metric])}\n{look.say('source')}"
            x, y = (look.name(_explained(source, usable), 30) for source in (one, other))
            axes.set(xlabel=f"{said} {x}", ylabel=f"{said} {y}")
            drawn.append((axes, "x", "y", both))
            told.append(f"{one}–{other} {metric_correlation(both, 'x', 'y')}")
        points.number_points(figure, drawn)
        description = "; ".join([counted(look, found), *told])
        return finish(figure, description)


def source_means(scores: pl.DataFrame, *, metric: str = "average") -> pl.DataFrame:
    """Returns what `source_pairs` draws; arguments and errors as there.

    A row for each pair of sources and run: `name`, `x_source`, `y_source`, and the means `x` and `y` over the
    questions that have both.
    """
    usable = drawable(scores, ["name", "question_id", "source"], _checked_metric(metric))
    found = [_pair_means(usable, metric, *pair) for pair in combinations(_usual_sources(usable), 2)]
    if not any(map(len, found)):
        raise PlotError("no question has reference answers from two of these sources")
    return pl.concat(found)


def _checked_metric(metric: str) -> list[str]:
    check_metric(metric)
    if metric not in _METRICS:
        raise PlotError(
            f"metric {metric!r} is not computed by source: expected one of {', '.join(_METRICS)}"
        )
    return [metric]


def _explained(source: str, scores: pl.DataFrame) -> str:
    """Returns a source with its meaning, if the names are those of the published set."""
    name = known(scores["source"].unique()).get(source)
    return source if name is None else f"{source} ({name})"


def _usual_sources(scores: pl.DataFrame) -> tuple[str, ...]:
    counts = scores.group_by("source").agg(pl.col("question_id").n_unique().alias("questions"))
    ordered = counts.sort(["questions", "source"], descending=[True, False])
    names = sorted(ordered["source"].head(3))
    return tuple(names[i] for i in order(names))


def _pair_means(scores: pl.DataFrame, metric: str, one: str, other: str) -> pl.DataFrame:
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
