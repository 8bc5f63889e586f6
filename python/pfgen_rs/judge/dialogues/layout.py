"""Frames as the paper prints them: a row per author, model or version, and columns by category."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import polars as pl

from pfgen_rs.report.markup import inert

MISSING = "–"


class Grid(NamedTuple):
    """A table of texts: the first `labels` headings are those of names, the others of numbers."""

    labels: int
    headings: list[str]
    rows: list[list[str]]


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
            found[row["category"], value] = _layout_number(row[value], digits)
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


def plain(frame: pl.DataFrame, labels: int, digits: int) -> Grid:
    """Returns the frame's own columns; floats with `digits` decimals, whole numbers with separators."""
    rows = [
        [*map(str, row[:labels]), *(_layout_number(value, digits) for value in row[labels:])]
        for row in frame.rows()
    ]
    return Grid(labels, [column.replace("_", " ") for column in frame.columns], rows)


def with_intervals(frame: pl.DataFrame, labels: int, values: Sequence[str], digits: int) -> Grid:
    """Returns the columns before `values`, and each value with its interval: 0.48 [0.41, 0.55].

    The bounds are in `VALUE_low` and `VALUE_high`.
    """
    before = frame.columns[: frame.columns.index(values[0])]
    rows = []
    for row in frame.to_dicts():
        names = [str(row[name]) for name in before[:labels]]
        counts = [_layout_number(row[name], digits) for name in before[labels:]]
        shown = [
            _layout_interval(row[value], row[f"{value}_low"], row[f"{value}_high"], digits)
            for value in values
        ]
        rows.append([*names, *counts, *shown])
    headings = [name.replace("_", " ") for name in (*before, *values)]
    return Grid(labels, headings, rows)


def markdown(grid: Grid) -> str:
    """Returns the table as Markdown, with names escaped."""
    rules = [":--" if i < grid.labels else "--:" for i in range(len(grid.headings))]
    rows = [
        [*map(inert, row[: grid.labels]), *row[grid.labels :]]  # numbers are ours
        for row in grid.rows
    ]
    lines = [list(map(inert, grid.headings)), rules, *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _layout_number(value: float | None, digits: int) -> str:
    if value is None:
        return MISSING
    return f"{value:,}" if isinstance(value, int) else f"{value:.{digits}f}"


def _layout_interval(
    value: float | None, low: float | None, high: float | None, digits: int
) -> str:
    if value is None:
        return MISSING
    if low is None or high is None:
        return f"{value:.{digits}f}"
    return f"{value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"
