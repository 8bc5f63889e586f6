"""Radar charts: values by category, one line for each label."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pfgen_rs.drawing import figures, style
from pfgen_rs.lazy import Figure, pl

MOST = len(style.COLOURS)
"""Lines on a radar chart; more would hide each other."""
_PANELS = 3  # side by side


def radar(
    table: pl.DataFrame,
    look: style.Look,
    title: str | None,
    *,
    label: str,
    values: Mapping[str, str],
    usual: str,
    panel: str | None = None,
    top: float | None = None,
) -> Figure:
    """Draw values by category on radar charts, one line per `label`.

    `table`: columns `category`, `label`, and those of `values`, whose headings (ours) are given. One chart
    per value column, or per value of the column `panel`. `top`: end of the axis (default: the largest
    value). `usual`: the title unless `title` is given. The first 7 labels are drawn.
    """
    categories = table["category"].unique(maintain_order=True).to_list()
    labels = table[label].unique(maintain_order=True).to_list()[:MOST]
    charts = _charts(table, values, panel, look)
    across = 2 if len(charts) == 4 else min(len(charts), _PANELS)
    down = math.ceil(len(charts) / across)
    figure = look.figure(title, usual, 0.8 + 4.1 * across, 1.3 + 3.7 * down)
    all_axes = figure.subplots(down, across, squeeze=False, subplot_kw={"projection": "polar"})
    for axes in all_axes.flat[len(charts) :]:
        axes.set_axis_off()
    said = []
    for axes, (heading, part, value) in zip(all_axes.flat, charts, strict=False):
        axes.set_title(heading, pad=14)
        lines = _lines(part, label, value, labels, categories)
        _draw(axes, lines, categories, top, look)
        said += [
            f"{heading}: {look.name(name)} {_numbers(numbers, categories)}"
            for name, numbers in lines.items()
        ]
    handles, _ = all_axes.flat[0].get_legend_handles_labels()
    names = [look.name(name, 30) for name in labels]
    columns = min(len(names), 2 * across, 4)
    figure.legend(handles, names, loc="outside lower center", ncols=columns)
    return figures.finish(figure, "; ".join(said))


def _charts(
    table: pl.DataFrame, values: Mapping[str, str], panel: str | None, look: style.Look
) -> list[tuple[str, pl.DataFrame, str]]:
    """Returns heading, rows and value column of each chart."""
    if panel is None:
        return [(look.say(heading), table, value) for value, heading in values.items()]
    [value] = values
    parts = table.partition_by(panel, maintain_order=True)
    return [(look.name(part[panel][0]), part, value) for part in parts]


def _lines(
    part: pl.DataFrame,
    label: str,
    value: str,
    labels: Sequence[str],
    categories: Sequence[str],
) -> dict[str, list[float]]:
    """Returns the values of each label in the order of the categories, NaN where there is none."""
    found = {name: [math.nan] * len(categories) for name in labels}
    places = {category: i for i, category in enumerate(categories)}
    for name, category, number in part.select(label, "category", value).rows():
        if name in found and number is not None:
            found[name][places[category]] = number
    return found


def _draw(
    axes: Any,
    lines: Mapping[str, Sequence[float]],
    categories: Sequence[str],
    top: float | None,
    look: style.Look,
) -> None:
    set_axes(axes, [look.name(category) for category in categories])
    for place, (name, numbers) in enumerate(lines.items()):
        add_line(axes, place, numbers, name if not name.startswith("_") else f" {name}")
    known = [number for numbers in lines.values() for number in numbers if math.isfinite(number)]
    axes.set_ylim(0, top or 1.05 * max(known, default=1.0))
    axes.tick_params(axis="y", labelsize=7, labelcolor=style.GREY)
    axes.spines["polar"].set_color(style.GREY)


def set_axes(axes: Any, labels: Sequence[str], **text: Any) -> None:
    """Name the axes around a centre, the first above it, the others clockwise."""
    axes.set_theta_offset(math.pi / 2)
    axes.set_theta_direction(-1)
    axes.set_xticks(_angles(len(labels)), labels, **text)
    axes.tick_params(axis="x", pad=9)


def add_line(
    axes: Any, place: int, values: Sequence[float], label: str, *, filled: bool = False
) -> None:
    """Draw one closed line, open where a value is NaN; `place`: its number, which its looks follow from."""
    angles = _angles(len(values))
    colour = style.COLOURS[place % len(style.COLOURS)]
    around = [*angles, angles[0]], [*values, values[0]]
    axes.plot(
        *around,
        color=colour,
        linestyle=style.DASHES[place // len(style.COLOURS) % len(style.DASHES)],
        marker=style.MARKERS[place % len(style.MARKERS)],
        markersize=4.5,
        linewidth=1.8,
        label=label,
        clip_on=False,
        zorder=3,
    )
    if filled and not any(map(math.isnan, values)):
        axes.fill(*around, color=colour, alpha=0.08, linewidth=0)


def _angles(number: int) -> list[float]:
    return [2 * math.pi * place / number for place in range(number)]


def _numbers(numbers: Sequence[float], categories: Sequence[str]) -> str:
    return ", ".join(
        f"{category} {number:.2f}"
        for category, number in zip(categories, numbers, strict=True)
        if math.isfinite(number)
    )
