"""Ratings by a judge against pfgen scores: figure 4 of the Japanese paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from pfgen_rs.drawing.figures import finish, fixed
from pfgen_rs.drawing.style import GREY, drawing
from pfgen_rs.drawing.words import Language
from pfgen_rs.errors import PlotError
from pfgen_rs.judge.against_scores import rated_runs
from pfgen_rs.judge.plots.kinds import JudgePlotRequest, judge_plot
from pfgen_rs.report.plot_kinds import Drawn
from pfgen_rs.report.plots.inputs import drawable
from pfgen_rs.report.plots.points import (
    list_height,
    list_runs,
    number_points,
    numbered_points,
    scatter,
)
from pfgen_rs.runs.naming import named_results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANEL, _LINE, _COLUMNS = 5.0, 0.165, 2
Bounds = tuple[float | None, float | None]


def rating_scores(
    runs: pl.DataFrame,
    correlation: float | None,
    interval: Bounds = (None, None),
    *,
    title: str | None = None,
    language: Language = "en",
    font: str | None = None,
) -> Figure:
    """Draw the mean rating of each run against its pfgen score, with Pearson's r (judging 6.5).

    `runs`: columns `model`, `score`, `rating`, and optionally `mode` and `se` (the standard error of the
    rating, drawn as ± 1.96 se). `correlation`, `interval`: Pearson's r over the runs, and its bounds. Raises
    `PlotError` if there is nothing to draw.
    """
    if "mode" not in runs.columns:
        runs = runs.with_columns(mode=pl.lit(None, pl.String))
    found = numbered_points(drawable(runs, ["model", "mode"], ["score", "rating"]))
    with drawing(language, font) as look:
        listed = _LINE * list_height(len(found), _COLUMNS)
        figure = look.figure(title, "Ratings by the judge and scores", 7.6, _PANEL + 0.4 + listed)
        grid = figure.add_gridspec(2, 1, height_ratios=(_PANEL, listed))
        list_runs(figure.add_subplot(grid[1]), found, look, _COLUMNS)
        axes = figure.add_subplot(grid[0])
        _rating_errors(axes, found)
        scatter(axes, found, "score", "rating")
        said = _told_correlation(correlation, interval, len(found))
        axes.set_title(said, loc="right", fontsize=9)
        axes.set(xlabel=look.say("Score"), ylabel=look.say("Mean rating"))
        axes.margins(0.08)
        number_points(figure, [(axes, "score", "rating", found)])
        return finish(figure, f"{look.say('Runs')}: {len(found)}; {said}")


def _rating_errors(axes: Axes, runs: pl.DataFrame) -> None:
    if "se" in runs.columns:
        known = runs.filter(pl.col("se").is_finite())
        x, y, se = (known[name].to_numpy() for name in ("score", "rating", "se"))
        axes.errorbar(x, y, yerr=1.96 * se, fmt="none", ecolor=GREY, linewidth=1, zorder=2)


def _told_correlation(r: float | None, interval: Bounds, runs: int) -> str:
    if r is None:
        return f"r = – (n = {runs})"
    low, high = interval
    bounds = "" if low is None or high is None else f" [{fixed(low, 4)}, {fixed(high, 4)}]"
    return f"r = {fixed(r, 4)}{bounds} (n = {runs})"


@judge_plot("scores", "mean ratings of runs against their scores, with Pearson's r (judging 6.5)")
def draw_scores(request: JudgePlotRequest) -> Drawn:
    """Draw the ratings of runs against their scores."""
    folder = request.only_folder("ratings")
    if not request.runs:
        raise PlotError("ratings are drawn against the scores of the rated runs: --run RUN")
    results = named_results(request.score(list(request.runs), request.benchmark))
    rated = rated_runs(folder, results, request.benchmark)
    modes = {name: (result.config or {}).get("mode") for name, result in results.items()}
    known = [(name, mode if isinstance(mode, str) else None) for name, mode in modes.items()]
    schema = {"model": pl.String, "mode": pl.String}
    more = rated.means.select("model", "se").join(
        pl.DataFrame(known, schema=schema, orient="row"), on="model", how="left"
    )
    found = rated.correlation
    runs = found.runs.join(more, on="model", how="left", maintain_order="left")
    figure = rating_scores(runs, found.pearson, found.pearson_interval, **request.look)
    return Drawn(figure, rated.ratings.notes())
