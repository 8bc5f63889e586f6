"""What pairs count in statistics of agreement: integers for each class of pairs with the same letters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pfgen_rs.judge.agreement.codes import NONE, Codes, Indices
from pfgen_rs.judge.agreement.concordance import majority, same
from pfgen_rs.judge.agreement.judged import Judged
from pfgen_rs.judge.agreement.kappa import alpha_unit_sums
from pfgen_rs.judge.agreement.resampling import classes_of
from pfgen_rs.judge.decisions import Rule
from pfgen_rs.judge.letters import LETTERS

__all__ = ["Counts", "Kinds", "Statistic", "judge_counts", "kinds_of", "rater_counts", "votes_of"]

Counts = dict[str, NDArray[Any]]
"""Integers of shape (classes, …) by name."""
Statistic = Literal["fleiss_kappa", "krippendorff_alpha"]
_LETTERS = np.arange(len(LETTERS))


@dataclass(frozen=True)
class Kinds:
    """Classes of pairs with the same letters: `of` has the class of each pair, the other fields are theirs.

    Shapes: `of` (pairs,), `verdicts` (raters, classes), the others (classes,).
    """

    of: Indices
    tasks: Indices
    consistent: NDArray[np.bool_]
    invalid: NDArray[np.bool_]
    decided: dict[Rule, Codes]
    verdicts: Codes


def kinds_of(data: Judged) -> Kinds:
    """Returns pairs sorted into classes."""
    consistent = same(data.first, data.second)
    invalid = (data.first == NONE) | (data.second == NONE)
    letters = [each + 1 for each in (*data.decided.values(), *data.verdicts)]
    flags = [consistent.astype(np.int8), invalid.astype(np.int8)]
    classes, places = classes_of([data.tasks, *flags, *letters])
    return Kinds(
        of=classes,
        tasks=data.tasks[places],
        consistent=consistent[places],
        invalid=invalid[places],
        decided={rule: codes[places] for rule, codes in data.decided.items()},
        verdicts=data.verdicts[:, places],
    )


def judge_counts(kinds: Kinds, tasks: int, rules: Sequence[Rule]) -> Counts:
    """Pairs by task, and by rater and task: judged, and right by each rule."""
    of_task = kinds.tasks[:, None] == np.arange(tasks)
    judged_by = (kinds.verdicts != NONE).T
    right = np.stack([same(kinds.decided[rule], kinds.verdicts).T for rule in rules], axis=1)
    return {
        "pairs": of_task,
        "consistent": of_task & kinds.consistent[:, None],
        "invalid": of_task & kinds.invalid[:, None],
        "judged": judged_by[:, :, None] & of_task[:, None],
        "right": right[..., None] & of_task[:, None, None],
    }


def rater_counts(kinds: Kinds, chosen: Codes, statistic: Statistic | None) -> Counts:
    """Confusion with the decisions `chosen`, votes, and agreement with the majority of other raters."""
    # No decision is the fourth letter of the judge; raters have three.
    fourth = len(LETTERS)
    mine = np.where(chosen == NONE, fourth, chosen)[:, None] == np.arange(fourth + 1)
    theirs = kinds.verdicts.T[:, :, None] == _LETTERS
    return {
        "confusion": mine[:, None, :, None] & theirs[:, :, None, :],
        **_counts_of_votes(votes_of(kinds.verdicts), len(kinds.verdicts), statistic),
        **_counts_of_majorities(kinds.verdicts, chosen),
    }


def votes_of(verdicts: Codes) -> Indices:
    """Returns how many raters chose each letter: shape (pairs, 3)."""
    votes = [np.count_nonzero(verdicts == letter, axis=0) for letter in _LETTERS]
    return np.stack(votes, axis=1)


def _counts_of_votes(votes: Indices, raters: int, statistic: Statistic | None) -> Counts:
    if statistic == "krippendorff_alpha":
        disagreements, values, _ = alpha_unit_sums(votes)
        return {"disagreements": disagreements, "votes": values, "voted": votes.sum(axis=1) > 1}
    squares = (votes * votes).sum(axis=1)
    return {"squares": squares, "votes": votes, "voted": votes.sum(axis=1) == raters}


def _counts_of_majorities(verdicts: Codes, chosen: Codes) -> Counts:
    """Each rater, and the judge, against the majority of the other raters; nobody with a single rater."""
    raters = len(verdicts) if len(verdicts) > 1 else 0
    found: Counts = {
        name: np.zeros((len(chosen), raters), dtype=bool)
        for name in ("others", "no_majority", "as_others", "judge_as_others")
    }
    for rater in range(raters):
        others, own = majority(np.delete(verdicts, rater, axis=0)), verdicts[rater]
        found["others"][:, rater] = (own != NONE) & (others != NONE)
        found["no_majority"][:, rater] = (own != NONE) & (others == NONE)
        found["as_others"][:, rater] = same(own, others)
        found["judge_as_others"][:, rater] = same(chosen, others) & (own != NONE)
    return found
