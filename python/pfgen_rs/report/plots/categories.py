"""Scores of runs by category, as a heat map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from pfgen_rs.drawing.numbers import fixed
from pfgen_rs.drawing.panels import remark
from pfgen_rs.drawing.saving import finish
from pfgen_rs.drawing.style import ON_DARK, ON_LIGHT, Look, drawing
from pfgen_rs.drawing.words import Language
from pfgen_rs.report.plots.cuts import RUNS, check_top, cut_in_figure
from pfgen_rs.report.plots.frames import drawable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["MOST", "category_map", "category_means"]

MOST = 80  # runs on a map
_FEW = 8  # beside which a scale is as high as the map


def category_means(
    scores: pl.DataFrame,
    categories: Mapping[str, str | None],
    overall: Mapping[str, float] | None = None,
) -> pl.DataFrame:
    """Returns the mean score of each run by category, and over all questions.

    `scores`: columns `name`, `question_id`, `score`. `categories`: by question id, in the order of the
    columns; questions without one count as `?`. `overall`: published scores of runs by name (default: the
    mean over questions). One row per run, by descending `all`; one column per category.
    """
    found = drawable(scores, ["name", "question_id"], ["score"])
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
    scores: pl.DataFrame,
    categories: Mapping[str, str | None],
    overall: Mapping[str, float] | None = None,
    *,
    top: int = MOST,
    title: str | None = None,
    language: Language = "en",
    font: str | None = None,
) -> Figure:
    """Draw the mean score of each run in each category; arguments as for `category_means`.

    `top`: number of runs that are shown, the best ones. Raises `PlotError` if there is nothing to draw.
    """
    table = category_means(scores, categories, overall)
    shown = table.head(check_top(top))
    with drawing(language, font) as look:
        names = [column.removeprefix("in ") for column in shown.columns[1:]]
        width, height = 3.9 + 0.5 * len(names), 1.7 + 0.245 * len(shown)
        figure = look.figure(title, "Score by category", width, height)
        axes = figure.subplots()
        values = shown.drop("name").to_numpy().astype(float)
        _category_cells(figure, axes, values, look)
        labels = [look.say("overall"), *(look.category(name) for name in names[1:])]
        axes.set_xticks(range(len(names)), labels, rotation=40, ha="left", rotation_mode="anchor")
        axes.set_yticks(range(len(shown)), look.names(shown["name"]))
        remark(axes, cut_in_figure(look, RUNS, len(shown), len(table)))
        axes.axvline(0.5, color="white", linewidth=3)
        description = f"{look.say('Runs')}: {len(shown)} / {len(table)}"
        return finish(figure, description)


def _category_cells(figure: Figure, axes: Axes, values: Any, look: Look) -> None:
    top = max(1.0, float(np.nanmax(values)))
    image = axes.imshow(values, cmap="cividis", vmin=0, vmax=top, aspect="auto")
    for row, column in zip(*np.nonzero(np.isfinite(values)), strict=True):
        value = values[row, column]
        axes.text(
            column,
            row,
            fixed(value, 2),
            ha="center",
            va="center_baseline",
            fontsize=7.5,
            color=ON_DARK if value < 0.5 * top else ON_LIGHT,
        )
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    bar = figure.colorbar(
        image, ax=axes, shrink=0.5 if len(values) > _FEW else 1, aspect=30, pad=0.01
    )
    bar.set_label(look.say("Score"))
    bar.outline.set_visible(False)
