"""Presets of scatter plots: pairs of metrics, score and length, and sources of reference answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from typing import Any, Unpack

from pfgen_rs.drawing.style import GREY, GROUNDS, Look, LookOptions, drawing
from pfgen_rs.errors import PlotError
from pfgen_rs.lazy import Axes, Figure, NDArray, np, pl
from pfgen_rs.metrics.settings import BY_SOURCE, PARTS, Settings, check_metric
from pfgen_rs.metrics.signature import lengths_in
from pfgen_rs.questions.unknown import known, order
from pfgen_rs.report.plot_kinds import Plot, plot_kind
from pfgen_rs.report.plots import points
from pfgen_rs.report.plots.inputs import PlotRequest, drawable, run_columns, source_scores
from pfgen_rs.report.plots.scatter import Panel, correlation_text, draw_panels

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
        shown = [
            Panel(found, x, y, (look.say(x.title()), look.say(y.title())), _diagonal(found, x, y))
            for x, y in combinations(PARTS, 2)
        ]
        return draw_panels(look, "Relationships between metrics", found, shown)


def score_length(runs: pl.DataFrame, **options: Unpack[LookOptions]) -> Figure:
    """Draw score against mean length in characters, with the lengths at which the discount applies.

    `runs`: columns `model`, `mode`, `score`, `length`. Few runs (3 %, or one) that are much longer than all
    others stand at the edge. Raises `PlotError` if there is nothing to draw.
    """
    found = points.numbered_points(drawable(runs, ["model", "mode"], ["score", "length"]))
    with drawing(**options) as look:
        signature = next(iter(found["signature"]), "") if "signature" in found.columns else ""
        settings = lengths_in(signature)
        unit = look.say(f"{settings.unit}s")
        right = _right_end(found["length"].to_numpy(), settings.zero_length)
        placed = found.with_columns(pl.col("length").clip(upper_bound=right))
        beyond = found.filter(pl.col("length") > right)

        def draw(axes: Axes) -> str:
            _discount(axes, look, right, settings, unit)
            if len(beyond):
                axes.plot([right] * len(beyond), beyond["score"].to_numpy(), **_EDGE)
            axes.set_xlim(left=0, right=right)
            axes.set_ylim(bottom=0)
            return ""

        labels = (_length_label(look, beyond["length"].to_list(), unit), look.say("Score"))
        panel = Panel(placed, "length", "score", labels, draw)
        return draw_panels(look, "Score and length", found, [panel])


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
    usable = drawable(scores, ["name", "question_id", "source"], _checked_metric(metric))
    means = source_means(usable, metric=metric)
    pairs = means.partition_by(["x_source", "y_source"], as_dict=True, maintain_order=True)
    found = points.numbered_points(
        drawable(runs, ["name", "model", "mode"], ["score"]).join(means, on="name", how="semi")
    )
    with drawing(**options) as look:
        said = f"{look.say(_SCORES[metric])}\n{look.say('source')}"
        shown = []
        for pair, table in pairs.items():
            both = found.join(table, on="name", how="inner", maintain_order="left")
            x, y = (f"{said} {look.name(_explained(source, usable), 30)}" for source in pair)
            draw = _diagonal(both, "x", "y", "–".join(pair))
            shown.append(Panel(both, "x", "y", (x, y), draw))
        return draw_panels(look, "Scores by source of reference answers", found, shown)


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
    if metric not in _SCORES:
        raise PlotError(
            f"metric {metric!r} is not computed by source: expected one of {', '.join(_SCORES)}"
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
