"""How judges and raters agree with each other, as a matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from pfgen_rs.drawing.figures import finish, fixed, heat_map, room_for_labels
from pfgen_rs.drawing.style import drawing
from pfgen_rs.drawing.words import Language
from pfgen_rs.errors import PlotError
from pfgen_rs.judge.agreement.kappa import UNDECIDED, agreements
from pfgen_rs.judge.decision_columns import NONE, Codes, column_codes
from pfgen_rs.judge.plots.kinds import JudgePlotRequest, judge_plot
from pfgen_rs.report.plot_kinds import Drawn

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
    rows = table.select("one", "other", value).drop_nulls(value).rows()
    for one, other, number in rows:
        i, j = names.index(one), names.index(other)
        cells[i, j] = cells[j, i] = number
    if not np.isfinite(cells).any():
        raise PlotError("nothing to draw: no two of them judged the same pairs")
    with drawing(language, font) as look:
        labels = [look.name(name, 40) for name in names]
        cell, room = 0.9 + 0.62 * len(names), room_for_labels(labels)
        size = (1.8 + cell + room, 1.2 + cell + 0.7 * room)
        figure = look.figure(title, "Agreement of judges and raters", *size)
        heat_map(
            figure.subplots(),
            cells,
            labels,
            labels,
            lambda i, j: fixed(cells[i, j], 2),
            lowest=min(0.0, float(np.nanmin(cells))),
            bar=look.say(_HEADINGS[value]),
            size=8,
        )
        said = "; ".join(
            f"{labels[names.index(one)]} – {labels[names.index(other)]}: {number:.3f}"
            for one, other, number in rows
        )
        return finish(figure, f"{look.say(_HEADINGS[value])}: {said}")


@judge_plot(
    "agreement", "a matrix of judges and raters, with Cohen's κ or the share of equal verdicts"
)
def draw_agreement(request: JudgePlotRequest) -> Drawn:
    """Draw the agreement of judges and raters."""
    judges, notes = request.decisions()
    pairs = pl.concat(table.select("pair") for table in judges.values()).unique(maintain_order=True)

    def codes(table: pl.DataFrame, column: str) -> Codes:
        chosen = table.select("pair", column)
        return column_codes(
            pairs.join(chosen, on="pair", how="left", maintain_order="left")[column]
        )

    letters = {}
    for name, table in judges.items():
        own, seen = codes(table, request.rule), pairs["pair"].is_in(table["pair"].implode())
        undecided = (own == NONE) & seen.to_numpy()
        letters[name] = np.where(undecided, UNDECIDED, own).astype(np.int8)
    humans = request.verdicts_of_people(judges)
    raters = [] if humans is None else humans.partition_by("rater", maintain_order=True)
    for part in raters:
        rater = part["rater"][0]
        name = rater if rater not in letters else f"{rater} (rater)"
        letters[name] = codes(part, "verdict")
    return Drawn(agreement_matrix(agreements(letters), **request.choice, **request.look), notes)
