"""The leaderboard against another benchmark, one point a model (figures 5 and 6 of Imajo 2025)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs.drawing.saving import finish, fix_layout
from pfgen_rs.drawing.style import GREY, Look, drawing
from pfgen_rs.drawing.words import Language
from pfgen_rs.report.plots.points import kinds
from pfgen_rs.studies.against_result import (
    OURS,
    OUTLIERS,
    AgainstStudy,
    BenchmarkCorrelation,
)
from pfgen_rs.studies.markdown import correlation_text, interval_text
from pfgen_rs.studies.plots.correlation_map import check_name_count, correlation_map
from pfgen_rs.studies.plots.labels import place_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["against_figure", "against_scatter"]

_NAME = 36  # characters of a label
_STEPS = 200  # of the line, which labels should not cover


def against_figure(
    study: AgainstStudy, *, outliers: int = OUTLIERS, title: str | None = None, **look: Any
) -> Figure:
    """Draw the scatter plot of a study of one column, or the map of correlations of several."""
    check_name_count(1 + len(study.columns))  # before all of them are correlated
    if len(study.columns) > 1:
        return correlation_map(study.matrix, title=title, **look)
    return against_scatter(study.columns[0], study.ours, outliers=outliers, title=title, **look)


def against_scatter(
    found: BenchmarkCorrelation,
    ours: str = OURS,
    *,
    outliers: int = OUTLIERS,
    title: str | None = None,
    language: Language = "en",
    font: str | None = None,
) -> Figure:
    """Draw a column of another benchmark against the leaderboard, with the regression line.

    Named are the `outliers` furthest from the line, and the models with the highest and lowest figures.
    """
    points = found.points.with_columns(kind=_kind_column())
    with drawing(language, font) as look:
        figure = look.figure(title, "Two benchmarks of the same models", 8.2, 6.2)
        axes = figure.subplots()
        _draw_line(axes, found)
        for kind, drawn in kinds(points).items():
            part = points.filter(pl.col("kind") == kind)
            axes.plot(
                part["figure"].to_numpy(),
                part["value"].to_numpy(),
                linestyle="none",
                markersize=6,
                markeredgecolor="white",
                markeredgewidth=0.6,
                label=look.say(kind),
                zorder=3,
                **drawn,
            )
        axes.set(xlabel=_own_heading(look, ours), ylabel=look.name(found.column, 60))
        axes.margins(0.09)
        said = _told(found)
        axes.set_title(said, loc="right", fontsize=9)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=5, handletextpad=0.2)
        fix_layout(figure)
        _name_points(axes, found, points, outliers, look)
        named = ", ".join(found.outliers(outliers)["key"])
        return finish(figure, f"{look.name(found.column, 60)}; {said}; {look.name(named, 200)}")


def _kind_column() -> pl.Expr:
    known = ("completion", "chat", "qa")
    return pl.when(pl.col("mode").is_in(known)).then("mode").otherwise(pl.lit("other"))


def _own_heading(look: Look, ours: str) -> str:
    return look.say(ours) if ours == OURS else look.name(ours, 60)


def _draw_line(axes: Axes, found: BenchmarkCorrelation) -> None:
    axes.plot(*_line_ends(found).T, color=GREY, linewidth=1.2, zorder=2)


def _line_ends(found: BenchmarkCorrelation) -> NDArray[np.float64]:
    """Returns where the regression line begins and ends, shape (2, 2)."""
    figures = found.points["figure"].to_numpy()
    ends = np.array([figures.min(), figures.max()])
    return np.stack([ends, found.intercept + found.slope * ends], axis=1)


def _told(found: BenchmarkCorrelation) -> str:
    r = found.correlation
    pearson = f"r = {correlation_text(r.pearson, 3)} [{interval_text(*r.interval('pearson'), 3)}]"
    spearman = f"ρ = {correlation_text(r.spearman, 3)}"
    return f"{pearson}, {spearman}, n = {r.n}".replace(" to ", ", ").replace("-", "−")


def _name_points(
    axes: Axes,
    found: BenchmarkCorrelation,
    points: pl.DataFrame,
    outliers: int,
    look: Look,
) -> None:
    rows = _named_rows(points, outliers)
    labels = {
        row: look.name(points["model"][row].rpartition("/")[2] or points["key"][row], _NAME)
        for row in rows
    }
    line = _line_ends(found)
    along = np.linspace(line[0], line[1], _STEPS)
    place_labels(axes, points.select("figure", "value").to_numpy(), labels, along)


def _named_rows(points: pl.DataFrame, outliers: int) -> list[int]:
    """Returns the rows to name, outliers first."""
    rows = points.with_row_index("row")
    keyed = rows.sort(pl.col("residual").abs(), descending=True, maintain_order=True)
    chosen = dict.fromkeys(keyed["row"].head(outliers).to_list())
    for column in ("figure", "value"):
        values = rows[column]
        for place in (values.arg_max(), values.arg_min()):
            if place is not None:
                chosen.setdefault(int(place))
    return list(chosen)
