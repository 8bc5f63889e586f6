"""What is not clean about answers, counted by reason and said in words; needs neither numpy nor polars."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from pfgen_rs.io.cleaning import Mode, default_stop
from pfgen_rs.io.counted import counted

__all__ = ["CHECKED", "described", "reasons", "unclean_marks"]

CHECKED = 1 << 17
"""Number of answers of a file that are all checked; later ones are sampled."""

_START, _END = "begin with white space", "end with white space"
_CONTAIN = {"Q:": "contain 'Q:'", "A:": "contain 'A:'", "\n\n": "contain a blank line"}


def unclean_marks(mode: Mode | None) -> Sequence[str]:
    """Returns the strings that a clean answer in this mode never contains."""
    if mode is None:
        return ("Q:",)
    return default_stop(mode) if mode == "completion" else (*default_stop(mode), "A:")


def reasons(answers: Iterable[str], marks: Sequence[str]) -> Counter[str]:
    """Count answers by what is not clean about them."""
    counts: Counter[str] = Counter()
    for text in answers:
        if text[:1].isspace():
            counts[_START] += 1
        if text[-1:].isspace():
            counts[_END] += 1
        counts.update(_CONTAIN[mark] for mark in marks if mark in text)
    return counts


def described(counts: Counter[str], height: int) -> str:
    """Describe in words what `Census` counted in `height` answers."""
    (first, most), *others = counts.most_common()
    least = "at least " if height > CHECKED else ""
    return ", ".join(
        [
            f"{least}{most:,} of {counted(height, 'answer')} {_agreeing(first, most)}",
            *(f"{number:,} {_agreeing(why, number)}" for why, number in others),
        ]
    )


def _agreeing(reason: str, number: int) -> str:
    """Returns a reason with its verb as so many answers have it."""
    verb, _, rest = reason.partition(" ")
    return f"{verb}s {rest}" if number == 1 else reason
