"""Verdicts of one or more judges on the same pairs, as a page shows them."""

from __future__ import annotations

import os
import random
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from pfgen_rs.errors import InputError
from pfgen_rs.judge.agreement.codes import NONE, Codes, column_codes
from pfgen_rs.judge.agreement.concordance import majority
from pfgen_rs.judge.binding import Coverage
from pfgen_rs.judge.pairs import Pair, read_humans
from pfgen_rs.judge.verdict_folder import VerdictFolder, check_same_pairs, distinct_judge_names

__all__ = ["LISTED", "JudgeView", "Said", "VerdictView", "verdict_view"]

LISTED = 20_000
"""Pairs that a page lists at most, unless told otherwise."""
ORDERS = (1, 2)


class Said(NamedTuple):
    """What a judge said about a pair in one order, and why that is invalid, if it is."""

    output: str
    problem: str | None


@dataclass(frozen=True)
class JudgeView:
    """The verdicts of a judge.

    `name`: that of judge and prompt, with the folder where several share it. `decisions`: as
    `VerdictFolder.decisions` has them, one row a pair of the *folder*. `coverage`: what is missing of them.
    `listed`: the rows of pairs that the page lists, and `rows` their places on it. `criteria`: those of
    these pairs. `said`: by pair and order.
    """

    name: str
    decisions: pl.DataFrame
    coverage: Coverage
    listed: pl.DataFrame
    rows: Sequence[int]
    criteria: Sequence[str | None]
    said: dict[tuple[str, int], Said]


@dataclass(frozen=True)
class VerdictView:
    """Pairs to list, judges, and the verdicts of raters: a frame, and letters of shape (raters, pairs).

    `total`: the number of pairs, which may be more than `pairs`, a sample of them.
    """

    pairs: Sequence[Pair]
    total: int
    judges: Sequence[JudgeView]
    humans: pl.DataFrame | None
    raters: Sequence[str]
    letters: Codes

    @property
    def majority(self) -> Codes:
        """The letter that most raters chose for each pair, -1 if several share the lead or none judged."""
        return majority(self.letters) if len(self.raters) else np.full(len(self.pairs), NONE)


def verdict_view(
    folders: Sequence[str | os.PathLike[str]],
    humans: str | os.PathLike[str] | None = None,
    sample: int = LISTED,
) -> VerdictView:
    """Read folders of verdicts, and verdicts of people about their pairs.

    Pairs of several folders are the same if their ids are. Of more than `sample` pairs, so many are drawn to
    be listed, always the same ones. Raises `InputError`, also if pairs with the same id have other texts.
    """
    if not folders:
        raise InputError("no folder of verdicts")
    opened = [VerdictFolder(path) for path in folders]
    check_same_pairs(opened)
    read = [folder.read() for folder in opened]
    ids = pl.concat(frame["pair"] for frame, _ in read).unique(maintain_order=True)
    total = len(ids)
    found = None if humans is None else read_humans(humans, ids.to_list())
    if total > sample:
        ids = ids.gather(sorted(random.Random(0).sample(range(total), sample)))  # noqa: S311
    places = {pair: place for place, pair in enumerate(ids)}
    pairs: dict[str, Pair] = {}
    judges: list[JudgeView] = []
    for folder, name, (frame, coverage) in zip(
        opened, distinct_judge_names(opened), read, strict=True
    ):
        own = [pair for pair in folder.each_pair() if pair.id in places]
        pairs = {pair.id: pair for pair in own} | pairs
        judges.append(
            JudgeView(
                name=name,
                decisions=frame,
                coverage=coverage,
                listed=frame.filter(pl.col("pair").is_in(ids.implode())),
                rows=[places[pair.id] for pair in own],
                criteria=[pair.criteria for pair in own],
                said=_said_by_pair(folder, places),
            )
        )
    raters, letters = _rater_letters(ids.to_list(), found)
    return VerdictView([pairs[each] for each in ids], total, judges, found, raters, letters)


def _said_by_pair(folder: VerdictFolder, listed: Container[str]) -> dict[tuple[str, int], Said]:
    """Returns the last judgment of each listed pair and order, which is the one that counts."""
    return {
        (record["pair"], record["order"]): Said(record.get("output") or "", record.get("problem"))
        for record in folder.present_judgments()
        if record["pair"] in listed
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
