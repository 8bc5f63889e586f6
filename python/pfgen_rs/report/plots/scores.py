"""Scores of runs as figures: with their intervals by rank, and by category of questions."""

from functools import partial
from typing import Unpack

from pfgen_rs.drawing import figures, style
from pfgen_rs.lazy import Axes, Figure, np, pl
from pfgen_rs.report.plot_kinds import Plot, plot_kind
from pfgen_rs.report.plots import columns, inputs, points

MOST = 100  # runs with intervals that are shown
_RANK_SIZE = 9  # points


@plot_kind(
    "intervals", "scores with their intervals, by rank", options=["y"], of_sites=True, top=MOST
)
def _intervals(request: inputs.PlotRequest) -> Plot:
    """Returns the plot of the kind `intervals`."""
    column = request.y or "score"
    runs = columns.table_of(request, [column])
    top = request.top or MOST
    found = runs.drop_nulls(column)
    more = (column, *bounds_names(column), "rank", "rank_low", "rank_high")
    table = inputs.run_columns(found, more).sort(column, descending=True, maintain_order=True)
    notes = [*request.inputs.notes, *points.cut_note(points.RUNS, top, len(table))]
    return Plot(table, partial(intervals, found, column, top=top), notes)


def bounds_names(column: str) -> tuple[str, str]:
    """Returns the columns with the interval of a column."""
    return f"{column}_low", f"{column}_high"


def intervals(
    runs: "pl.DataFrame",
    column: str = "score",
    *,
    top: int = MOST,
    **options: Unpack[style.LookOptions],
) -> Figure:
    """Draw a column, best runs first, with its intervals; of scores with the rank range of each run, too.

    `runs`: columns `model`, `mode`, `score`, the column drawn, and optionally its bounds (`score_low`,
    `score_high`) and `rank_low`, `rank_high`. A run without an interval, for example because its score is not
    the mean of its questions, is a point only. `top`: number of runs that are shown, the highest ones. Raises
    `PlotError` if there is nothing to draw.
    """
    usable = inputs.drawable(runs, ["model", "mode"], ["score", column])
    found = points.numbered_points(usable, column)
    shown = found.head(points.check_top(top))
    with style.drawing(**options) as look:
        usual = "Scores with 95 % intervals"
        said = look.say("Score (95 % interval over questions, Student's t)")
        if column != "score":
            usual = said = columns.label(column, look)
            said += look.say(" (95 % interval)") * (bounds_names(column)[0] in shown.columns)
        figure = look.figure(look.title, usual, 9.4, 1.5 + 0.235 * len(shown))
        axes = figure.subplots()
        _interval_rows(axes, shown, column)
        # The space is as wide as a digit.
        marked = zip(look.names(shown["name"]), shown["mark"], strict=True)
        _name_rows(axes, [f"{name}  {mark:\u2007>2}" for name, mark in marked])
        axes.set_xlabel(said)
        figures.not_below_zero(axes, x=True)
        figures.remark(axes, points.cut_in_figure(look, points.RUNS, len(shown), len(found)))
        if column == "score":
            _rank_ranges(axes, shown, look)
        if len(points.kinds(shown)) > 1:
            _kinds_below(figure, axes, look)
        return figures.finish(figure, f"{look.say('Runs')}: {len(shown)} / {len(found)}")


def _interval_rows(axes: Axes, runs: "pl.DataFrame", column: str) -> None:
    placed = runs.with_row_index("row")
    for kind, drawn in points.kinds(runs).items():
        part = placed.filter(pl.col("kind") == kind)
        low, high = points.bounds_of(part, bounds_names(column))
        axes.hlines(part["row"].to_numpy(), low, high, color=drawn["color"], linewidth=1.6)
    points.scatter(axes, placed, column, "row", size=6)


def _name_rows(axes: Axes, names: list[str]) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")


def _kinds_below(figure: Figure, axes: Axes, look: style.Look, note: str | None = None) -> None:
    lines, names = axes.get_legend_handles_labels()
    said = [look.say(name) for name in names]
    below = figure.legend(lines, said, loc="outside lower center", ncols=len(said), title=note)
    below.get_title().set(fontsize=8.5, color=style.FAINT)


def _rank_ranges(axes: Axes, runs: "pl.DataFrame", look: style.Look) -> None:
    """Write the rank range of each run in a column on the right, where no interval reaches."""
    if {"rank_low", "rank_high"} <= set(runs.columns):
        known = runs.with_row_index("row").drop_nulls(["rank_low", "rank_high"])
        ranges = known.select("row", "rank_low", "rank_high").rows()
        said = {row: f"{low}" if low == high else f"{low}–{high}" for row, low, high in ranges}
        column = axes.secondary_yaxis("right")
        column.set_yticks([*said], [*said.values()])
        column.tick_params(length=0)
        column.spines[:].set_visible(False)
        axes.set_title(look.say("rank range"), loc="right", fontsize=_RANK_SIZE)


