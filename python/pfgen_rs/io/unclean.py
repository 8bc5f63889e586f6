"""Columns of answers that are not as pfgen-bench stores them: counted, and cleaned on request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs.errors import SettingsError
from pfgen_rs.io.cleaning import Mode, cleaned, default_stop

__all__ = ["CHECKED", "Census", "clean_column", "count_unclean", "described"]

CHECKED = 1 << 17
"""Answers of a file that are all looked at."""
_EVERY = 8

_WHITE = [character for character in map(chr, range(0x3001)) if character.isspace()]
# All white space, as ranges of the texts that begin with it.
_RANGES = (
    ("", "!"),
    ("\x85", "\xa1"),
    ("\u1680", "\u1681"),
    ("\u2000", "\u2060"),
    ("\u3000", "\u3001"),
)
_START, _END = "begin with white space", "end with white space"
_CONTAIN = {"Q:": "contain 'Q:'", "A:": "contain 'A:'", "\n\n": "contain a blank line"}


def count_unclean(answers: pl.Series, mode: Mode | None) -> Counter[str]:
    """Count the answers that `clean_column` would change, by why.

    Without a mode what every mode removes is counted: white space around an answer, and a following question.
    """
    marks = _marks(mode)
    counts: Counter[str] = Counter()
    for text in answers.filter(_suspects(answers, marks)):
        if text[:1].isspace():
            counts[_START] += 1
        if text[-1:].isspace():
            counts[_END] += 1
        counts.update(_CONTAIN[mark] for mark in marks if mark in text)
    return counts


class Census:
    """Counts the unclean answers of a file, chunk by chunk.

    Of what follows the first `CHECKED` answers every eighth is looked at, and of chunks where one of these is
    unclean all are: looking at each would take some 2 % of the time of scoring.
    """

    def __init__(self) -> None:
        self._seen = 0

    def count(self, answers: pl.Series, mode: Mode | None) -> Counter[str]:
        """Count those of the next chunk, as `count_unclean` does."""
        self._seen += len(answers)
        if self._seen > CHECKED and not count_unclean(answers.gather_every(_EVERY), mode):
            return Counter()
        return count_unclean(answers, mode)


def described(counts: Counter[str], height: int) -> str:
    """Returns in words what `Census` found in so many answers."""
    (first, most), *others = counts.most_common()
    least = "at least " if height > CHECKED else ""
    return ", ".join(
        [
            f"{least}{most:,} of {height:,} answers {first}",
            *(f"{number:,} {why}" for why, number in others),
        ]
    )


def clean_column(answers: pl.Series, mode: Mode) -> pl.Series:
    """Returns the answers as pfgen-bench makes them of generated texts in this mode."""
    if answers.dtype != pl.String:
        raise SettingsError(f"only answers that are text can be cleaned, not {answers.dtype}")
    suspects = _suspects(answers, _marks(mode))
    rows = np.flatnonzero(suspects.to_numpy())
    if not len(rows):
        return answers
    stop = default_stop(mode)
    clean = pl.Series([cleaned(text, mode, stop) for text in answers.gather(rows)], dtype=pl.String)
    places: NDArray[np.intp] = np.arange(len(answers))
    places[rows] = len(answers) + np.arange(len(rows))
    return pl.concat([answers, clean.alias(answers.name)]).gather(places)


def _marks(mode: Mode | None) -> Sequence[str]:
    """What an answer in this mode never contains."""
    if mode is None:
        return ("Q:",)
    return default_stop(mode) if mode == "completion" else (*default_stop(mode), "A:")


def _suspects(answers: pl.Series, marks: Sequence[str]) -> pl.Series:
    """Which answers may have to be cleaned: quickly, and all that have to be."""
    text = pl.col("text")
    starts = [text.is_between(pl.lit(low), pl.lit(high), closed="left") for low, high in _RANGES]
    ends = text.str.tail(1).is_in(_WHITE)
    inside = [text.str.contains(mark, literal=True) for mark in marks]
    found = pl.any_horizontal(*starts, ends, *inside).fill_null(value=False)
    return answers.alias("text").to_frame().select(found).to_series()
