"""The correlations of several lists of figures as a map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pfgen_rs.drawing.saving import finish
from pfgen_rs.drawing.style import INK, drawing
from pfgen_rs.drawing.words import Language
from pfgen_rs.errors import PlotError
from pfgen_rs.studies.against_result import OURS
from pfgen_rs.studies.correlations import MOST_NAMES, CorrelationMatrix, Statistic
from pfgen_rs.studies.markdown import correlation_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["check_name_count", "correlation_map"]

_HEADINGS = {"pearson": "Pearson's r", "spearman": "Spearman's ρ"}
_CELL = 0.55  # inches: labels within it need not be turned
_CLOSE = 0.99  # from here on, two decimals say nothing


def check_name_count(names: int) -> None:
    """Raise `PlotError` for more names than one map shows."""
    if names > MOST_NAMES:
        raise PlotError(f"too many names for one figure: {names}, at most {MOST_NAMES}")


def correlation_map(
    matrix: CorrelationMatrix,
    *,
    statistic: Statistic = "pearson",
    usual: str = "Correlations",
    title: str | None = None,
    language: Language = "en",
    font: str | None = None,
) -> Figure:
    """Draw the correlations of every two names, coloured by value.

    `usual`: the title if none is given, a key of `drawing.words`. Raises `PlotError` for more than 40 names,
    and if no pair has a correlation.
    """
    names = matrix.names
    if not matrix.pairs:
        raise PlotError("nothing to draw: no two of these have a correlation")
    check_name_count(len(names))
    cells = matrix.values(statistic)
    others = cells[~np.eye(len(names), dtype=bool)]
    lowest, digits = float(np.nanmin(others)), 4 if np.nanmin(others) > _CLOSE else 2
    with drawing(language, font) as look:
        labels = [look.say(name) if name == OURS else look.name(name, 30) for name in names]
        room = max(map(_width_of_label, labels))
        size = 1.1 + (0.62 if digits == 4 else 0.5) * len(names)
        figure = look.figure(title, usual, 2.0 + size + room, 1.3 + size + 0.7 * room)
        axes = figure.subplots()
        bottom = lowest if digits == 4 else min(0.0, lowest)
        image = axes.imshow(cells, cmap="cividis", vmin=bottom, vmax=1)
        _write_coefficients(axes, cells, bottom, digits)
        _name_columns(axes, labels)
        axes.set_yticks(range(len(names)), labels)
        axes.xaxis.tick_top()
        axes.tick_params(length=0)
        axes.grid(visible=False)
        axes.spines[:].set_visible(False)
        bar = figure.colorbar(image, ax=axes, shrink=0.6, aspect=24, pad=0.02)
        bar.set_label(look.say(_HEADINGS[statistic]))
        bar.outline.set_visible(False)
        said = "; ".join(
            f"{labels[names.index(pair.one)]} – {labels[names.index(pair.other)]}: "
            f"{correlation_text(getattr(pair, statistic))} (n = {pair.n})"
            for pair in matrix.pairs
        )
        return finish(figure, f"{look.say(_HEADINGS[statistic])}: {said}")


def _write_coefficients(axes: Axes, cells: NDArray[np.float64], bottom: float, digits: int) -> None:
    for i, j in zip(*np.nonzero(np.isfinite(cells)), strict=True):
        text = "1" if i == j else correlation_text(float(cells[i, j]), digits)
        axes.text(
            j,
            i,
            text.replace("-", "−"),
            ha="center",
            va="center_baseline",
            fontsize=7.5,
            color="white" if cells[i, j] < (bottom + 1) / 2 else INK,
        )


def _name_columns(axes: Axes, labels: Sequence[str]) -> None:
    if max(map(_width_of_label, labels)) < _CELL:
        axes.set_xticks(range(len(labels)), labels)
    else:
        axes.set_xticks(range(len(labels)), labels, rotation=40, ha="left", rotation_mode="anchor")


def _width_of_label(label: str) -> float:
    """Returns about how wide a label is, in inches."""
    return sum(0.08 if character.isascii() else 0.135 for character in label)
