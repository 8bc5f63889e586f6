"""Figures of training: learning curves, and scores of checkpoints by step."""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Unpack

from pfgen_rs.drawing import figures
from pfgen_rs.drawing.style import COLOURS, DASHES, GREY, MARKERS, Look, LookOptions, drawing
from pfgen_rs.errors import PlotError
from pfgen_rs.lazy import Figure, pl
from pfgen_rs.metrics.settings import PARTS
from pfgen_rs.report.plot_kinds import Plot, plot_kind
from pfgen_rs.report.plots.inputs import BOUNDS, RUN, PlotRequest, drawable, read_table
from pfgen_rs.report.plots.points import bounds_of

_AXES = {"step": "Step", "tokens": "Tokens"}
_MARKED = 60  # points; more of them hide the line


@plot_kind(
    "learning", "score and metrics during training, from curve.parquet files", options=["x", "y"]
)
def _learning(request: PlotRequest) -> Plot:
    """Returns the plot of the kind `learning`."""
    curves = {path: read_table(Path(path)) for path in request.paths}
    tables = [rows.select(pl.lit(name).alias("series"), pl.all()) for name, rows in curves.items()]
    draw = partial(learning_curves, curves, x=request.x or "step", y=request.y)
    return Plot(pl.concat(tables, how="diagonal_relaxed"), draw)


@plot_kind("steps", "score against training step", of_sites=True)
def _steps(request: PlotRequest) -> Plot:
    """Returns the plot of the kind `steps`."""
    inputs = request.inputs
    steps = series(inputs.runs)
    shown = [name for name in ("series", "step", *RUN, *BOUNDS) if name in steps.columns]
    are_lines = steps["series"].n_unique() < min(len(steps), MOST + 1)
    draw = partial(score_steps, inputs.runs)
    return Plot(steps.select(shown), draw, inputs.notes, suits_site=are_lines)


def learning_curves(
    curves: "Mapping[str, pl.DataFrame]",
    *,
    x: str = "step",
    y: str | None = None,
    **options: Unpack[LookOptions],
) -> Figure:
    """Draw a column (default: the score) of curves against steps or tokens, with intervals as bands.

    `curves`: by name, each with columns `step` or `tokens`, `score`, `fluency`, `truthfulness`, `helpfulness`
    and optionally `score_low`, `score_high`, as in `StepEvaluator.curve`. Of one curve the three parts are
    drawn, too, unless a column is asked for. Rows with missing values are left out. The baseline, the score
    at step 0, is a horizontal line. Raises `PlotError` if there is nothing to draw, and for more than 12
    curves.
    """
    if x not in _AXES:
        raise PlotError(f"unknown x axis {x!r}: expected one of {', '.join(_AXES)}")
    shown = ["score", *PARTS] if y is None and len(curves) == 1 else [y or "score"]
    with drawing(**options) as look:
        lines = []
        for name, curve in curves.items():
            rows = drawable(curve, [], [x, *shown]).sort(x)
            names = [name] if len(shown) == 1 else [look.say(each.capitalize()) for each in shown]
            lines += [(said, rows, each) for said, each in zip(names, shown, strict=True)]
        return _draw_lines(look, "Score during training", lines, x)


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
        parts = found.partition_by("series", maintain_order=True)
        lines = [(part["series"][0] or look.say("Score"), part, "score") for part in parts]
        return _draw_lines(look, "Score by training step", lines, "step")


def _draw_lines(
    look: Look, usual: str, lines: "Sequence[tuple[str, pl.DataFrame, str]]", x: str
) -> Figure:
    """Draw lines: names, rows and the column of each."""
    if len(lines) > MOST:
        raise PlotError(f"too many series for one figure: {len(lines)}, at most {MOST}")
    figure = look.figure(look.title, usual, 8, 4.8)
    axes = figure.subplots()
    names = look.names((name for name, _, _ in lines), 40)
    looks = zip(cycle(COLOURS), cycle(DASHES), cycle(MARKERS), strict=False)
    main, told = lines[0][2], []
    for name, (_, rows, y), (colour, dash, marker) in zip(names, lines, looks, strict=False):
        places, values = rows[x].to_numpy(), rows[y].to_numpy()
        shape = marker if len(rows) <= _MARKED else None
        axes.plot(places, values, dash, color=colour, marker=shape, markersize=4.5, label=name)
        if y == "score" and places[0] == 0:
            axes.axhline(values[0], color=GREY, linewidth=1, linestyle=":", zorder=1)
        bounds = f"{y}_low", f"{y}_high"
        if y == main and {*bounds} <= {*rows.columns}:
            low, high = bounds_of(rows, bounds)
            if len(rows) == 1:
                axes.vlines(places, low, high, color=colour, linewidth=1.6)
            axes.fill_between(places, low, high, color=colour, alpha=0.15, linewidth=0)
        told.append(f"{name} {values[0]:.4f} → {values[-1]:.4f}")
    score = look.say("Score (95 % interval)")
    said = score if main == "score" else look.name(look.say(main.capitalize()))
    axes.set(xlabel=look.say(_AXES[x]), ylabel=said)
    figures.not_below_zero(axes, y=True)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    figure.legend(loc="outside lower center", ncols=1 if len(lines) < 3 else 2, handlelength=3.5)
    return figures.finish(figure, f"{look.say('Series')}: {len(lines)}; {'; '.join(told)}")
