"""A table as a frame, as text like the paper's (columns by category), as a figure and as files."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pfgen_rs.drawing import figures, style
from pfgen_rs.drawing.words import Language
from pfgen_rs.errors import PlotError
from pfgen_rs.io.atomic import write_atomic
from pfgen_rs.io.table_writer import csv_text, write_parquet
from pfgen_rs.report.markup import inert

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MISSING = "–"


class Grid(NamedTuple):
    """A table of texts: the first `labels` headings are those of names, the others of numbers."""

    labels: int
    headings: list[str]
    rows: list[list[str]]


@dataclass(frozen=True, eq=False)
class Table:
    """A table: `name` (also of its files), title, frame, texts as printed, notes, and how it is drawn.

    `draw`: a function of `plots` with all but the first arguments. `drawn`: the rows that it draws, if not
    all.
    """

    name: str
    title: str
    frame: pl.DataFrame = field(repr=False)
    grid: Grid = field(repr=False)
    draw: Callable[..., Figure] | None = field(default=None, repr=False)
    notes: Sequence[str] = ()
    drawn: pl.DataFrame | None = field(default=None, repr=False)

    def markdown(self) -> str:
        """Returns the table as Markdown, with its title and notes."""
        notes = "".join(f"\n{inert(note)}.\n" for note in self.notes)
        return f"## {self.title}\n\n{_markdown(self.grid)}{notes}"

    @property
    def can_be_drawn(self) -> bool:
        """Whether there is anything to draw."""
        return self.draw is not None and not self._rows_drawn.is_empty()

    @property
    def _rows_drawn(self) -> pl.DataFrame:
        return self.frame if self.drawn is None else self.drawn

    def figure(self, *, title: str | None = None, language: Language = "en") -> Figure:
        """Draw the table.

        Raises `PlotError` if there is nothing to draw, and `OutputError` without matplotlib.
        """
        if self.draw is None or self._rows_drawn.is_empty():
            raise PlotError(f"table {self.name} has nothing to draw by category")
        with style.drawing(language) as look:
            return self.draw(self._rows_drawn, look, title)


def write_tables(
    folder: str | os.PathLike[str],
    made: Sequence[Table],
    *,
    plot: str | None = None,
    language: Language = "en",
) -> list[Path]:
    """Write each table as `table-NAME.parquet`, `.csv` and `.md`, and drawn as `.svg` or `.png`.

    `plot`: "svg", "png", or `None` for no figures. Tables without anything to draw have no figure. Returns
    the files. Raises `OutputError`.
    """
    written = []
    for table in made:
        place = Path(folder, f"table-{table.name}")
        write_parquet(place.with_suffix(".parquet"), table.frame)
        write_atomic(place.with_suffix(".csv"), csv_text(table.frame).encode())
        write_atomic(place.with_suffix(".md"), table.markdown().encode())
        written += [place.with_suffix(suffix) for suffix in (".parquet", ".csv", ".md")]
        if plot is not None and table.can_be_drawn:
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
            found[row["category"], value] = _number(row[value], digits)
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
        counts = [_number(row[name], digits) for name in before[labels:]]
        shown = [
            _interval(row[value], row[f"{value}_low"], row[f"{value}_high"], digits)
            for value in values
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


def _number(value: float | None, digits: int) -> str:
    if value is None:
        return MISSING
    return f"{value:,}" if isinstance(value, int) else f"{value:.{digits}f}"


def _interval(value: float | None, low: float | None, high: float | None, digits: int) -> str:
    if value is None:
        return MISSING
    if low is None or high is None:
        return f"{value:.{digits}f}"
    return f"{value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"
