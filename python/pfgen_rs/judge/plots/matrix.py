"""How judges and raters agree with each other, as a matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from pfgen_rs.drawing.numbers import fixed
from pfgen_rs.drawing.saving import finish
from pfgen_rs.drawing.style import INK, drawing
from pfgen_rs.drawing.words import Language
from pfgen_rs.errors import PlotError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["agreement_matrix"]

_HEADINGS = {"kappa": "Cohen's κ", "share": "Share of equal verdicts"}
_MOST = 40  # judges and raters


def agreement_matrix(
    table: pl.DataFrame,
    *,
    value: str = "kappa",
    title: str | None = None,
    language: Language = "en",
    font: str | None = None,
) -> Figure:
    """Draw how every two judges or raters agree, as a matrix that is coloured by value.

    `table`: columns `one`, `other` and `value` (`kappa` or `share`), as `agreement.matrix.agreements` makes
    it. Raises `PlotError` if there is nothing to draw, and for more than 40 names.
    """
    if value not in _HEADINGS:
        raise PlotError(f"unknown value {value!r}: expected one of {', '.join(_HEADINGS)}")
    names = list(dict.fromkeys([*table["one"], *table["other"]]))
    if len(names) < 2:
        raise PlotError("nothing to draw: a matrix needs two judges or raters")
    if len(names) > _MOST:
        raise PlotError(f"too many judges and raters for one figure: {len(names)}, at most {_MOST}")
    cells = np.full((len(names), len(names)), np.nan)
    for one, other, number in table.select("one", "other", value).rows():
        i, j = names.index(one), names.index(other)
        if number is not None:
            cells[i, j] = cells[j, i] = number
    if not np.isfinite(cells).any():
        raise PlotError("nothing to draw: no two of them judged the same pairs")
    with drawing(language, font) as look:
        labels = [look.name(name, 40) for name in names]
        size, room = 0.9 + 0.62 * len(names), max(map(_width_of_label, labels))
        figure = look.figure(
            title, "Agreement of judges and raters", 1.8 + size + room, 1.2 + size + 0.7 * room
        )
        axes = figure.subplots()
        lowest = min(0.0, float(np.nanmin(cells)))
        image = axes.imshow(cells, cmap="cividis", vmin=lowest, vmax=1)
        _agreement_numbers(axes, cells, lowest)
        axes.set_xticks(range(len(names)), labels, rotation=40, ha="left", rotation_mode="anchor")
        axes.set_yticks(range(len(names)), labels)
        axes.xaxis.tick_top()
        axes.tick_params(length=0)
        axes.grid(visible=False)
        axes.spines[:].set_visible(False)
        bar = figure.colorbar(image, ax=axes, shrink=0.6, aspect=24, pad=0.02)
        bar.set_label(look.say(_HEADINGS[value]))
        bar.outline.set_visible(False)
        said = "; ".join(
            f"{labels[names.index(one)]} – {labels[names.index(other)]}: {number:.3f}"
            for one, other, number in table.select("one", "other", value).rows()
            if number is not None
        )
        return finish(figure, f"{look.say(_HEADINGS[value])}: {said}")


def _width_of_label(label: str) -> float:
    """Returns about how wide a label is, in inches."""
    return sum(0.08 if character.isascii() else 0.135 for character in label)


def _agreement_numbers(
    axes: Axes, cells: np.ndarray[tuple[int, int], np.dtype[np.float64]], lowest: float
) -> None:
    for i, j in zip(*np.nonzero(np.isfinite(cells)), strict=True):
        dark = cells[i, j] < (lowest + 1) / 2
        axes.text(
            j,
            i,
            fixed(cells[i, j], 2),
            ha="center",
            va="center_baseline",
            fontsize=8,
            color="white" if dark else INK,
        )
