"""Verdicts of one or more judges on the same pairs, as a page shows them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from pfgen_rs.errors import InputError
from pfgen_rs.judge.agreement.codes import NONE, Codes, column_codes
from pfgen_rs.judge.agreement.concordance import majority
from pfgen_rs.judge.pairs import Pair, read_humans
from pfgen_rs.judge.verdict_folder import VerdictFolder, distinct_judge_names

__all__ = ["JudgeView", "Said", "VerdictView", "verdict_view"]

ORDERS = (1, 2)


class Said(NamedTuple):
    """What a judge said about a pair in one order, and why that is invalid, if it is."""

    output: str
    problem: str | None


@dataclass(frozen=True)
class JudgeView:
    """The verdicts of a judge.

    `name`: that of judge and prompt, with the folder where several share it. `decisions`: as
    `VerdictFolder.decisions` has them, one row a pair of the *folder*. `rows`: the places of these pairs on
    the page. `criteria`: those of the folder's pairs. `said`: by pair and order.
    """

    name: str
    decisions: pl.DataFrame
    rows: Sequence[int]
    criteria: Sequence[str | None]
    said: dict[tuple[str, int], Said]


@dataclass(frozen=True)
class VerdictView:
    """Pairs, judges, and the verdicts of raters: a frame, and letters of shape (raters, pairs)."""

    pairs: Sequence[Pair]
    judges: Sequence[JudgeView]
    humans: pl.DataFrame | None
    raters: Sequence[str]
    letters: Codes

    @property
    def majority(self) -> Codes:
        """The letter that most raters chose for each pair, -1 if several share the lead or none judged."""
        return majority(self.letters) if len(self.raters) else np.full(len(self.pairs), NONE)


def verdict_view(
    folders: Sequence[str | os.PathLike[str]], humans: str | os.PathLike[str] | None = None
) -> VerdictView:
    """Read folders of verdicts, and verdicts of people about their pairs.

    Pairs of several folders are the same if their ids are. Raises `InputError`, also if pairs with the same
    id have other texts.
    """
    if not folders:
        raise InputError("no folder of verdicts")
    pairs: dict[str, Pair] = {}
    judges: list[JudgeView] = []
    opened = [VerdictFolder(path) for path in folders]
    for folder, name in zip(opened, distinct_judge_names(opened), strict=True):
        own = folder.pairs()
        _add_pairs(pairs, own, folder)
        judges.append(_judge_view(folder, name, own, pairs))
    found = None if humans is None else read_humans(humans, pairs.keys())
    raters, letters = _rater_letters(list(pairs), found)
    return VerdictView(list(pairs.values()), judges, found, raters, letters)


def _add_pairs(known: dict[str, Pair], own: Sequence[Pair], folder: VerdictFolder) -> None:
    for pair in own:
        old = known.setdefault(pair.id, pair)
        if (old.question, old.models, old.answers) != (pair.question, pair.models, pair.answers):
            raise InputError(
                f"pair {pair.id!r:.80} has other texts or models than in another folder: judges on a page "
                "must have judged the same pairs",
                path=folder.path,
            )


def _judge_view(
    folder: VerdictFolder, name: str, own: Sequence[Pair], pairs: dict[str, Pair]
) -> JudgeView:
    places = {pair: place for place, pair in enumerate(pairs)}
    return JudgeView(
        name=name,
        decisions=folder.decisions(),
        rows=[places[pair.id] for pair in own],
        criteria=[pair.criteria for pair in own],
        said=_said_by_pair(folder),
    )


def _said_by_pair(folder: VerdictFolder) -> dict[tuple[str, int], Said]:
    """Returns the last judgment of each pair and order, which is the one that counts."""
    return {
        (record["pair"], record["order"]): Said(record.get("output") or "", record.get("problem"))
        for record in folder.judgments()
        if not record.get("sample") and record.get("order") in ORDERS
    }


def _rater_letters(pairs: list[str], humans: pl.DataFrame | None) -> tuple[list[str], Codes]:
    if humans is None:
        return [], np.empty((0, len(pairs)), dtype=np.int8)
    ids = pl.DataFrame({"pair": pairs})
    raters = humans["rater"].unique(maintain_order=True).to_list()
    columns = [
        ids.join(
            humans.filter(pl.col("rater") == rater), on="pair", how="left", maintain_order="left"
        )["verdict"]
        for rater in raters
    ]
    return raters, np.stack([column_codes(column) for column in columns])
