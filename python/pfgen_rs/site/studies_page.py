"""The page of studies: how the score agrees with the figures of other benchmarks."""

import math
from collections.abc import Iterator
from typing import NamedTuple

from pfgen_rs.errors import InputError
from pfgen_rs.report.site.board import Board, Cell, Column, Section, Value
from pfgen_rs.report.site.folder import digest_of
from pfgen_rs.report.site.pages import Frame, render
from pfgen_rs.stats.correlation_tests import partial_correlation
from pfgen_rs.studies.metrics import Correlation, correlate

PATH = "studies/index.html"
_NO_BENCHMARKS = ("pfgen", "categories", "facts", "training", "cost")  # groups of columns


class Agreement(NamedTuple):
    """The score's correlations with a column, and Pearson's r given the logarithm of parameters.

    `sized`: how many of the models have a known number of parameters.
    """

    column: Column
    correlation: Correlation
    partial: float | None
    sized: int


def agreements(board: Board) -> list[Agreement]:
    """Returns the agreement of each model's best score with each column, the highest Pearson's r first.

    Over models that have both, at least three; columns of which nothing can be said are left out.
    """
    found = []
    for column in board.columns:
        if column.kind != "number" or column.group in _NO_BENCHMARKS:
            continue
        points = list(_points(board, column.key))
        sized = [(score, figure, math.log10(size)) for score, figure, size in points if size]
        try:
            known = correlate("", [p[0] for p in points], "", [p[1] for p in points])
        except InputError:  # too few, or all equal
            continue
        score, figure, size = zip(*sized, strict=True) if sized else ((), (), ())
        partial = partial_correlation(score, figure, [size])
        found.append(Agreement(column, known, partial, len(sized)))
    return sorted(found, key=lambda one: -one.correlation.pearson)


def _points(board: Board, key: str) -> Iterator[tuple[float, float, float]]:
    """Yields score, figure and billions of parameters (0: not known) of the models that have the figure."""
    for model in board.models:
        figure = _number(model.values.get(key))
        if model.runs and not model.is_system and figure is not None:
            yield model.runs[0].score, figure, _number(model.values.get("parameters")) or 0.0


def _number(cell: Cell) -> float | None:
    value = cell.value if isinstance(cell, Value) else cell
    return value if isinstance(value, int | float) and math.isfinite(value) else None


def studies_section(board: Board) -> list[Section]:
    """Returns the page; none if no figure of another benchmark has three models in common with the runs."""
    found = agreements(board)
    if not found:
        return []

    def files(frame: Frame) -> Iterator[tuple[str, bytes]]:
        yield PATH, render("studies", frame=frame, found=found, groups=board.groups)

    return [Section("studies", "Studies", PATH, digest_of(repr(found)), files)]
