"""Figures of studies (requires the extra `plots`): scatter plots with names, and maps of correlations.

Every function takes the result of a study and returns a `matplotlib.figure.Figure`. All take `title`,
`language` (`en` or `ja`) and `font`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs.drawing.figures import (
    draw_matrix,
    finish,
    fix_layout,
    png,
    room_for_labels,
    save,
    svg,
)
from pfgen_rs.drawing.style import COLOURS, GREY, INK, Look, drawing
from pfgen_rs.drawing.words import Language
from pfgen_rs.errors import PlotError
from pfgen_rs.report.plots.points import scatter, with_kinds
from pfgen_rs.studies.against import OURS, OUTLIERS, AgainstStudy, BenchmarkCorrelation
from pfgen_rs.studies.correlations import (
    MOST_NAMES,
    Correlation,
    CorrelationMatrix,
    MetricStudy,
    Statistic,
    correlation_text,
    interval_text,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


__all__ = [
    "against_figure",
    "against_scatter",
    "correlation_map",
    "metric_matrix",
    "png",
    "save",
    "svg",
]

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
    points = with_kinds(found.points)
    with drawing(language, font) as look:
        figure = look.figure(title, "Two benchmarks of the same models", 8.2, 6.2)
        axes = figure.subplots()
        axes.plot(*_line_ends(found).T, color=GREY, linewidth=1.2, zorder=2)
        scatter(axes, points, "figure", "value", size=6, say=look.say)
        axes.set(xlabel=_own_heading(look, ours), ylabel=look.name(found.column, 60))
        axes.margins(0.09)
        said = _told(found)
        axes.set_title(said, loc="right", fontsize=9)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=5, handletextpad=0.2)
        fix_layout(figure)
        _name_points(axes, found, points, outliers, look)
        named = ", ".join(found.outliers(outliers)["key"])
        return finish(figure, f"{look.name(found.column, 60)}; {said}; {look.name(named, 200)}")


def _own_heading(look: Look, ours: str) -> str:
    return look.say(ours) if ours == OURS else look.name(ours, 60)


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


# The correlations of several lists of figures as a map.


_HEADINGS = {"pearson": "Pearson's r", "spearman": "Spearman's ρ"}
_CLOSE = 0.99  # from here on, two decimals say nothing


def check_name_count(names: int) -> None:
    """Raise `PlotError` for more names than one map shows."""
    if names > MOST_NAMES:
        raise PlotError(f"too many names for one figure: {names}, at most {MOST_NAMES}")


def correlation_map(
    matrix: CorrelationMatrix,
    *,
    statistic: Statistic = "pearson",
    usual: str = "Correlations",
    title: str | None = None,
    language: Language = "en",
    font: str | None = None,
) -> Figure:
    """Draw the correlations of every two names, coloured by value.

    `usual`: the title if none is given, a key of `drawing.words`. Raises `PlotError` for more than 40 names,
    and if no pair has a correlation.
    """
    names = matrix.names
    if not matrix.pairs:
        raise PlotError("nothing to draw: no two of these have a correlation")
    check_name_count(len(names))
    cells = matrix.values(statistic)
    others = cells[~np.eye(len(names), dtype=bool)]
    lowest, digits = float(np.nanmin(others)), 4 if np.nanmin(others) > _CLOSE else 2
    with drawing(language, font) as look:
        labels = [look.say(name) if name == OURS else look.name(name, 30) for name in names]
        room = room_for_labels(labels)
        size = 1.1 + (0.62 if digits == 4 else 0.5) * len(names)
        figure = look.figure(title, usual, 2.0 + size + room, 1.3 + size + 0.7 * room)
        draw_matrix(
            figure.subplots(),
            cells,
            labels,
            lambda i, j: "1" if i == j else _coefficient(float(cells[i, j]), digits),
            lowest=lowest if digits == 4 else min(0.0, lowest),
            bar=look.say(_HEADINGS[statistic]),
            size=7.5,
        )
        said = "; ".join(
            f"{labels[names.index(pair.one)]} – {labels[names.index(pair.other)]}: "
            f"{correlation_text(getattr(pair, statistic))} (n = {pair.n})"
            for pair in matrix.pairs
        )
        return finish(figure, f"{look.say(_HEADINGS[statistic])}: {said}")


def _coefficient(value: float, digits: int) -> str:
    return correlation_text(value, digits).replace("-", "−")


# Names beside points that cover neither points nor each other; one without room is left out.


_SIZE = 8.0  # points
_POINT = 4.0  # half the width of a marker
_LEADER = 9.0  # from so far away on, a line leads to the name
_RADII = (7.0, 11.0, 16.0, 22.0, 30.0, 40.0, 52.0)
_ANGLES = 16
Box = tuple[float, float, float, float]


def place_labels(
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
    figure = axes.figure
    scale = 72 / figure.dpi
    drawn = axes.transData.transform(places) * scale
    taken = [_box(x, y, _POINT, _POINT) for x, y in drawn]
    taken += [_box(x, y, 1.0, 1.0) for x, y in axes.transData.transform(avoided) * scale]
    frame = tuple(np.asarray(axes.get_window_extent().extents) * scale)
    for row, label in labels.items():
        text = axes.annotate(
            label,
            places[row],
            xytext=(0, 0),
            textcoords="offset points",
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
        centre = drawn[row] + offset
        taken.append(_box(centre[0], centre[1], *half))
        _lead(axes, places[row], offset, half)


def _free_offset(
    point: Any, half: tuple[float, float], taken: Sequence[Box], frame: Any
) -> tuple[float, float] | None:
    others = np.array(taken)
    for dx, dy in _offsets(half):
        left, low, right, high = _box(point[0] + dx, point[1] + dy, *half)
        inside = left >= frame[0] and low >= frame[1] and right <= frame[2] and high <= frame[3]
        across = np.minimum(right, others[:, 2]) - np.maximum(left, others[:, 0])
        along = np.minimum(high, others[:, 3]) - np.maximum(low, others[:, 1])
        if inside and not ((across > 0) & (along > 0)).any():
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


def _lead(axes: Axes, place: Any, offset: tuple[float, float], half: tuple[float, float]) -> None:
    """Draw a line from a point to the nearest spot of its label, if that is far away."""
    near = (
        np.clip(0.0, offset[0] - half[0], offset[0] + half[0]),
        np.clip(0.0, offset[1] - half[1], offset[1] + half[1]),
    )
    if float(np.hypot(*near)) <= _LEADER:
        return
    axes.annotate(
        "",
        place,
        xytext=(float(near[0]), float(near[1])),
        textcoords="offset points",
        arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 3},
        zorder=2,
    ).set_in_layout(False)


def _box(x: float, y: float, width: float, height: float) -> Box:
    return x - width, y - height, x + width, y + height


# The metrics against each other as a matrix of scatter plots (Imajo 2025, figure 2).


_PANEL = 2.3  # inches of a panel
_BINS = 20
_SMALL = 60  # runs: points of more are smaller


def metric_matrix(
    study: MetricStudy,
    *,
    title: str | None = None,
    language: Language = "en",
    font: str | None = None,
) -> Figure:
    """Draw each metric against each other, its distribution, and the correlations."""
    names = study.matrix.names
    runs = with_kinds(study.runs)
    size = 5 if len(runs) <= _SMALL else 3
    pairs = {(pair.one, pair.other): pair for pair in study.matrix.pairs}
    values = runs.select(names).to_numpy()
    limits = [min(0.0, float(values.min())), 1.04 * max(1.0, float(values.max()))]
    with drawing(language, font) as look:
        side = _PANEL * len(names)
        figure = look.figure(title, "Metrics against each other", side + 0.4, side + 0.6)
        panels = figure.subplots(len(names), len(names), squeeze=False)
        for i, below in enumerate(names):
            for j, across in enumerate(names):
                axes = panels[i][j]
                if i == j:
                    _draw_distribution(axes, runs[across].to_numpy(), limits)
                elif i > j:
                    scatter(axes, runs, across, below, size=size, say=look.say)
                    axes.set(xlim=limits, ylim=limits)
                else:
                    _write_correlation(axes, pairs.get((below, across)))
                if i >= j:
                    _label_panel(axes, i, j, len(names))
                if i == len(names) - 1:
                    axes.set_xlabel(look.say(across.title()))
                if j == 0:
                    axes.set_ylabel(look.say(below.title()))
        handles, labels = panels[1][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
        said = "; ".join(f"{one}–{other} {_said(pair)}" for (one, other), pair in pairs.items())
        return finish(figure, f"{look.say('Runs')}: {len(runs)}; {said}")


def _draw_distribution(
    axes: Axes, values: np.ndarray[tuple[int], np.dtype[np.float64]], limits: list[float]
) -> None:
    axes.hist(values, bins=_BINS, range=(limits[0], limits[1]), color=COLOURS[4])
    axes.set(xlim=limits, yticks=[])
    axes.grid(visible=False)


def _write_correlation(axes: Axes, pair: Correlation | None) -> None:
    axes.set_axis_off()
    axes.set(xticks=[], yticks=[])  # or matplotlib would make some later, with settings of its own
    if pair is None:
        return
    bounds = interval_text(*pair.interval("pearson"), 3).replace(" to ", ", ")
    _write_line(axes, 0.56, f"r = {correlation_text(pair.pearson, 3)}", size=12, va="center")
    _write_line(
        axes, 0.38, f"[{bounds}]\nρ = {correlation_text(pair.spearman, 3)}", size=9, va="top"
    )


def _write_line(axes: Axes, y: float, text: str, *, size: float, va: str) -> None:
    axes.text(
        0.5,
        y,
        text.replace("-", "−"),
        ha="center",
        va=va,
        fontsize=size,
        color=INK,
        transform=axes.transAxes,
    )


def _label_panel(axes: Axes, row: int, column: int, count: int) -> None:
    """Show numbers only at the left and at the bottom; the first panel's heights are counts."""
    axes.tick_params(labelbottom=row == count - 1, labelleft=column == 0 and row > 0)
    axes.tick_params(left=column != row)


def _said(pair: Correlation) -> str:
    return f"r = {correlation_text(pair.pearson)} (n = {pair.n})"
