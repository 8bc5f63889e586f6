"""Agreement of every two judges and raters."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import polars as pl

from pfgen_rs.judge.agreement.codes import NONE, Codes
from pfgen_rs.judge.agreement.kappa import cohen_of_confusion, confusion_counts
from pfgen_rs.judge.letters import LETTERS

__all__ = ["UNDECIDED", "agreements"]

UNDECIDED = len(LETTERS)
"""The code of a judge's pair without a decision, which equals nothing and is a label of its own for κ."""
_COLUMNS = {
    "one": pl.String,
    "other": pl.String,
    "pairs": pl.Int64,
    "share": pl.Float64,
    "kappa": pl.Float64,
}


def agreements(letters: Mapping[str, Codes]) -> pl.DataFrame:
    """Returns how every two judges or raters agree about the pairs that both judged.

    `letters`: by name, codes of equal length (int8, shape (pairs,)): -1 where a pair was not judged,
    `UNDECIDED` where it was judged without a decision. Columns: `one`, `other`, `pairs` (that both judged),
    `share` (of equal letters) and `kappa` (Cohen's, unweighted); null if no pair has both, `kappa` also
    where it is undefined.
    """
    rows = [
        (one, other, *_agreement_of_two(letters[one], letters[other]))
        for one, other in combinations(letters, 2)
    ]
    return pl.DataFrame(rows, schema=_COLUMNS, orient="row")


def _agreement_of_two(first: Codes, second: Codes) -> tuple[int, float | None, float | None]:
    both = (first != NONE) & (second != NONE)
    number = int(np.count_nonzero(both))
    if not number:
        return 0, None, None
    table = confusion_counts(first[both], second[both], UNDECIDED + 1)
    kappa = float(cohen_of_confusion(table))
    equal = float(np.trace(table[:UNDECIDED, :UNDECIDED])) / number
    return number, equal, None if np.isnan(kappa) else kappa
