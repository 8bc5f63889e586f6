"""Names shortened to a width: both ends stay, and what is added to a name, such as the mode."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from pfgen_rs.drawing.fonts import advance

__all__ = ["MEAN_WIDTH", "shortened", "shortened_apart", "text_width"]

MEAN_WIDTH = 0.6  # em, of a character in names; the unit of all widths here
_ADDED = " · "  # separates a name from what is added to it
_ADDED_SHARE = 0.6  # of the width, at most, for what is added
_SHARES = (0.5, 0.7, 0.3, 0.85, 0.15)  # of a name's beginning in what is shown, tried in this order
_GAP = "…"


def text_width(text: str, families: Sequence[str]) -> float:
    """Returns the width of a line, without kerning, as a number of mean characters (0.6 em)."""
    return sum(advance(c, tuple(families)) for c in text) / MEAN_WIDTH


def shortened(text: str, families: Sequence[str], width: float, share: float = 0.5) -> str:
    """Returns a text no wider than `width`: `organisation/a-very…-preview · chat`.

    What follows the first ` · ` is kept whole if it fits. `share`: the beginning's part of what is left of
    the name. Time O(length).
    """
    if text_width(text, families) <= width:
        return text
    name, separator, added = text.partition(_ADDED)
    added = separator + added
    if text_width(added, families) > _ADDED_SHARE * width:
        name, added = text, ""
    room = width - text_width(added + _GAP, families)
    head = _fitting_part_of_name(name, families, share * room)
    rest = room - text_width(head, families)
    tail = _fitting_part_of_name(reversed(name[len(head) :]), families, rest)[::-1]
    return f"{head}{_GAP}{tail}{added}"


def _fitting_part_of_name(characters: Iterable[str], families: Sequence[str], room: float) -> str:
    """Returns as many of the first characters as fit."""
    found = []
    for c in characters:
        room -= advance(c, tuple(families)) / MEAN_WIDTH
        if room < -1e-9:
            break
        found.append(c)
    return "".join(found)


def shortened_apart(texts: Sequence[str], shorten: Callable[[str, float], str]) -> list[str]:
    """Returns texts shortened such that different ones look different, if another place of the cut helps.

    `shorten`: takes a text and the share of its beginning.
    """
    places = dict.fromkeys(texts, 0)
    while True:
        found = {text: shorten(text, _SHARES[place]) for text, place in places.items()}
        counts = Counter(found.values())
        alike = [
            text
            for text, place in places.items()
            if counts[found[text]] > 1 and place < len(_SHARES) - 1
        ]
        if not alike:
            return [found[text] for text in texts]
        for text in alike:
            places[text] += 1
