"""What all figures share: saving as SVG and PNG, themes of pages, remarks, numbers, heat maps.

The same figure gives the same bytes.
"""

import io
import os
import re
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from pfgen_rs.drawing import style
from pfgen_rs.errors import OutputError
from pfgen_rs.io.atomic import write_atomic
from pfgen_rs.lazy import Axes, Figure, NDArray, np, pl

FORMATS = (".svg", ".png")
SVG_DPI = 72
_DPI = {"svg": SVG_DPI, "png": 150}


def fix_layout(figure: Figure) -> None:
    """Lay a figure out for the last time.

    Another pass would move things slightly, and the same figure would give different bytes. Without an
    engine, saving does not draw twice.
    """
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        with style.matplotlib_settings():  # others may have an engine by default
            figure.set_layout_engine(None)


def finish(figure: Figure, description: str) -> Figure:
    """Give a figure a description for readers who cannot see it, and fix its layout.

    Parts that matplotlib makes while drawing are made now, with the current settings.
    """
    figure.set_label(description)
    fix_layout(figure)
    figure.draw_without_rendering()
    return figure


def svg(figure: Figure) -> bytes:
    """Returns the figure as SVG; text as shapes, with `<title>` and `<desc>` for screen readers."""
    content = _saved(figure, "svg", {"Date": None, "Title": figure.get_suptitle()})
    described = f"</title>\n <desc>{escape(str(figure.get_label()))}</desc>".encode()
    content = content.replace(b"</title>", described, 1)
    return content.replace(b"<svg ", b'<svg role="img" ', 1)


def png(figure: Figure) -> bytes:
    """Returns the figure as PNG, 150 dots per inch."""
    about = {"Software": None, "Title": figure.get_suptitle(), "Description": figure.get_label()}
    return _saved(figure, "png", about)


def check_path(path: str | os.PathLike[str]) -> str:
    """Returns the suffix of a figure's file; raises `OutputError` if none can be written to it."""
    suffix = Path(path).suffix.lower()
    if not style.available():
        raise OutputError(style.NEEDED)
    if suffix not in FORMATS:
        raise OutputError(
            f"{path}: unknown format {suffix!r}: expected one of {', '.join(FORMATS)}"
        )
    return suffix


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure as SVG or PNG, by the path's suffix, atomically; raises `OutputError`."""
    suffix = check_path(path)
    write_atomic(path, svg(figure) if suffix == ".svg" else png(figure))