MOST_CATEGORIES = 80  # runs on a map
_FEW = 8  # beside which a scale is as high as the map


@plot_kind("categories", "a heat map of runs and categories", of_sites=True, top=MOST_CATEGORIES)
def _categories(request: inputs.PlotRequest) -> Plot:
    """Returns the plot of the kind `categories`."""
    table = columns.category_means(*request.category_scores)
    top = request.top or MOST_CATEGORIES
    notes = [*request.category_notes, *points.cut_note(points.RUNS, top, len(table))]
    return Plot(table, partial(category_map, table, top=top), notes)


def category_map(
    table: "pl.DataFrame", *, top: int = MOST_CATEGORIES, **options: Unpack[style.LookOptions]
) -> Figure:
    """Draw the mean score of each run in each category; `table`: as of `category_means`.

    `top`: number of runs that are shown, the best ones.
    """
    shown = table.head(points.check_top(top))
    with style.drawing(**options) as look:
        size = 3.4 + 0.5 * table.width, 1.7 + 0.245 * len(shown)
        figure = look.figure(look.title, "Score by category", *size)
        axes = figure.subplots()
        labels = [
            look.say("overall"),
            *(columns.label(name, look, 24) for name in shown.columns[2:]),
        ]
        bar = 0.5 if len(shown) > _FEW else 1
        figures.score_map(axes, shown, look, labels, shrink=bar)
        figures.remark(axes, points.cut_in_figure(look, points.RUNS, len(shown), len(table)))
        axes.axvline(0.5, color="white", linewidth=3)
        return figures.finish(figure, f"{look.say('Runs')}: {len(shown)} / {len(table)}")


_PANEL_RUNS = 12  # runs in each panel
_ACROSS = 5  # panels
_CUT = "intervals of few questions are cut at the panel's edge"


@plot_kind(
    "panels", "scores with intervals, a panel for each category", of_sites=True, top=_PANEL_RUNS
)
def _panels(request: inputs.PlotRequest) -> Plot:
    """Returns the plot of the kind `panels`."""
    scores, categories, overall = request.category_scores
    top = request.top or _PANEL_RUNS
    table = columns.category_intervals(scores, categories)
    runs = request.inputs.runs.filter(pl.col("name").is_in(list(overall)))
    notes = [*request.category_notes, *points.cut_note(points.RUNS, top, len(runs))]
    return Plot(table, partial(panels, runs, table, top=top), notes)


def panels(
    runs: "pl.DataFrame",
    means: "pl.DataFrame",
    *,
    top: int = _PANEL_RUNS,
    **options: Unpack[style.LookOptions],
) -> Figure:
    """Draw the scores of the best runs with their intervals, a panel for each category of questions.

    `runs`: columns `name`, `model`, `mode`, `score` and optionally `score_low`, `score_high`, for the first
    panel. `means`: as of `category_intervals`. Raises `PlotError` if there is nothing to draw.
    """
    found = points.numbered_points(inputs.drawable(runs, ["name", "model", "mode"], ["score"]))
    shown = found.head(points.check_top(top))
    parts = means.partition_by("category", as_dict=True, maintain_order=True)
    with style.drawing(**options) as look:
        number = 1 + len(parts)
        across = min(_ACROSS, number)
        height = 1.4 + -(-number // across) * (0.62 + 0.2 * len(shown))
        figure = look.figure(look.title, "Score by category", 3.2 + 1.9 * across, height)
        grid = figures.panels(figure, number, across, sharex=True, sharey=True)
        base = shown.drop("score", *inputs.BOUNDS, strict=False)
        drawn = [(look.say("overall"), shown)]  # not by name: shortened, two may be the same
        for (name,), part in parts.items():
            own = base.join(part, on="name", how="left", maintain_order="left")
            drawn.append((columns.label(f"{columns.CATEGORY}{name}", look, 24), own))
        for place, (axes, (heading, table)) in enumerate(zip(grid, drawn, strict=True)):
            _interval_rows(axes, table, "score")
            axes.set_title(heading, loc="left")
            axes.grid(visible=False, axis="y")
            if place + across >= number:  # nothing is below
                axes.tick_params(labelbottom=True)
                axes.set_xlabel(look.say("Score (95 % interval)"), fontsize=8.5)
        _name_rows(grid[0], look.names(shown["name"], 30))
        highest = max(float(np.nanmax(table["score"].to_numpy())) for _, table in drawn)
        grid[0].set_xlim(-0.03 * highest, 1.2 * highest)
        notes = [points.cut_in_figure(look, points.RUNS, len(shown), len(found)), look.say(_CUT)]
        _kinds_below(figure, grid[0], look, "; ".join(filter(None, notes)))
        return figures.finish(figure, f"{look.say('Runs')}: {len(shown)} / {len(found)}")
