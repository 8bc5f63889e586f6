"""Scores of runs as figures: with their intervals by rank, and by category of questions."""

from collections.abc import Mapping
from functools import partial
from typing import Unpack

from pfgen_rs.drawing import figures, style
from pfgen_rs.lazy import Axes, Figure, np, pl
from pfgen_rs.report.plot_kinds import Plot, plot_kind
from pfgen_rs.report.plots import inputs, points

MOST = 100  # runs with intervals that are shown
_RANK_SIZE, _RANK_GAP = 8.5, 4.0  # points


@plot_kind("intervals", "scores with their intervals, by rank", options=["top"], of_sites=True)
def _intervals(request: inputs.PlotRequest) -> Plot:
    """Returns the plot of the kind `intervals`."""
    runs = request.inputs.runs
    top = MOST if request.top is None else request.top
    table = inputs.run_columns(runs, (*inputs.BOUNDS, "rank", "rank_low", "rank_high"))
    notes = [*request.inputs.notes, *points.cut_note(points.RUNS, top, len(table))]
    return Plot(table, partial(intervals, runs, top=top), notes, len(table) > top)


def intervals(
    runs: "pl.DataFrame",
    *,
    top: int = MOST,
    **options: Unpack[style.LookOptions],
) -> Figure:
    """Draw scores by rank with their intervals, and the rank range of each run.

    `runs`: columns `model`, `mode`, `score`, `score_low`, `score_high` and optionally `rank_low`,
    `rank_high`. A run without an interval, for example because its score is not the mean of its questions,
    is a point only. `top`: number of runs that are shown, the best ones. Raises `PlotError` if there is
    nothing to draw.
    """
    found = points.numbered_points(inputs.drawable(runs, ["model", "mode"], ["score"]))
    shown = found.head(points.check_top(top))
    with style.drawing(**options) as look:
        height = 1.5 + 0.235 * len(shown)
        figure = look.figure(look.title, "Scores with 95 % intervals", 9.4, height)
        axes = figure.subplots()
        _interval_rows(axes, shown)
        # The space is as wide as a digit.
        marked = zip(look.names(shown["name"]), shown["mark"], strict=True)
        labels = [f"{name}  {mark:\u2007>2}" for name, mark in marked]
        axes.set_yticks(range(len(shown)), labels)
        axes.set_ylim(len(shown) - 0.4, -0.6)
        axes.set_xlabel(look.say("Score (95 % interval over questions, Student's t)"))
        figures.not_below_zero(axes, x=True)
        figures.remark(axes, points.cut_in_figure(look, points.RUNS, len(shown), len(found)))
        axes.grid(visible=False, axis="y")
        _rank_ranges(axes, shown, look)
        if len(points.kinds(shown)) > 1:
            lines, names = axes.get_legend_handles_labels()
            said = [look.say(name) for name in names]
            figure.legend(lines, said, loc="outside lower center", ncols=len(said))
        description = f"{look.say('Runs')}: {len(shown)} / {len(found)}"
        return figures.finish(figure, description)


def _interval_rows(axes: Axes, runs: "pl.DataFrame") -> None:
    placed = runs.with_row_index("row")
    for kind, drawn in points.kinds(runs).items():
        part = placed.filter(pl.col("kind") == kind)
        low, high = points.bounds_of(part)
        axes.hlines(part["row"].to_numpy(), low, high, color=drawn["color"], linewidth=1.6)
    points.scatter(axes, placed, "score", "row", size=6)


def _rank_ranges(axes: Axes, runs: "pl.DataFrame", look: style.Look) -> None:
    """Write the rank range of each run in a column on the right, where no interval reaches."""
    if not {"rank_low", "rank_high"} <= set(runs.columns):
        return
    said = {
        row: f"{low}" if low == high else f"{low}–{high}"
        for row, (low, high) in enumerate(runs.select("rank_low", "rank_high").rows())
        if low is not None and high is not None
    }
    heading = look.say("rank range")
    widest = max(style.text_width(text, look.families) for text in (heading, *said.values()))
    right = _RANK_GAP + _RANK_SIZE * style.MEAN_WIDTH * widest
    for row, text in said.items():
        _annotate(axes, text, (1, row), (right, 0), "center_baseline")
    _annotate(axes, heading, (1, -0.6), (right, 4), "bottom")


