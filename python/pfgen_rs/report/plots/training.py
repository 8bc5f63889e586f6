"""Figures of training: learning curves, and scores of checkpoints by step."""

import re
from functools import partial
from itertools import cycle
from typing import Any, Unpack

from pfgen_rs.drawing.figures import finish
from pfgen_rs.drawing.style import COLOURS, DASHES, GREY, MARKERS, Look, LookOptions, drawing
from pfgen_rs.errors import PlotError
from pfgen_rs.lazy import Axes, Figure, pl
from pfgen_rs.metrics.settings import PARTS
from pfgen_rs.report.plot_kinds import Plot, plot_kind
from pfgen_rs.report.plots.inputs import BOUNDS, RUN, PlotRequest, drawable, read_curves
from pfgen_rs.report.plots.points import bounds_of

_AXES = {"step": "Step", "tokens": "Tokens"}
_MARKED = 60  # points; more of them hide the line


@plot_kind(
    "learning",
    "score and metrics during training, from a curve.parquet, or one column of several",
    options=["x", "y"],
)
def _learning(request: PlotRequest) -> Plot:
    """Returns the plot of the kind `learning`."""
    curves = read_curves(request.paths)
    x, y = request.x or "step", request.y or "score"
    if len(curves) == 1 and request.y is None:
        [curve] = curves.values()
        return Plot(curve, partial(learning_curve, curve, x=x))
    table = pl.concat(
        [curve.select(pl.lit(name).alias("series"), pl.all()) for name, curve in curves.items()],
        how="diagonal_relaxed",
    )
    return Plot(table, partial(learning_curves, table, x=x, y=y))


@plot_kind("steps", "score against training step", of_sites=True)
def _steps(request: PlotRequest) -> Plot:
    """Returns the plot of the kind `steps`."""
    inputs = request.inputs
    steps = series(inputs.runs)
    shown = [name for name in ("series", "step", *RUN, *BOUNDS) if name in steps.columns]
    are_lines = steps["series"].n_unique() < min(len(steps), MOST + 1)
    draw = partial(score_steps, inputs.runs)
    return Plot(steps.select(shown), draw, inputs.notes, suits_site=are_lines)


def learning_curve(
    curve: "pl.DataFrame",
    *,
    x: str = "step",
    **options: Unpack[LookOptions],
) -> Figure:
    """Draw the score with its interval as a band, and its three parts, against steps or tokens.

    `curve`: columns `step` or `tokens`, `score`, `fluency`, `truthfulness`, `helpfulness` and optionally
    `score_low`, `score_high`, as in `StepEvaluator.curve`. Rows with missing values are left out. The
    baseline, the score at step 0, is a horizontal line. Raises `PlotError` if there is nothing to draw.
    """
    _check_axis(x)
    rows = drawable(curve, [], [x, "score", *PARTS]).sort(x)
    with drawing(**options) as look:
        figure = look.figure(look.title, "Score during training", 8, 4.8)
        axes = figure.subplots()
        _score_line(axes, rows, x, look)
        for name, colour, dash in zip(PARTS, COLOURS[1:], DASHES[1:], strict=False):
            label = look.say(name.capitalize())
            axes.plot(rows[x].to_numpy(), rows[name].to_numpy(), dash, color=colour, label=label)
        axes.set(xlabel=look.say(_AXES[x]), ylabel=look.say("Score (95 % interval)"))
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        figure.legend(loc="outside lower center", ncols=4)
        first, last = rows["score"][0], rows["score"][-1]
        return finish(figure, f"{look.say('Score')}: {first:.4f} → {last:.4f}; n = {len(rows)}")


def _check_axis(x: str) -> None:
    if x not in _AXES:
        raise PlotError(f"unknown x axis {x!r}: expected one of {', '.join(_AXES)}")


def learning_curves(
    curves: "pl.DataFrame", *, x: str = "step", y: str = "score", **options: Unpack[LookOptions]
) -> Figure:
    """Draw a column of several learning curves against steps or tokens, with its interval where it has one.

    `curves`: a column `series`, and others as for `learning_curve`. Raises `PlotError` if there is nothing to
    draw, and for more than 12 curves.
    """
    _check_axis(x)
    rows = drawable(curves, ["series"], [x, y]).sort("series", x, maintain_order=True)
    with drawing(**options) as look:
        return _draw_lines(look, "Score during training", rows, x, y)


