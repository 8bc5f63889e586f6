"""How judges and raters agree with each other, as a matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from pfgen_rs.drawing.figures import draw_matrix, finish, fixed, room_for_labels
from pfgen_rs.drawing.style import drawing
from pfgen_rs.drawing.words import Language
from pfgen_rs.errors import PlotError
from pfgen_rs.judge.agreement.kappa import UNDECIDED, agreements
from pfgen_rs.judge.decision_columns import NONE, Codes, column_codes
from pfgen_rs.judge.decisions import Rule
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


@judge_plot(
    "agreement", "a matrix of judges and raters, with Cohen's κ or the share of equal verdicts"
)
def draw_agreement(request: JudgePlotRequest) -> Drawn:
    """Draw the agreement of judges and raters."""
    judges, notes = request.decisions()
    humans = request.verdicts_of_people(judges)
    pairs = pl.concat([table.select("pair") for table in judges.values()]).unique(
        maintain_order=True
    )
    letters = {
        name: _letters_of_judge(pairs, table, request.rule) for name, table in judges.items()
    }
    for rater, verdicts in _verdicts_by_rater(humans):
        name = rater if rater not in letters else f"{rater} (rater)"
        letters[name] = column_codes(_in_order_of(pairs, verdicts, "verdict"))
    return Drawn(agreement_matrix(agreements(letters), **request.choice, **request.look), notes)


def _letters_of_judge(pairs: pl.DataFrame, decisions: pl.DataFrame, rule: Rule) -> Codes:
    codes = column_codes(_in_order_of(pairs, decisions, rule))
    seen = pairs["pair"].is_in(decisions["pair"].to_list()).to_numpy()
    return np.where((codes == NONE) & seen, UNDECIDED, codes).astype(np.int8)


def _in_order_of(pairs: pl.DataFrame, table: pl.DataFrame, column: str) -> pl.Series:
    chosen = table.select("pair", column)
    return pairs.join(chosen, on="pair", how="left", maintain_order="left")[column]


def _verdicts_by_rater(humans: pl.DataFrame | None) -> list[tuple[str, pl.DataFrame]]:
    if humans is None:
        return []
    return [(part["rater"][0], part) for part in humans.partition_by("rater", maintain_order=True)]
