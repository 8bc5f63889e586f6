"""Counts answers that pfgen-bench would have cleaned before storing them, and cleans them on request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs import _native
from pfgen_rs.errors import SettingsError
from pfgen_rs.io.cleaning import Mode, cleaned, default_stop
from pfgen_rs.io.unclean_counts import CHECKED, reasons, unclean_marks

__all__ = ["Census", "clean_column", "count_unclean"]

_EVERY = 8


def count_unclean(answers: pl.Series, mode: Mode | None) -> Counter[str]:
    """Count the answers that `clean_column` would change, by reason.

    Without a mode, counts what every mode removes: surrounding white space and a following question.
    """
    marks = unclean_marks(mode)
    rows = _unclean_suspects(answers, marks)
    return reasons(answers.gather(rows) if rows else (), marks)


class Census:
    """Counts the unclean answers of a file, chunk by chunk.

    After the first `CHECKED` answers, only every eighth is checked, unless one of these is unclean: then the
    whole chunk is. Checking all of them would take about 2 % of the scoring time.
    """

    def __init__(self) -> None:
        self._seen = 0

    def count(self, answers: pl.Series, mode: Mode | None) -> Counter[str]:
        """Count the unclean answers of the next chunk, as `count_unclean` does."""
        self._seen += len(answers)
        if self._seen > CHECKED and not count_unclean(answers.gather_every(_EVERY), mode):
            return Counter()
        return count_unclean(answers, mode)


def clean_column(answers: pl.Series, mode: Mode) -> pl.Series:
    """Returns the answers, cleaned as pfgen-bench cleans generated texts in this mode."""
    if answers.dtype != pl.String:
        raise SettingsError(f"cannot clean {answers.dtype}: only text answers can be cleaned")
    rows = _unclean_suspects(answers, unclean_marks(mode))
    if not rows:
        return answers
    stop = default_stop(mode)
    clean = pl.Series([cleaned(text, mode, stop) for text in answers.gather(rows)], dtype=pl.String)
    places: NDArray[np.intp] = np.arange(len(answers))
    places[rows] = len(answers) + np.arange(len(rows))
    return pl.concat([answers, clean.alias(answers.name)]).gather(places)


def _unclean_suspects(answers: pl.Series, marks: Sequence[str]) -> list[int]:
    """Returns quickly which answers may need cleaning; more than those that do."""
    texts = answers.fill_null("") if answers.null_count() else answers
    return _native.unclean_rows(_native.Texts(texts, 1), marks)
