"""A table as a frame, as text like the paper's (columns by category), as a figure and as files."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pfgen_rs.drawing import figures, style
from pfgen_rs.errors import PlotError
from pfgen_rs.io import atomic, table_writer
from pfgen_rs.io.text import inert
from pfgen_rs.lazy import Figure, pl

MISSING = "–"


Draw = Callable[[style.Look, str | None], Figure]
"""Draws a table with a title, or its usual one."""


class Grid(NamedTuple):
    """A table of texts: the first `labels` headings are those of names, the others of numbers."""

    labels: int
    headings: list[str]
    rows: list[list[str]]


@dataclass(frozen=True, eq=False)
class Table:
    """A table: `name` (also of its files), title, frame, texts as printed, notes, and how it is drawn.

    `draw`: as `drawing` returns it.
    """

    name: str
    title: str
    frame: pl.DataFrame = field(repr=False)
    grid: Grid = field(repr=False)
    draw: Draw | None = field(default=None, repr=False)
    notes: Sequence[str] = ()

    def markdown(self) -> str:
        """Returns the table as Markdown, with its title and notes."""
        notes = "".join(f"\n{inert(note)}.\n" for note in self.notes)
        return f"## {self.title}\n\n{_markdown(self.grid)}{notes}"

    def figure(self, *, title: str | None = None, language: style.Language = "en") -> Figure:
        """Draw the table.

        Raises `PlotError` if there is nothing to draw, and `OutputError` without matplotlib.
        """
        if self.draw is None:
            raise PlotError(f"table {self.name} has nothing to draw by category")
        with style.drawing(language) as look:
            return self.draw(look, title)


def drawing(draw: Callable[..., Figure], rows: pl.DataFrame, **how: Any) -> Draw | None:
    """Returns how a table is drawn by a function of this module: its `rows`, which may be none."""
    return None if rows.is_empty() else lambda look, title: draw(rows, look, title, **how)


def write_tables(
    folder: str | os.PathLike[str],
    made: Sequence[Table],
    *,
    plot: str | None = None,
    language: style.Language = "en",
) -> list[Path]:
    """Write each table as `table-NAME.parquet`, `.csv` and `.md`, and drawn as `.svg` or `.png`.

    `plot`: "svg", "png", or `None` for no figures. Tables without anything to draw have no figure. Returns
    the files. Raises `OutputError`.
    """
    written = []
    for table in made:
        place = Path(folder, f"table-{table.name}")
        table_writer.write_parquet(place.with_suffix(".parquet"), table.frame)
        atomic.write_atomic(place.with_suffix(".csv"), table_writer.csv_text(table.frame).encode())
        atomic.write_atomic(place.with_suffix(".md"), table.markdown().encode())
        written += [place.with_suffix(suffix) for suffix in (".parquet", ".csv", ".md")]
        if plot is not None and table.draw is not None:
            figures.save(table.figure(language=language), place.with_suffix(f".{plot}"))
            written.append(place.with_suffix(f".{plot}"))
    return written


def by_category(
    frame: pl.DataFrame, labels: Sequence[str], values: Mapping[str, str], digits: int
) -> Grid:
    """Returns one row per combination of `labels`, and for each category one column per value.

    `frame`: one row per combination and category (column `category`). `values`: headings of value columns;
    with only one, the heading is the category alone.
    """
    categories = frame["category"].unique(maintain_order=True).to_list()
    cells: dict[tuple[str, ...], dict[tuple[str, str], str]] = {}
    for row in frame.to_dicts():
        found = cells.setdefault(tuple(str(row[label]) for label in labels), {})
        for value in values:
            found[row["category"], value] = _cell(row[value], digits)
    columns = [(category, value) for category in categories for value in values]
    headings = [
        category if len(values) == 1 else f"{category}, {values[value]}"
        for category, value in columns
    ]
    rows = [
        [*names, *(found.get(column, MISSING) for column in columns)]
        for names, found in cells.items()
    ]
    return Grid(len(labels), [*labels, *headings], rows)


def with_intervals(
    frame: pl.DataFrame, labels: int, values: Sequence[str] = (), digits: int = 0
) -> Grid:
    """Returns the columns before `values`, and each value with its interval: 0.48 [0.41, 0.55].

    The bounds are in `VALUE_low` and `VALUE_high`.
    """
    before = frame.columns[: frame.columns.index(values[0])] if values else frame.columns
    rows = []
    for row in frame.to_dicts():
        names = [str(row[name]) for name in before[:labels]]
        counts = [_cell(row[name], digits) for name in before[labels:]]
        shown = [
            _cell(row[value], digits, row[f"{value}_low"], row[f"{value}_high"]) for value in values
        ]
        rows.append([*names, *counts, *shown])
    headings = [name.replace("_", " ") for name in (*before, *values)]
    return Grid(labels, headings, rows)


def _markdown(grid: Grid) -> str:
    """Returns the table as Markdown, with names escaped."""
    rules = [":--" if i < grid.labels else "--:" for i in range(len(grid.headings))]
    rows = [
        [*map(inert, row[: grid.labels]), *row[grid.labels :]]  # numbers are ours
        for row in grid.rows
    ]
    lines = [list(map(inert, grid.headings)), rules, *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(
    value: float | None, digits: int, low: float | None = None, high: float | None = None
) -> str:
    if value is None:
        return MISSING
    shown = f"{value:,}" if isinstance(value, int) else f"{value:.{digits}f}"
    return (
        shown if low is None or high is None else f"{shown} [{low:.{digits}f}, {high:.{digits}f}]"
    )


# Figures: intervals, and agreement of judges; `drawing.radar` draws values by category.


def interval_points(
    table: pl.DataFrame,
    look: style.Look,
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
        axes.axvline(0, color=style.GREY, linewidth=0.8)
        for place, row in enumerate(table.to_dicts()):
            if row[value] is None:
                continue
            low, high = row[f"{value}_low"], row[f"{value}_high"]
            if low is not None and high is not None:
                axes.hlines(place, low, high, color=style.COLOURS[0], linewidth=1.6)
            axes.plot([row[value]], [place], "o", color=style.COLOURS[0], markersize=6)
            said.append(f"{heading}, {look.name(row[label])}: {row[value]:.3f}")
        axes.set_xlabel(look.say(heading))
        axes.grid(visible=False, axis="y")
    panels[0].set_yticks(range(len(table)), [look.name(name) for name in table[label]])
    panels[0].set_ylim(len(table) - 0.5, -0.5)
    return figures.finish(figure, "; ".join(said))


def agreement_matrix(
    table: pl.DataFrame,
    look: style.Look,
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
    said, names = list[str](), {judge: look.name(judge, 20) for judge in judges}
    for axes, (value, heading) in zip(panels, values.items(), strict=True):
        axes.set_title(look.say(heading))
        rows = table.select("judge_a", "judge_b", value).drop_nulls(value).rows()
        told = figures.pair_map(axes, rows, names)
        said += [f"{heading}, {each}" for each in told]
    return figures.finish(figure, "; ".join(said))