def _score_line(axes: Axes, rows: "pl.DataFrame", x: str, look: Look) -> None:
    places = rows[x].to_numpy()
    marker = "o" if len(rows) <= _MARKED else None
    axes.plot(
        places,
        rows["score"].to_numpy(),
        color=COLOURS[0],
        marker=marker,
        markersize=4,
        linewidth=2.2,
        label=look.say("Score"),
        zorder=3,
    )
    if {"score_low", "score_high"} <= set(rows.columns):
        low, high = bounds_of(rows)
        axes.fill_between(places, low, high, color=COLOURS[0], alpha=0.15, linewidth=0)
    if rows[x][0] == 0:
        axes.axhline(rows["score"][0], color=GREY, linewidth=1, linestyle=":", zorder=1)


_STEP = re.compile(
    r"(?i)(?<![a-z])(?:global[_-]?step|steps?|iter|iteration|checkpoint|ckpt)[-_=]?([0-9]{1,15})(?![0-9])"
)
MOST = 12  # series
_HASH = re.compile(r"/[0-9a-f]{7}$")


def series(runs: "pl.DataFrame") -> "pl.DataFrame":
    """Add the columns `series` and `step`, and drop runs without a step.

    `runs`: columns `model` and `run`. The step is the last number after a word such as "step" in `model` or,
    if there is none, in `run`, the folder. The rest of that name is the series, without the pfgen-bench hash
    at the end of a folder. For example, `m/step_1000`, `m/step-2000`, `m-iter_0002000` and `m/checkpoint-500`
    have steps. Raises `PlotError` if no run has a step.
    """
    names = drawable(runs, ["model", "run"], []).select("model", "run").rows()
    found = [_training_step(*row) for row in names]
    schema = {"series": pl.String, "step": pl.Int64}
    table = runs.hstack(pl.DataFrame(found, schema=schema, orient="row"))
    kept = table.filter(pl.col("step").is_not_null())
    if kept.is_empty():
        raise PlotError(
            "no run has a step, such as step_1000 or checkpoint-500, in its model or folder name"
        )
    return kept.sort(["series", "step"], maintain_order=True)


def _training_step(model: str, run: str) -> tuple[str | None, int | None]:
    for name in (model, _HASH.sub("", run)):
        if places := list(_STEP.finditer(name)):
            last = places[-1]
            left = name[: last.start()] + name[last.end() :]
            return re.sub(r"[/_.=-]+$", "", left.replace("//", "/")), int(last[1])
    return None, None


def score_steps(runs: "pl.DataFrame", **options: Unpack[LookOptions]) -> Figure:
    """Draw score by training step, one line per series with its interval as a band (or, for one step, a bar).

    `runs`: columns `model`, `run`, `score` and optionally `score_low`, `score_high`; steps and series are
    found by `series`. Raises `PlotError` if there are none, and for more than 12 series.
    """
    found = series(drawable(runs, ["model", "run"], ["score"]))
    with drawing(**options) as look:
        return _draw_lines(look, "Score by training step", found, "step", "score")


def _draw_lines(look: Look, usual: str, rows: "pl.DataFrame", x: str, y: str) -> Figure:
    """Draw a line for each `series`, in the order of the rows."""
    lines = rows.partition_by("series", maintain_order=True)
    if len(lines) > MOST:
        raise PlotError(f"too many series for one figure: {len(lines)}, at most {MOST}")
    figure = look.figure(look.title, usual, 8, 4.6)
    axes = figure.subplots()
    looks = zip(cycle(COLOURS), cycle(DASHES), cycle(MARKERS), strict=False)
    for part, (colour, dash, marker) in zip(lines, looks, strict=False):
        _series_line(axes, part, look, (x, y), colour=colour, dash=dash, marker=marker)
    said = "Score (95 % interval)" if y == "score" else y.capitalize()
    axes.set(xlabel=look.say(_AXES[x]), ylabel=look.name(look.say(said)))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    figure.legend(loc="outside lower center", ncols=1 if len(lines) < 3 else 2)
    description = f"{look.say('Runs')}: {len(rows)}; {look.say('Series')}: {len(lines)}"
    return finish(figure, description)


def _series_line(
    axes: Axes,
    part: "pl.DataFrame",
    look: Look,
    columns: tuple[str, str],
    *,
    colour: str,
    dash: str,
    marker: str,
) -> None:
    x, y = columns
    name = look.name(part["series"][0] or look.say("Score"))
    places, is_marked = part[x].to_numpy(), len(part) <= _MARKED
    shape: dict[str, Any] = {
        "color": colour,
        "marker": marker if is_marked else None,
        "markersize": 5,
    }
    axes.plot(places, part[y].to_numpy(), dash, label=name, **shape)
    if {f"{y}_low", f"{y}_high"} <= set(part.columns):
        low, high = bounds_of(part, (f"{y}_low", f"{y}_high"))
        if len(part) == 1:
            axes.vlines(places, low, high, color=colour, linewidth=1.6)
            return
        axes.fill_between(places, low, high, color=colour, alpha=0.15, linewidth=0)
