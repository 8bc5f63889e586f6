"""How judges and raters agree with each other, as a matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from pfgen_rs.drawing.figures import draw_matrix, finish, fixed, room_for_labels
from pfgen_rs.drawing.style import drawing
from pfgen_rs.drawing.words import Language
from pfgen_rs.errors import PlotError

if TYPE_CHECKING:
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
        size, room = 0.9 + 0.62 * len(names), room_for_labels(labels)
        figure = look.figure(
            title, "Agreement of judges and raters", 1.8 + size + room, 1.2 + size + 0.7 * room
        )
        draw_matrix(
            figure.subplots(),
            cells,
            labels,
            lambda i, j: fixed(cells[i, j], 2),
            lowest=min(0.0, float(np.nanmin(cells))),
            bar=look.say(_HEADINGS[value]),
            size=8,
        )
        said = "; ".join(
            f"{labels[names.index(one)]} – {labels[names.index(other)]}: {number:.3f}"
            for one, other, number in table.select("one", "other", value).rows()
            if number is not None
        )
        return finish(figure, f"{look.say(_HEADINGS[value])}: {said}")
