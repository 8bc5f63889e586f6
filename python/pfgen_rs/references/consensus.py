"""Keeping the answers that agree most with the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs import _native
from pfgen_rs.errors import SettingsError
from pfgen_rs.metrics.settings import Settings
from pfgen_rs.references.leave_one_out import truthfulness_without_itself
from pfgen_rs.references.lengths import kept_number

__all__ = ["Consensus", "consensus"]


@dataclass(frozen=True)
class Consensus:
    """Which rows are kept (bool, one per row), and the least agreement among them (`None` if unknown)."""

    kept: NDArray[np.bool_]
    least: float | None


def consensus(
    answers: pl.Series,
    *,
    share: float = 0.5,
    at_least: int = 0,
    seed: int = 0,
    settings: Settings | None = None,
    threads: int | None = None,
) -> Consensus:
    """Keep the `share` of the answers (rounded up, at least `at_least`) that agree most with the others.

    Agreement is Truthfulness against all other answers, with the published settings if there are none: the
    mean, over an answer's characters, of how common their surroundings of 3 characters are; full where at
    least 0.5 % of the other answers have them. Answers with details that hardly any other has come last.
    Ties are broken by the smallest digest (XXH3 of the text, seeded with `seed`; equal texts by row), so
    which texts are kept depends neither on the order of the answers nor on `threads`.

    Needs about 20 kB per answer. O(c log c) for c characters. Raises `SettingsError`.
    """
    if not 0 < share <= 1:
        raise SettingsError(f"share must be greater than 0 and at most 1, not {share}")
    number, _ = kept_number(len(answers), len(answers), share, None, at_least)
    agreement = truthfulness_without_itself(answers.to_list(), settings or Settings())
    digests = _native.text_digests(_native.Texts(answers, threads), seed, threads)
    best = np.lexsort((digests[:, 1], digests[:, 0], -agreement))[:number]
    kept = np.zeros(len(answers), dtype=np.bool_)
    kept[best] = True
    known = len(answers) > 1
    return Consensus(kept, float(agreement[best].min()) if known else None)
