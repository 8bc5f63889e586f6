"""The correlations of several lists of figures as a map."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pfgen_rs.drawing.matrices import draw_matrix, room_for_labels
from pfgen_rs.drawing.saving import finish
from pfgen_rs.drawing.style import drawing
from pfgen_rs.drawing.words import Language
from pfgen_rs.errors import PlotError
from pfgen_rs.studies.against_result import OURS
from pfgen_rs.studies.correlations import MOST_NAMES, CorrelationMatrix, Statistic
from pfgen_rs.studies.markdown import correlation_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["check_name_count", "correlation_map"]

_HEADINGS = {"pearson": "Pearson's r", "spearman": "Spearman's ρ"}
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
        room = room_for_labels(labels)
        size = 1.1 + (0.62 if digits == 4 else 0.5) * len(names)
        figure = look.figure(title, usual, 2.0 + size + room, 1.3 + size + 0.7 * room)
        draw_matrix(
            figure.subplots(),
            cells,
            labels,
            lambda i, j: "1" if i == j else _coefficient(float(cells[i, j]), digits),
            lowest=lowest if digits == 4 else min(0.0, lowest),
            bar=look.say(_HEADINGS[statistic]),
            size=7.5,
        )
        said = "; ".join(
            f"{labels[names.index(pair.one)]} – {labels[names.index(pair.other)]}: "
            f"{correlation_text(getattr(pair, statistic))} (n = {pair.n})"
            for pair in matrix.pairs
        )
        return finish(figure, f"{look.say(_HEADINGS[statistic])}: {said}")


def _coefficient(value: float, digits: int) -> str:
    return correlation_text(value, digits).replace("-", "−")
