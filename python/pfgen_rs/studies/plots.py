"""Figures of studies (requires the extra `plots`): scatter plots, and maps of correlations.

Every function takes the result of a study and returns a `matplotlib.figure.Figure`. All take `title`,
`language` (`en` or `ja`) and `font`.
"""

from typing import Unpack

from pfgen_rs.drawing import figures
from pfgen_rs.drawing.figures import png, save, svg
from pfgen_rs.drawing.style import GREY, LookOptions, drawing
from pfgen_rs.errors import PlotError
from pfgen_rs.lazy import Figure, np, pl
from pfgen_rs.report.plots import points
from pfgen_rs.studies import against, metrics

__all__ = ["against_figure", "against_scatter", "correlation_map", "png", "save", "svg"]


def against_figure(study: against.AgainstStudy, **options: Unpack[LookOptions]) -> Figure:
    """Draw the scatter plot of a study of one column, or the map of correlations of several."""
    _check_names(1 + len(study.columns))  # before all of them are correlated
    if len(study.columns) > 1:
        return correlation_map(study.matrix, **options)
    return against_scatter(study.columns[0], study.ours, **options)


def against_scatter(
    found: against.BenchmarkCorrelation, ours: str = against.OURS, **options: Unpack[LookOptions]
) -> Figure:
    """Draw a column of another benchmark against the leaderboard, with the regression line.

    Numbered are the models furthest from the line, and those with the highest and lowest figures.
    """
    runs = _numbered(found)
    with drawing(**options) as look:
        figure = look.figure(look.title, "Two benchmarks of the same models", 9.6, 6.2)
        axes = figure.subplots()
        ends = np.array([runs["figure"].min(), runs["figure"].max()])
        axes.plot(ends, found.intercept + found.slope * ends, color=GREY, linewidth=1.2, zorder=2)
        points.scatter(axes, runs, "figure", "value", size=6, say=look.say)
        own = look.say(ours) if ours == against.OURS else look.name(ours, 60)
        axes.set(xlabel=own, ylabel=look.name(found.column, 60))
        axes.margins(0.09)
        said = _told(found)
        axes.set_title(said, loc="right", fontsize=9)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=5, handletextpad=0.2)
        names = {
            int(mark): f"{mark}  {look.name(model.rpartition('/')[2] or key, 30)}"
            for mark, model, key in runs.filter("named").select("mark", "model", "key").rows()
        }
        blank = [axes.plot([], [], linestyle="none")[0] for _ in names]
        listed = [names[mark] for mark in sorted(names)]
        figure.legend(blank, listed, loc="outside right upper", handlelength=0, handletextpad=0)
        points.number_points(figure, [(axes, "figure", "value", runs)])
        named = ", ".join(found.outliers()["key"])
        description = f"{look.name(found.column, 60)}; {said}; {look.name(named, 200)}"
        return figures.finish(figure, description)


def _numbered(found: against.BenchmarkCorrelation) -> pl.DataFrame:
    """Returns the points with the `kind` of each and its `mark`, whether it is `named`, outliers first."""
    runs, keys = points.with_kinds(found.points), found.outliers()["key"].to_list()
    for column in ("figure", "value"):
        keys += [
            runs["key"][int(place or 0)]
            for place in (runs[column].arg_max(), runs[column].arg_min())
        ]
    marks = {key: str(place) for place, key in enumerate(dict.fromkeys(keys), 1)}
    return runs.with_columns(
        mark=pl.col("key").replace_strict(marks, default=None), named=pl.col("key").is_in([*marks])
    )


def _told(found: against.BenchmarkCorrelation) -> str:
    r = found.correlation
    pearson = metrics.correlation_text(r.pearson, 3)
    within = metrics.interval_text(r.pearson_low, r.pearson_high, 3).replace(" to ", ", ")
    spearman = metrics.correlation_text(r.spearman, 3)
    return _drawn(f"r = {pearson} [{within}], ρ = {spearman}, n = {r.n}")


def _drawn(number: str) -> str:
    return number.replace("-", "−")


# The correlations of several lists of figures as a map.


_HEADING = "Pearson's r"
_CLOSE = 0.99  # from here on, two decimals say nothing


def _check_names(names: int) -> None:
    """Raise `PlotError` for more names than one map shows."""
    if names > metrics.MOST_NAMES:
        raise PlotError(f"too many names for one figure: {names}, at most {metrics.MOST_NAMES}")


def correlation_map(
    matrix: metrics.CorrelationMatrix,
    *,
    usual: str = "Correlations",
    **options: Unpack[LookOptions],
) -> Figure:
    """Draw the correlations of every two names, coloured by value.

    `usual`: the title if none is given, a key of `drawing/japanese.toml`. Raises `PlotError` for more than 40
    names, and if no pair has a correlation.
    """
    names = matrix.names
    if not matrix.pairs:
        raise PlotError("nothing to draw: no two of these have a correlation")
    _check_names(len(names))
    cells = matrix.values()
    lowest = float(np.nanmin(cells[~np.eye(len(names), dtype=bool)]))
    digits = 4 if lowest > _CLOSE else 2
    with drawing(**options) as look:
        labels = [look.say(name) if name == against.OURS else look.name(name, 30) for name in names]
        room = figures.room_for_labels(labels)
        size = 1.1 + (0.62 if digits == 4 else 0.5) * len(names)
        figure = look.figure(look.title, usual, 2.0 + size + room, 1.3 + size + 0.7 * room)
        figures.heat_map(
            figure.subplots(),
            cells,
            labels,
            labels,
            lambda i, j: (
                "1" if i == j else _drawn(metrics.correlation_text(float(cells[i, j]), digits))
            ),
            lowest=lowest if digits == 4 else min(0.0, lowest),
            bar=look.say(_HEADING),
            size=7.5,
        )
        said = "; ".join(
            f"{labels[names.index(pair.one)]} – {labels[names.index(pair.other)]}: "
            f"{metrics.correlation_text(pair.pearson)} (n = {pair.n})"
            for pair in matrix.pairs
        )
        return figures.finish(figure, f"{look.say(_HEADING)}: {said}")
