"""Square matrices of numbers as coloured cells, with a name to each row and column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pfgen_rs.drawing.style import INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_matrix", "room_for_labels"]

_CELL = 0.55  # inches: labels within it need not be turned


def draw_matrix(
    axes: Axes,
    cells: NDArray[np.float64],
    labels: Sequence[str],
    text: Callable[[int, int], str],
    *,
    lowest: float,
    bar: str,
    size: float,
) -> None:
    """Draw `cells`, shape (labels, labels), coloured from `lowest` to 1; cells that are NaN stay empty.

    `text`: what the cell of a row and a column says, in `size` points. `bar`: the label of the colour bar.
    """
    image = axes.imshow(cells, cmap="cividis", vmin=lowest, vmax=1)
    for i, j in zip(*np.nonzero(np.isfinite(cells)), strict=True):
        dark = cells[i, j] < (lowest + 1) / 2
        colour = "white" if dark else INK
        axes.text(j, i, text(i, j), ha="center", va="center_baseline", fontsize=size, color=colour)
    _name_columns(axes, labels)
    axes.set_yticks(range(len(labels)), labels)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    colours = axes.figure.colorbar(image, ax=axes, shrink=0.6, aspect=24, pad=0.02)
    colours.set_label(bar)
    colours.outline.set_visible(False)


def _name_columns(axes: Axes, labels: Sequence[str]) -> None:
    if room_for_labels(labels) < _CELL:
        axes.set_xticks(range(len(labels)), labels)
    else:
        axes.set_xticks(range(len(labels)), labels, rotation=40, ha="left", rotation_mode="anchor")


def room_for_labels(labels: Sequence[str]) -> float:
    """Returns about how wide the widest label is, in inches."""
    return max(map(_width_of_label, labels))


def _width_of_label(label: str) -> float:
    return sum(0.08 if character.isascii() else 0.135 for character in label)
