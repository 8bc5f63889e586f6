"""Figures of dialogues' tables: radar charts by category, intervals, and agreement of judges."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from pfgen_rs.drawing.figures import finish, heat_map
from pfgen_rs.drawing.style import COLOURS, GREY, MARKERS, Look

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = len(COLOURS)
"""Lines on a radar chart; more would hide each other."""
_PANELS = 3  # side by side


def radar(
    table: pl.DataFrame,
    look: Look,
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
    charts = _radar_charts(table, values, panel, look)
    across = 2 if len(charts) == 4 else min(len(charts), _PANELS)
    down = math.ceil(len(charts) / across)
    figure = look.figure(title, usual, 0.8 + 4.1 * across, 1.3 + 3.7 * down)
    all_axes = figure.subplots(down, across, squeeze=False, subplot_kw={"projection": "polar"})
    for axes in all_axes.flat[len(charts) :]:
        axes.set_axis_off()
    said = []
    for axes, (heading, part, value) in zip(all_axes.flat, charts, strict=False):
        axes.set_title(heading, pad=14)
        lines = _radar_lines(part, label, value, labels, categories)
        _draw_radar(axes, lines, categories, top, look)
        said += [
            f"{heading}: {look.name(name)} {_radar_numbers(numbers, categories)}"
            for name, numbers in lines.items()
        ]
    handles, _ = all_axes.flat[0].get_legend_handles_labels()
    names = [look.name(name, 30) for name in labels]
    columns = min(len(names), 2 * across, 4)
    figure.legend(handles, names, loc="outside lower center", ncols=columns)
    return finish(figure, "; ".join(said))


def interval_points(
    table: pl.DataFrame,
    look: Look,
    title: str | None,
    *,
    label: str,
    values: Mapping[str, str],
    usual: str,
) -> Figure:
    """Draw values with their intervals (`VALUE_low`, `VALUE_high`): a panel per value, a row per label."""
    figure = look.figure(title, usual, 1.8 + 3.5 * len(values), 1.7 + 0.34 * len(table))
    panels = figure.subplots(1, len(values), sharey=True, squeeze=False)[0]
    said = []
    for axes, (value, heading) in zip(panels, values.items(), strict=True):
        axes.axvline(0, color=GREY, linewidth=0.8)
        for place, row in enumerate(table.to_dicts()):
            if row[value] is None:
                continue
            low, high = row[f"{value}_low"], row[f"{value}_high"]
            if low is not None and high is not None:
                axes.hlines(place, low, high, color=COLOURS[0], linewidth=1.6)
            axes.plot([row[value]], [place], "o", color=COLOURS[0], markersize=6)
            said.append(f"{heading}, {look.name(row[label])}: {row[value]:.3f}")
        axes.set_xlabel(look.say(heading))
        axes.grid(visible=False, axis="y")
    panels[0].set_yticks(range(len(table)), [look.name(name) for name in table[label]])
    panels[0].set_ylim(len(table) - 0.5, -0.5)
    return finish(figure, "; ".join(said))


def agreement_matrix(
    table: pl.DataFrame,
    look: Look,
    title: str | None,
    *,
    values: Mapping[str, str],
    usual: str,
) -> Figure:
    """Draw how every two judges agree (columns `judge_a`, `judge_b` and `values`): a matrix per value."""
    judges = list(dict.fromkeys([*table["judge_a"], *table["judge_b"]]))
    size = 1.2 + 0.62 * len(judges)
    figure = look.figure(title, usual, 1.6 + size * len(values), 1.6 + size)
    panels = figure.subplots(1, len(values), sharey=True, squeeze=False)[0]
    said, names = [], [look.name(judge, 20) for judge in judges]
    for axes, (value, heading) in zip(panels, values.items(), strict=True):
        cells = np.full((len(judges), len(judges)), np.nan)
        for row in table.to_dicts():
            i, j = judges.index(row["judge_a"]), judges.index(row["judge_b"])
            if row[value] is not None:
                cells[i, j] = cells[j, i] = row[value]
                said.append(f"{heading}, {names[i]} – {names[j]}: {row[value]:.3f}")
        axes.set_title(look.say(heading))
        heat_map(axes, cells, names, names, size=8)
    return finish(figure, "; ".join(said))


def _radar_charts(
    table: pl.DataFrame, values: Mapping[str, str], panel: str | None, look: Look
) -> list[tuple[str, pl.DataFrame, str]]:
    """Returns heading, rows and value column of each chart."""
    if panel is None:
        return [(look.say(heading), table, value) for value, heading in values.items()]
    [value] = values
    parts = table.partition_by(panel, maintain_order=True)
    return [(look.name(part[panel][0]), part, value) for part in parts]


def _radar_lines(
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


def _draw_radar(
    axes: Any,
    lines: Mapping[str, Sequence[float]],
    categories: Sequence[str],
    top: float | None,
    look: Look,
) -> None:
    angles = np.linspace(0, 2 * np.pi, len(categories), endpoint=False)
    axes.set_theta_offset(np.pi / 2)
    axes.set_theta_direction(-1)
    for place, (name, numbers) in enumerate(lines.items()):
        axes.plot(
            [*angles, angles[0]],
            [*numbers, numbers[0]],
            color=COLOURS[place % len(COLOURS)],
            marker=MARKERS[place % len(MARKERS)],
            markersize=4,
            linewidth=1.4,
            label=name if not name.startswith("_") else f" {name}",
        )
    axes.set_xticks(angles, [look.name(category) for category in categories])
    known = [number for numbers in lines.values() for number in numbers if math.isfinite(number)]
    axes.set_ylim(0, top or 1.05 * max(known, default=1.0))
    axes.tick_params(axis="x", pad=9)
    axes.tick_params(axis="y", labelsize=7, labelcolor=GREY)
    axes.spines["polar"].set_color(GREY)


def _radar_numbers(numbers: Sequence[float], categories: Sequence[str]) -> str:
    return ", ".join(
        f"{category} {number:.2f}"
        for category, number in zip(categories, numbers, strict=True)
        if math.isfinite(number)
    )
