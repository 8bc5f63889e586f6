"""How often decisions are those of raters, and verdicts those of the other order."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pfgen_rs.errors import InputError
from pfgen_rs.judge.agreement.codes import NONE, Codes, letter_codes
from pfgen_rs.judge.letters import LETTERS

__all__ = ["concordance", "majority", "robustness", "same"]

Letters = Sequence[str | None]


def concordance(
    decisions: Letters | Mapping[str, str | None], verdicts: Letters | Mapping[str, str | None]
) -> float:
    """Returns the share of a rater's pairs for which the decision is the rater's verdict.

    Sequences of letters of equal length, or mappings from pair id to letter. A decision of `None` (undecided
    or invalid) is wrong; pairs without a verdict (`None`, or not in the mapping) are left out; NaN if none
    are left. Raises `InputError` for sequences of unequal length, unknown letters, and verdicts on pairs
    that `decisions` lacks.

    Source: judging 5.1 (Morita 2025, eq. 1), for one rater.

    >>> concordance(["A", "B", None, "C"], ["A", "C", "B", None])
    0.3333333333333333
    """
    if isinstance(decisions, Mapping) != isinstance(verdicts, Mapping):
        raise InputError("expected two sequences or two mappings, found one of each")
    if isinstance(decisions, Mapping) and isinstance(verdicts, Mapping):
        unknown = next((pair for pair in verdicts if pair not in decisions), None)
        if unknown is not None:
            raise InputError(f"a verdict on the unknown pair {unknown!r}: decisions lack it")
        pairs = list(verdicts)
        decisions, verdicts = [decisions[p] for p in pairs], [verdicts[p] for p in pairs]
    if len(decisions) != len(verdicts):
        raise InputError(
            f"{len(decisions)} decisions and {len(verdicts)} verdicts: expected the same number"
        )
    decided, judged = letter_codes(decisions), letter_codes(verdicts)
    number = int(np.count_nonzero(judged != NONE))
    return int(np.count_nonzero(same(decided, judged))) / number if number else math.nan


def robustness(first: Letters, second: Letters) -> float:
    """Returns the share of pairs whose verdicts in both orders are the same letter; NaN for no pairs.

    Letters speak of the pair (those of order 2 are swapped back); `None` (invalid) equals nothing. Raises
    `InputError` for unequal lengths and unknown letters.

    >>> robustness(["A", "B", None], ["A", "A", None])
    0.3333333333333333
    """
    if len(first) != len(second):
        raise InputError(f"{len(first)} and {len(second)} verdicts: expected the same number")
    alike = same(letter_codes(first), letter_codes(second))
    return float(alike.mean()) if len(alike) else math.nan


def same(first: Codes, second: Codes) -> NDArray[np.bool_]:
    """Whether codes are the same letter; none equals nothing."""
    return np.asarray((first == second) & (first != NONE))


def majority(raters: Codes) -> Codes:
    """Returns the letter that most raters chose for each pair, -1 if several share the lead or none voted.

    `raters`: shape (raters, pairs). A shared lead is no tie between the answers (raters who say A and B do
    not say C), so such pairs have no majority.
    """
    votes = np.stack([np.count_nonzero(raters == code, axis=0) for code in range(len(LETTERS))])
    most = votes.max(axis=0)
    alone = np.count_nonzero(votes == most, axis=0) == 1
    return np.where(alone, votes.argmax(axis=0), NONE).astype(np.int8)
