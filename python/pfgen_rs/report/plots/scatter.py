"""Scatter plots with a point per run: any column against any other, over the list of runs."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple, Unpack

from pfgen_rs.drawing.figures import finish, fixed, not_below_zero, remark
from pfgen_rs.drawing.style import COLOURS, GREY, GROUND, Look, LookOptions, drawing
from pfgen_rs.errors import PlotError
from pfgen_rs.lazy import Axes, Figure, Floats, np, pl
from pfgen_rs.metrics.settings import Settings
from pfgen_rs.metrics.signature import lengths_in
from pfgen_rs.report.plot_kinds import Plot, plot_kind
from pfgen_rs.report.plots import points
from pfgen_rs.report.plots.columns import label, table_of
from pfgen_rs.report.plots.inputs import PlotRequest, drawable, run_columns
from pfgen_rs.stats.correlation import regression_line

Logarithmic = Literal["x", "y", "xy", "none"]
_LOGARITHMIC = ("parameters", "price", "cost")  # unless asked otherwise
_FAMILY = "family"
_FEWEST = 4  # runs for a line, and on a page unless a site has fewer
_COLUMNS = 3  # of the list
_PANELS, _LINE = 3.9, 0.165  # inches
_LEVEL = 0.95
_PLACES = 100  # along a line
_FIT = "line: least squares, band: its {level} % interval"
_DISCOUNT = "shaded: length discount ({start}–{stop} {unit})"
_BOTH = "{shown} of {count} runs, those with both values"


class Panel(NamedTuple):
    """Runs as points. `draw`: adds to the axes what there is beside points; returns what it tells."""

    runs: "pl.DataFrame"
    x: str
    y: str
    labels: tuple[str, str]
    draw: Callable[[Axes], str]


def draw_panels(look: Look, usual: str, listed: "pl.DataFrame", shown: Sequence[Panel]) -> Figure:
    """Draw panels side by side, above the list of runs (`points.numbered_points`)."""
    room = _LINE * points.list_height(len(listed), _COLUMNS)
    figure = look.figure(look.title, usual, 12.2, _PANELS + 0.4 + room)
    grid = figure.add_gridspec(2, len(shown), height_ratios=(_PANELS, room))
    points.list_runs(figure.add_subplot(grid[1, :]), listed, look, _COLUMNS)
    told, drawn = [f"{look.say('Runs')}: {len(listed)}"], []
    for place, panel in enumerate(shown):
        axes = figure.add_subplot(grid[0, place])
        points.scatter(axes, panel.runs, panel.x, panel.y)
        axes.set(xlabel=panel.labels[0], ylabel=panel.labels[1])
        told.append(panel.draw(axes))
        drawn.append((axes, panel.x, panel.y, panel.runs))
    points.number_points(figure, drawn)
    return finish(figure, "; ".join(filter(None, told)))


def correlation_text(runs: "pl.DataFrame", one: Floats, other: Floats) -> str:
    """Returns Pearson's correlation over `numbered` runs other than system runs, and their number.

    With four decimals, or a dash if it is undefined. Reference answers scored against themselves are far from
    all models, which would look like agreement.
    """
    models = (runs["kind"] != "system").to_numpy()
    one, other = one[models], other[models]
    constant = len(set(one)) < 2 or len(set(other)) < 2
    r = "–" if constant else fixed(np.corrcoef(one, other)[0, 1], 4)
    return f"r = {r} (n = {len(one)})"


def _scatter(usual: str, request: PlotRequest) -> Plot:
    """Returns a scatter plot; `usual`: the column x unless another is asked for."""
    if usual == "cost" and all(own.get("cost") is None for own in request.known.values()):
        usual = "price"
    x, y = request.x or usual, request.y or "score"
    join = request.join or _FAMILY
    table = table_of(request, [x, y, *([request.join] if request.join else [])])
    both = table.filter(pl.all_horizontal(pl.col(x, y).is_not_null()))
    draw = partial(scatter, table, x, y, log=request.log, join=join)
    notes = [*request.inputs.notes, *points.cut_note(_BOTH, len(both), len(table))]
    notes += points.numbered_note(len(both))
    return Plot(
        run_columns(both, (x, y, join)),
        draw,
        notes,
        suits_site=len(both) >= min(_FEWEST, len(table)),
    )


for _name, _column, _summary, _more in (
    ("scatter", "parameters", "any column against any other", ["x"]),
    ("size", "parameters", "score against number of parameters", []),
    ("released", "released", "score against date of release", []),
    ("length", "length", "score against mean length", []),
    ("cost", "cost", "score against cost or, where no cost is known, price", []),
):
    _options = [*_more, "y", "log", "join"]
    plot_kind(_name, _summary, options=_options, of_sites=not _more)(partial(_scatter, _column))


def scatter(
    runs: "pl.DataFrame",
    x: str,
    y: str = "score",
    *,
    log: Logarithmic | None = None,
    join: str = _FAMILY,
    **options: Unpack[LookOptions],
) -> Figure:
    """Draw a column against another, with the line of least squares over models and its 95 % interval.

    `runs`: columns `model`, `mode`, `score`, and those drawn: numbers or dates. Runs that lack one are left
    out. The axis of lengths is shaded where they are discounted. `log`: the axes that are logarithmic
    (default: those of sizes and prices); the line is fitted to logarithms there, and runs that are not above
    zero are left out. `join`: column, if there is one, whose equal values are joined by a line. Raises
    `PlotError` if there is nothing to draw.
    """
    if x == y:
        raise PlotError(f"{x!r} against itself: choose two columns")
    sides = {"x": x, "y": y}
    scaled = [key for side, key in sides.items() if (side in log if log else key in _LOGARITHMIC)]
    found = drawable(runs, ["model", "mode"], ["score", x, y])
    found = found.filter(pl.all_horizontal(pl.lit(True), *(pl.col(key) > 0 for key in scaled)))
    if found.is_empty():
        raise PlotError("nothing to draw: no run is above zero on a logarithmic axis")
    joined = pl.col(join) if join in found.columns else pl.lit(None, pl.String)
    found = points.numbered_points(found.with_columns(joined=joined))
    dates = [key for key in (x, y) if runs.schema[key].is_temporal()]
    with drawing(**options) as look:
        labels = (_label(x, found, look), _label(y, found, look))

        def draw(axes: Axes) -> str:
            plain = {side: key not in (*dates, *scaled) for side, key in sides.items()}
            not_below_zero(axes, **plain)
            for side, key in sides.items():
                _set_scale(axes, side, is_date=key in dates, is_logarithmic=key in scaled)
            models = found.filter(pl.col("kind") != "system").drop_nulls("joined").sort(x)
            for part in models.partition_by("joined"):
                places = part[x].to_numpy(), part[y].to_numpy()
                axes.plot(*places, color=GREY, linewidth=1, zorder=2)
            said = _fit(axes, found, (x, y), scaled)
            axes.set_title(said, loc="right", fontsize=9)
            told = [points.cut_in_figure(look, _BOTH, len(found), len(runs))]
            told += [look.say(_FIT).format(level=f"{100 * _LEVEL:g}")] * bool(said)
            told += [_shade_discount(axes, found, look)] if x == "length" else []
            remark(axes, "; ".join(filter(None, told)))
            return f"{labels[0]} – {labels[1]} {said}"

        title = look.say("{y} against {x}").format(x=labels[0], y=labels[1])
        titled = replace(look, title=look.title or title)
        return draw_panels(titled, title, found, [Panel(found, x, y, labels, draw)])


def _label(column: str, runs: "pl.DataFrame", look: Look) -> str:
    unit = None
    if column == "price" and "currency" in runs.columns:
        unit = look.name(runs["currency"][0], 12)
    elif column == "length":
        unit = look.say(f"{_lengths(runs).unit}s")
    return label(column, look) + (f" ({unit})" if unit else "")


def _lengths(runs: "pl.DataFrame") -> Settings:
    return lengths_in(next(iter(runs["signature"]), "") if "signature" in runs.columns else "")


def _shade_discount(axes: Axes, runs: "pl.DataFrame", look: Look) -> str:
    """Shade the lengths from where answers cost points to where nothing counts; returns what it says."""
    lengths = _lengths(runs)
    start, stop = lengths.target_length, lengths.zero_length
    axes.axvspan(start, stop, color=GROUND, zorder=0, linewidth=0)
    return look.say(_DISCOUNT).format(start=start, stop=stop, unit=look.say(f"{lengths.unit}s"))


def _set_scale(axes: Axes, side: str, *, is_date: bool, is_logarithmic: bool) -> None:
    from matplotlib import ticker

    axis: Any = axes.xaxis if side == "x" else axes.yaxis
    if is_date:
        axis.axis_date()
    elif is_logarithmic:
        (axes.set_xscale if side == "x" else axes.set_yscale)("log")
        axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(lambda value, _: f"{value:,g}")
        axis.set_minor_locator(ticker.NullLocator())


def _fit(axes: Axes, runs: "pl.DataFrame", columns: tuple[str, str], scaled: Sequence[str]) -> str:
    """Draw the line through models and its interval, and say how they correlate; nothing for a few models."""
    values = {key: runs[key].to_numpy() for key in columns}
    x, y = (np.log10(own) if key in scaled else own for key, own in values.items())
    models = (runs["kind"] != "system").to_numpy()
    if models.sum() < _FEWEST or np.ptp(x[models]) == 0:
        return ""
    at = np.linspace(x[models].min(), x[models].max(), _PLACES)
    bands = regression_line(x[models], y[models]).band(at, _LEVEL)
    across = 10**at if columns[0] in scaled else at
    middle, low, high = (10**band if columns[1] in scaled else band for band in bands)
    axes.fill_between(across, low, high, color=COLOURS[0], alpha=0.13, linewidth=0, zorder=1)
    axes.plot(across, middle, color=COLOURS[0], linestyle="--", linewidth=1.2, zorder=1)
    return correlation_text(runs, x, y)
