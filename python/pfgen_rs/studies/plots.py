"""Figures of studies (requires the extra `plots`): scatter plots with names, and maps of correlations.

Every function takes the result of a study and returns a `matplotlib.figure.Figure`. All take `title`,
`language` (`en` or `ja`) and `font`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs.drawing import figures
from pfgen_rs.drawing.figures import png, save, svg
from pfgen_rs.drawing.style import GREY, Look, LookOptions, drawing
from pfgen_rs.errors import PlotError
from pfgen_rs.report.plots import points
from pfgen_rs.studies.against import OURS, OUTLIERS, AgainstStudy, BenchmarkCorrelation
from pfgen_rs.studies.correlations import (
    MOST_NAMES,
    CorrelationMatrix,
    Statistic,
    correlation_text,
    interval_text,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


__all__ = ["against_figure", "against_scatter", "correlation_map", "png", "save", "svg"]

_NAME = 36  # characters of a label
_STEPS = 200  # of the line, which labels should not cover


def against_figure(
    study: AgainstStudy, *, outliers: int = OUTLIERS, **options: Unpack[LookOptions]
) -> Figure:
    """Draw the scatter plot of a study of one column, or the map of correlations of several."""
    _check_names(1 + len(study.columns))  # before all of them are correlated
    if len(study.columns) > 1:
        return correlation_map(study.matrix, **options)
    return against_scatter(study.columns[0], study.ours, outliers=outliers, **options)


def against_scatter(
    found: BenchmarkCorrelation,
    ours: str = OURS,
    *,
    outliers: int = OUTLIERS,
    **options: Unpack[LookOptions],
) -> Figure:
    """Draw a column of another benchmark against the leaderboard, with the regression line.

    Named are the `outliers` furthest from the line, and the models with the highest and lowest figures.
    """
    runs = points.with_kinds(found.points)
    with drawing(**options) as look:
        figure = look.figure(look.title, "Two benchmarks of the same models", 8.2, 6.2)
        axes = figure.subplots()
        axes.plot(*_line_ends(found).T, color=GREY, linewidth=1.2, zorder=2)
        points.scatter(axes, runs, "figure", "value", size=6, say=look.say)
        own = look.say(ours) if ours == OURS else look.name(ours, 60)
        axes.set(xlabel=own, ylabel=look.name(found.column, 60))
        axes.margins(0.09)
        said = _told(found)
        axes.set_title(said, loc="right", fontsize=9)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=5, handletextpad=0.2)
        figures.fix_layout(figure)
        _name_points(axes, found, runs, outliers, look)
        named = ", ".join(found.outliers(outliers)["key"])
        description = f"{look.name(found.column, 60)}; {said}; {look.name(named, 200)}"
        return figures.finish(figure, description)


def _line_ends(found: BenchmarkCorrelation) -> NDArray[np.float64]:
    """Returns where the regression line begins and ends, shape (2, 2)."""
    values = found.points["figure"].to_numpy()
    ends = np.array([values.min(), values.max()])
    return np.stack([ends, found.intercept + found.slope * ends], axis=1)


def _told(found: BenchmarkCorrelation) -> str:
    r = found.correlation
    pearson = (
        f"r = {correlation_text(r.pearson, 3)} [{interval_text(r.pearson_low, r.pearson_high, 3)}]"
    )
    spearman = f"ρ = {correlation_text(r.spearman, 3)}"
    return _drawn(f"{pearson}, {spearman}, n = {r.n}".replace(" to ", ", "))


def _drawn(number: str) -> str:
    return number.replace("-", "−")


def _name_points(
    axes: Axes, found: BenchmarkCorrelation, runs: pl.DataFrame, outliers: int, look: Look
) -> None:
    labels = {
        row: look.name(runs["model"][row].rpartition("/")[2] or runs["key"][row], _NAME)
        for row in _named_rows(runs, outliers)
    }
    line = _line_ends(found)
    along = np.linspace(line[0], line[1], _STEPS)
    _place_labels(axes, runs.select("figure", "value").to_numpy(), labels, along)


def _named_rows(runs: pl.DataFrame, outliers: int) -> list[int]:
    """Returns the rows to name, outliers first."""
    rows = runs.with_row_index("row")
    keyed = rows.sort(pl.col("residual").abs(), descending=True, maintain_order=True)
    chosen = dict.fromkeys(keyed["row"].head(outliers).to_list())
    for column in ("figure", "value"):
        values = rows[column]
        for place in (values.arg_max(), values.arg_min()):
            if place is not None:
                chosen.setdefault(int(place))
    return list(chosen)


# The correlations of several lists of figures as a map.


_HEADINGS = {"pearson": "Pearson's r", "spearman": "Spearman's ρ"}
_CLOSE = 0.99  # from here on, two decimals say nothing


def _check_names(names: int) -> None:
    """Raise `PlotError` for more names than one map shows."""
    if names > MOST_NAMES:
        raise PlotError(f"too many names for one figure: {names}, at most {MOST_NAMES}")


def correlation_map(
    matrix: CorrelationMatrix,
    *,
    statistic: Statistic = "pearson",
    usual: str = "Correlations",
    **options: Unpack[LookOptions],
) -> Figure:
    """Draw the correlations of every two names, coloured by value.

    `usual`: the title if none is given, a key of `drawing.words`. Raises `PlotError` for more than 40 names,
    and if no pair has a correlation.
    """
    names = matrix.names
    if not matrix.pairs:
        raise PlotError("nothing to draw: no two of these have a correlation")
    _check_names(len(names))
    cells = matrix.values(statistic)
    lowest = float(np.nanmin(cells[~np.eye(len(names), dtype=bool)]))
    digits = 4 if lowest > _CLOSE else 2
    with drawing(**options) as look:
        labels = [look.say(name) if name == OURS else look.name(name, 30) for name in names]
        room = figures.room_for_labels(labels)
        size = 1.1 + (0.62 if digits == 4 else 0.5) * len(names)
        figure = look.figure(look.title, usual, 2.0 + size + room, 1.3 + size + 0.7 * room)
        figures.heat_map(
            figure.subplots(),
            cells,
            labels,
            labels,
            lambda i, j: "1" if i == j else _drawn(correlation_text(float(cells[i, j]), digits)),
            lowest=lowest if digits == 4 else min(0.0, lowest),
            bar=look.say(_HEADINGS[statistic]),
            size=7.5,
        )
        said = "; ".join(
            f"{labels[names.index(pair.one)]} – {labels[names.index(pair.other)]}: "
            f"{correlation_text(getattr(pair, statistic))} (n = {pair.n})"
            for pair in matrix.pairs
        )
        return figures.finish(figure, f"{look.say(_HEADINGS[statistic])}: {said}")


# Names beside points that cover neither points nor each other; one without room is left out.


_SIZE = 8.0  # points
_LEADER = 9.0  # from so far away on, a line leads to the name
_RADII = (7.0, 11.0, 16.0, 22.0, 30.0, 40.0, 52.0)
_ANGLES = 16
_OFFSET: dict[str, Any] = {"xycoords": "data", "textcoords": "offset points"}
_ARROW = {"arrowstyle": "-", "color": GREY, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 3}


def _place_labels(
    axes: Axes,
    places: NDArray[np.float64],
    labels: Mapping[int, str],
    avoided: NDArray[np.float64],
) -> None:
    """Write labels beside some of the points, whose layout must be final.

    `places`: all points in data units, shape (points, 2). `labels`: names by row of `places`, the important
    ones first. `avoided`: more places that labels should not cover, such as those of a line. A label goes to
    the nearest place where it covers nothing and stays within the axes; without one it is left out.
    """
    scale = 72 / axes.figure.dpi
    drawn = axes.transData.transform(places) * scale
    taken = [points.box(x, y, points.HALF_MARKER, points.HALF_MARKER) for x, y in drawn]
    taken += [points.box(x, y, 1.0, 1.0) for x, y in axes.transData.transform(avoided) * scale]
    frame = np.asarray(axes.get_window_extent().extents) * scale
    for row, label in labels.items():
        text = axes.annotate(
            label,
            places[row],
            (0, 0),
            **_OFFSET,
            ha="center",
            va="center",
            fontsize=_SIZE,
            zorder=4,
        )
        text.set_in_layout(False)
        extent = text.get_window_extent()
        half = extent.width * scale / 2 + 1, extent.height * scale / 2 + 0.5
        offset = _free_offset(drawn[row], half, taken, frame)
        if offset is None:
            text.remove()
            continue
        text.set_position(offset)
        (x, y), (dx, dy), (width, height) = drawn[row], offset, half
        taken.append(points.box(x + dx, y + dy, width, height))
        # A line leads from the point to the nearest spot of its label, if that is far away.
        near = (
            float(np.clip(0.0, dx - width, dx + width)),
            float(np.clip(0.0, dy - height, dy + height)),
        )
        if np.hypot(*near) > _LEADER:
            line = axes.annotate("", places[row], near, **_OFFSET, arrowprops=_ARROW, zorder=2)
            line.set_in_layout(False)


def _free_offset(
    point: Any, half: tuple[float, float], taken: Sequence[points.Box], frame: Any
) -> tuple[float, float] | None:
    others = np.array(taken)
    for dx, dy in _offsets(half):
        place = points.box(point[0] + dx, point[1] + dy, *half)
        if not points.is_outside(place, frame) and not points.shared_area(place, others):
            return dx, dy
    return None


def _offsets(half: tuple[float, float]) -> Iterator[tuple[float, float]]:
    """Yield offsets of a label's centre, beginning near its point, at its right."""
    for radius in _RADII:
        for turn in range(_ANGLES):
            # Right, left, and then alternately further up and down.
            angle = (turn // 2) * (1 if turn % 2 else -1) * 2 * np.pi / _ANGLES
            yield (
                round(float((radius + half[0]) * np.cos(angle)), 3),
                round(float((radius + half[1]) * np.sin(angle)), 3),
            )