def _annotate(
    axes: Axes, text: str, at: tuple[float, float], offset: tuple[float, float], place: str
) -> None:
    axes.annotate(
        text,
        at,
        xycoords=axes.get_yaxis_transform(),
        xytext=offset,
        textcoords="offset points",
        ha="right",
        va=place,
        fontsize=_RANK_SIZE,
        annotation_clip=False,
    )


MOST_CATEGORIES = 80  # runs on a map
_FEW = 8  # beside which a scale is as high as the map


@plot_kind("categories", "a heat map of runs and categories", options=["top"], of_sites=True)
def _categories(request: inputs.PlotRequest) -> Plot:
    """Returns the plot of the kind `categories`."""
    scores = request.category_scores
    top = MOST_CATEGORIES if request.top is None else request.top
    table = category_means(*scores)
    notes = [*request.inputs.notes, *points.cut_note(points.RUNS, top, len(table))]
    return Plot(table, partial(category_map, *scores, top=top), notes, len(table) > top)


def category_means(
    scores: "pl.DataFrame",
    categories: Mapping[str, str | None],
    overall: Mapping[str, float] | None = None,
) -> "pl.DataFrame":
    """Returns the mean score of each run by category, and over all questions.

    `scores`: columns `name`, `question_id`, `score`. `categories`: by question id, in the order of the
    columns; questions without one count as `?`. `overall`: published scores of runs by name (default: the
    mean over questions). One row per run, by descending `all`; one column per category.
    """
    found = inputs.drawable(scores, ["name", "question_id"], ["score"])
    order = list(dict.fromkeys(category or "?" for category in categories.values()))
    named = found.with_columns(
        pl.col("question_id")
        .replace_strict(dict(categories), default=None)
        .fill_null("?")
        .alias("in")
    )
    table = named.group_by("name", maintain_order=True).agg(
        pl.col("score").mean().alias("all"),
        *(
            pl.col("score").filter(pl.col("in") == category).mean().alias(f"in {category}")
            for category in order
        ),
    )
    known = pl.col("name").replace_strict(
        dict(overall or {}), default=None, return_dtype=pl.Float64
    )
    return table.with_columns(known.fill_null(pl.col("all")).alias("all")).sort(
        "all", descending=True, maintain_order=True
    )


def category_map(
    scores: "pl.DataFrame",
    categories: Mapping[str, str | None],
    overall: Mapping[str, float] | None = None,
    *,
    top: int = MOST_CATEGORIES,
    **options: Unpack[style.LookOptions],
) -> Figure:
    """Draw the mean score of each run in each category; arguments as for `category_means`.

    `top`: number of runs that are shown, the best ones. Raises `PlotError` if there is nothing to draw.
    """
    table = category_means(scores, categories, overall)
    shown = table.head(points.check_top(top))
    with style.drawing(**options) as look:
        names = [column.removeprefix("in ") for column in shown.columns[1:]]
        width, height = 3.9 + 0.5 * len(names), 1.7 + 0.245 * len(shown)
        figure = look.figure(look.title, "Score by category", width, height)
        axes = figure.subplots()
        values = shown.drop("name").to_numpy().astype(float)
        labels = [look.say("overall"), *(look.category(name) for name in names[1:])]
        figures.heat_map(
            axes,
            values,
            look.names(shown["name"]),
            labels,
            highest=max(1.0, float(np.nanmax(values))),
            bar=look.say("Score"),
            shrink=0.5 if len(values) > _FEW else 1,
        )
        figures.remark(axes, points.cut_in_figure(look, points.RUNS, len(shown), len(table)))
        axes.axvline(0.5, color="white", linewidth=3)
        description = f"{look.say('Runs')}: {len(shown)} / {len(table)}"
        return figures.finish(figure, description)
