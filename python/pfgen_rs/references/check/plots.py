"""Plots of a check as SVG, with matplotlib (the extra `plots`) and colour-blind safe colours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import cycle
from typing import TYPE_CHECKING, Any

import polars as pl

from pfgen_rs.drawing.figures import finish, fixed, svg
from pfgen_rs.drawing.style import COLOURS, DASHES, Look, drawing
from pfgen_rs.metrics.names import BY_SOURCE, COLUMNS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["TITLES", "draw_check_plots"]

Tables = Mapping[str, pl.DataFrame]

TITLES = {
    "lengths": "Lengths of the reference answers",
    "self_scores": "Reference answers scored against the others of their question",
    "coverage": "Share of the example answers' n-grams found in the set",
    "sources": "Sources scored against each other",
    "shrinking": "Runs scored with smaller sets",
}
_POINTS = 500


def draw_check_plots(tables: Tables) -> dict[str, bytes]:
    """Draw the plots in `TITLES` for which there are rows; equal tables give equal bytes.

    Raises `OutputError` if matplotlib is missing.
    """
    with drawing() as look:
        return {
            name: _drawn_check_plot(look, name, tables)
            for name in TITLES
            if _has_check_plot_rows(tables, name)
        }


def _drawn_check_plot(look: Look, name: str, tables: Tables) -> bytes:
    figure = look.figure(None, TITLES[name], _plot_width(name, tables), 3.6)
    _DRAWINGS[name](look, figure.subplots(), tables)
    return svg(finish(figure, TITLES[name]))


def _has_check_plot_rows(tables: Tables, name: str) -> bool:
    return name in tables and not tables[name].is_empty()


def _plot_width(name: str, tables: Tables) -> float:
    """Returns the width in inches; the plot of sources grows with their number."""
    return 2.4 + 0.8 * max(len(_check_plot_questions(tables)), 4) if name == "sources" else 6.4


def _draw_check_lines(
    look: Look, axes: Axes, lines: Mapping[str, tuple[list[Any], list[Any]]]
) -> None:
    """Draw lines that differ in colour and style, with a legend."""
    looks = zip(cycle(COLOURS), cycle(DASHES), strict=False)
    for (name, (x, y)), (colour, style) in zip(lines.items(), looks, strict=False):
        axes.plot(x, y, style, color=colour, label=look.name(name))
    axes.legend()


def _check_plot_of_lengths(look: Look, axes: Axes, tables: Tables) -> None:
    counts = tables["length_histogram"].group_by("source", "length").agg(pl.col("answers").sum())
    lines = {}
    for source in dict.fromkeys(tables["length_histogram"]["source"]):
        part = counts.filter(pl.col("source") == source).sort("length")
        lines[source] = (part["length"].to_list(), part["answers"].to_list())
    _draw_check_lines(look, axes, lines)
    axes.locator_params(axis="x", integer=True)
    axes.set_xlabel("characters")
    axes.set_ylabel("answers")
    axes.set_ylim(bottom=0)


def _check_plot_self_scores(look: Look, axes: Axes, tables: Tables) -> None:
    lines = {}
    for metric in COLUMNS:
        values = tables["self_scores"][metric].drop_nulls().sort().to_list()
        # The cumulative distribution, which does not depend on bin widths.
        places = sorted({round(i * (len(values) - 1) / _POINTS) for i in range(_POINTS + 1)})
        if values:
            shares = [(place + 1) / len(values) for place in places]
            lines[metric] = ([values[place] for place in places], shares)
    _draw_check_lines(look, axes, lines)
    axes.set_xlabel("score against the other answers")
    axes.set_ylabel("share of answers up to this score")


def _check_plot_of_coverage(look: Look, axes: Axes, tables: Tables) -> None:
    table = tables["coverage"]
    columns = [name for name in table.columns if name.startswith("known_")]
    lines = {}
    for source in dict.fromkeys(table["source"]):
        part = table.filter(pl.col("source") == source)
        means = [part[name].mean() for name in columns]
        lines[source] = ([int(name.removeprefix("known_")) for name in columns], means)
    _draw_check_lines(look, axes, lines)
    axes.set_xlabel("n")
    axes.set_ylabel("share found, mean over questions")
    axes.set_ylim(0, 1.02)


def _check_plot_of_sources(look: Look, axes: Axes, tables: Tables) -> None:
    table = tables["sources_overall"]
    names = _check_plot_questions(tables)
    found = {(row["source"], row["against"]): row["both"] for row in table.to_dicts()}
    values = [[found.get((one, other)) for other in names] for one in names]
    shown = [[float("nan") if value is None else value for value in row] for row in values]
    axes.grid(visible=False)
    axes.imshow(shown, cmap="cividis", vmin=0, vmax=1)
    for row, line in enumerate(values):
        for column, value in enumerate(line):
            if value is not None:
                colour = "white" if value < 0.5 else "black"
                axes.text(column, row, fixed(value, 2), ha="center", va="center", color=colour)
    labels = [look.name(name) for name in names]
    axes.set_xticks(range(len(names)), labels)
    axes.set_yticks(range(len(names)), labels)
    axes.set_xlabel("scored against")
    axes.set_ylabel("answers of")


def _check_plot_questions(tables: Tables) -> list[str]:
    table = tables["sources_overall"]
    return list(dict.fromkeys([*table["source"], *table["against"]]))


def _check_plot_of_shrinking(look: Look, axes: Axes, tables: Tables) -> None:
    lines = {}
    for metric in BY_SOURCE:
        part = tables["shrinking"].filter(pl.col("metric") == metric)
        means = part.group_by("size", maintain_order=True).agg(pl.col("mean_difference").mean())
        lines[metric] = (means["size"].to_list(), means["mean_difference"].to_list())
    _draw_check_lines(look, axes, lines)
    axes.set_xscale("log")
    axes.set_xticks(sizes := lines["fluency"][0], [str(size) for size in sizes])
    axes.minorticks_off()
    axes.set_xlabel("answers per source")
    axes.set_ylabel("mean difference of the runs' scores")
    axes.set_ylim(bottom=0)


_DRAWINGS: dict[str, Callable[[Look, Axes, Tables], None]] = {
    "lengths": _check_plot_of_lengths,
    "self_scores": _check_plot_self_scores,
    "coverage": _check_plot_of_coverage,
    "sources": _check_plot_of_sources,
    "shrinking": _check_plot_of_shrinking,
}
