"""What a judge may prefer besides quality: longer answers, and models of its own family.

The same shares of human raters stand beside the judge's: a longer answer may well be the better one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pfgen_rs.judge.agreement.codes import NONE, Codes
from pfgen_rs.judge.agreement.families import Families, family_of
from pfgen_rs.judge.agreement.intervals import Share, share_of

__all__ = ["Preference", "favoured_by_family", "favoured_by_length", "preference"]

_A, _B, _TIE = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Preference:
    """How often the favoured answer wins.

    `share`: of the decided pairs with a favoured answer and a winner, those that it won; a tie has no winner.
    `ties`: pairs with a favoured answer that were decided as a tie.
    """

    share: Share
    ties: int


def preference(letters: Codes, favoured: Codes, level: float) -> Preference:
    """Returns how often the favoured answer wins; `favoured`: 0 for a, 1 for b, -1 for neither."""
    concerned = favoured != NONE
    won = concerned & ((letters == _A) | (letters == _B))
    wins = int(np.count_nonzero(won & (letters == favoured)))
    ties = int(np.count_nonzero(concerned & (letters == _TIE)))
    return Preference(share_of(wins, int(np.count_nonzero(won)), level), ties)


def favoured_by_length(lengths_a: NDArray[Any], lengths_b: NDArray[Any]) -> Codes:
    """Returns which answer is longer: 0 for a, 1 for b, -1 if they are equally long."""
    longer = np.where(lengths_a > lengths_b, _A, _B)
    return np.where(lengths_a == lengths_b, NONE, longer).astype(np.int8)


def favoured_by_family(
    judge: str,
    models_a: Iterable[str],
    models_b: Iterable[str],
    families: Families | None = None,
) -> Codes | None:
    """Returns which model is of the judge's own family: 0 for a, 1 for b, -1 for neither or both.

    `None` if no family is known for the judge.
    """
    own = family_of(judge, families)
    if own is None:
        return None
    is_own: dict[str, bool] = {}

    def flags(models: Iterable[str]) -> NDArray[np.bool_]:
        listed = list(models)
        for model in {*listed} - is_own.keys():
            is_own[model] = family_of(model, families) == own
        return np.array([is_own[model] for model in listed], dtype=bool)

    a, b = flags(models_a), flags(models_b)
    return np.where(a == b, NONE, np.where(a, _A, _B)).astype(np.int8)