def _saved(figure: Figure, kind: str, about: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    with style.matplotlib_settings():
        figure.savefig(buffer, format=kind, dpi=_DPI[kind], metadata=about)
    return buffer.getvalue()


DARK = "dark"
"""The fragment of an address that shows the dark figure: `figure.svg#dark`."""

_DARK_COLOURS = {
    "#ffffff": "#1e2126",
    style.INK: "#e6e8eb",
    style.FAINT: "#a3abb5",
    style.GRID: "#3a4048",
    style.GROUND: "#463f28",
}
_COLOUR = re.compile(rb"(?<=fill: |roke: )#[0-9a-f]{6}")
_FIRST_GROUP = b'<g id="figure_1">'


def themed_svg(figure: Figure) -> bytes:
    """Returns the figure as SVG whose ground, texts and lines are light-on-dark at the fragment `#dark`.

    Colours of data stay, as they are legible on both. Within an image, the page's own colours cannot be
    known, but `:target` is what the address names.
    """
    names = {light.encode(): b"--c%d" % i for i, light in enumerate(_DARK_COLOURS)}
    content = _COLOUR.sub(
        lambda found: b"var(%b)" % names[found[0]] if found[0] in names else found[0], svg(figure)
    )
    light = _declared(list(_DARK_COLOURS))
    dark = _declared(list(_DARK_COLOURS.values()))
    rules = f'<style type="text/css">svg{{{light}}}#{DARK}:target{{{dark}}}</style>\n'.encode()
    group = b'<g id="%b">' % DARK.encode()
    return content.replace(_FIRST_GROUP, rules + group, 1)


def _declared(colours: list[str]) -> str:
    return ";".join(f"--c{i}:{colour}" for i, colour in enumerate(colours))


def panels(figure: Figure, count: int, across: int, **how: Any) -> list[Axes]:
    """Returns `count` panels, `across` of them side by side; `how`: arguments of `Figure.subplots`."""
    places = [*figure.subplots(-(-count // across), across, squeeze=False, **how).flat]
    for axes in places[count:]:
        axes.set_visible(False)
    return places[:count]


_BELOW = 0.03  # of what is above zero


def remark(axes: Axes, text: str) -> None:
    """Write a remark above a panel, on the left."""
    axes.set_title(text, loc="left", fontsize=8.5, color=style.FAINT)


def not_below_zero(axes: Axes, *, x: bool = False, y: bool = False) -> None:
    """Keep ticks below zero off axes without negative values.

    Room is left below zero, so that lines there can be seen, but less than ticks are apart.
    """
    if x and axes.dataLim.x0 >= 0 > axes.get_xlim()[0]:
        axes.set_xlim(left=-_BELOW * axes.get_xlim()[1])
    if y and axes.dataLim.y0 >= 0 > axes.get_ylim()[0]:
        axes.set_ylim(bottom=-_BELOW * axes.get_ylim()[1])


def fixed(value: float, digits: int) -> str:
    """Format a number with this many decimals and a proper minus sign, which a zero does not have.

    >>> fixed(-0.12345, 4), fixed(-0.00001, 4)
    ('−0.1235', '0.0000')
    """
    shown = f"{value:.{digits}f}"
    return shown.lstrip("-") if not float(shown) else shown.replace("-", "−")


_CELL = 0.55  # inches: labels within it need not be turned
_SMALL = 6.5  # points


def heat_map(
    axes: Axes,
    cells: "NDArray[np.float64]",
    rows: Sequence[str],
    columns: Sequence[str],
    text: Callable[[int, int], str] | None = None,
    *,
    lowest: float = 0.0,
    highest: float = 1.0,
    bar: str | None = None,
    size: float = 7.5,
    shrink: float = 0.6,
) -> None:
    """Draw numbers as coloured cells with names of rows and columns; cells that are NaN stay empty.

    `cells`: shape (rows, columns), coloured from `lowest` to `highest`; square if rows have the names of
    columns. `text`: what the cell of a row and a column says, in `size` points (default: two decimals); of
    size 0, nothing, and the columns' names are upright and small.
    `bar`: the label of the colour bar, if there is to be one, `shrink` its part of the height.
    """
    say = text or (lambda i, j: fixed(float(cells[i, j]), 2))
    aspect: Any = "equal" if list(rows) == list(columns) else "auto"
    image = axes.imshow(cells, cmap=style.HEAT_MAP, vmin=lowest, vmax=highest, aspect=aspect)
    for i, j in zip(*np.nonzero(np.isfinite(cells) if size else []), strict=True):
        colour = style.ON_DARK if cells[i, j] < (lowest + highest) / 2 else style.ON_LIGHT
        axes.text(j, i, say(i, j), ha="center", va="center_baseline", fontsize=size, color=colour)
    are_turned = room_for_labels(columns) >= _CELL
    turned: Any = {"rotation": 40, "ha": "left", "rotation_mode": "anchor"} if are_turned else {}
    if not size:
        turned = {"rotation": 90, "fontsize": _SMALL}
    axes.set_xticks(range(len(columns)), columns, **turned)
    axes.set_yticks(range(len(rows)), rows)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    if bar is not None:
        colours = axes.figure.colorbar(image, ax=axes, shrink=shrink, aspect=28, pad=0.015)
        colours.set_label(bar)
        colours.outline.set_visible(False)


def score_map(
    axes: Axes, table: "pl.DataFrame", look: style.Look, columns: Sequence[str], **how: Any
) -> None:
    """Draw scores of runs as a `heat_map` with a scale: a row for each `name`; `columns`: what is shown."""
    cells = table.drop("name").to_numpy().astype(float)
    highest = max(1.0, float(np.nanmax(cells)))
    rows, bar = look.names(table["name"]), look.say("Score")
    heat_map(axes, cells, rows, columns, highest=highest, bar=bar, **how)


def pair_map(
    axes: Axes, rows: Sequence[tuple[str, str, float]], names: Mapping[str, str], **how: Any
) -> list[str]:
    """Draw a number for every two of some names as a symmetric `heat_map`; returns it as texts.

    `rows`: two names and their number. `names`: all of them in order, as they are shown. `how`: arguments of
    `heat_map`; the lowest colour is that of 0, or of the lowest number below.
    """
    order, labels = list(names), list(names.values())
    cells = np.full((len(order), len(order)), np.nan)
    for one, other, number in rows:
        i, j = order.index(one), order.index(other)
        cells[i, j] = cells[j, i] = number
    lowest = min([0.0, *(number for _, _, number in rows)])
    heat_map(axes, cells, labels, labels, lowest=lowest, size=8, **how)
    return [f"{names[one]} – {names[other]}: {number:.3f}" for one, other, number in rows]


def room_for_labels(labels: Sequence[str]) -> float:
    """Returns about how wide the widest label is, in inches."""
    widths = ((0.08 if c.isascii() else 0.135 for c in label) for label in labels)
    return max(map(sum, widths))
