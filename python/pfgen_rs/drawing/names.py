"""Names shortened in the middle, in figures and tables, such that different ones stay different."""

import os
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate

from rich.cells import cell_len

GAP = "…"
_SHARES = (0.5, 0.7, 0.3, 0.85, 0.15)  # of a name's beginning in what is shown, tried in this order
_FRONT = 0.3  # the same, where what follows begins with what differs
_ROUNDING = 1e-9

Width = Callable[[str], float]
"""Width of a text that is the sum of the widths of its characters."""


def cut(text: str, room: float, width: Width, share: float = 0.5) -> str:
    """Returns a text no wider than `room`, without its middle; `share`: its beginning's part of the room.

    Time O(length).
    """
    if width(text) <= room + _ROUNDING:
        return text
    room -= width(GAP)
    head = _fitting_part(text, share * room, width)
    tail = _fitting_part(reversed(text[len(head) :]), room - width(head), width)[::-1]
    return f"{head}{GAP}{tail}"


def _fitting_part(characters: Iterable[str], room: float, width: Width) -> str:
    """Returns as many of the first characters as fit."""
    found = list(characters)
    ends = accumulate(map(width, found))
    return "".join(found[: sum(end <= room + _ROUNDING for end in ends)])


def shortened_apart(texts: Iterable[str], shorten: Callable[[str, float], str]) -> dict[str, str]:
    """Returns texts shortened such that different ones look different, if another place of the cut helps.

    `shorten`: takes a text and the share of its beginning.
    """
    first, *others = _SHARES
    short = {text: shorten(text, first) for text in texts}
    for share in others:
        for alike in _alike(short):
            short |= {text: shorten(text, share) for text in alike}
    return short


def short_names(names: Sequence[str], room: int) -> list[str]:
    """Returns names of at most `room` cells of a terminal; different ones stay different.

    What is left out is where they are the same: `lab/model…4f2a91c`, `lab/mod…step-20…`. Names that are the
    same even so get numbers.
    """
    short = shortened_apart(names, lambda name, share: cut(name, room, cell_len, share))
    for alike in _alike(short):
        short |= _from_difference(alike, room)
    for alike in _alike(short):
        for number, name in enumerate(alike, 1):
            mark = f" #{number}"
            short[name] = cut(name, room - len(mark), cell_len) + mark
    return [short[name] for name in names]


def _alike(short: dict[str, str]) -> list[list[str]]:
    """Returns groups of names that have become the same."""
    found: dict[str, list[str]] = {}
    for name, form in short.items():
        found.setdefault(form, []).append(name)
    return [group for group in found.values() if len(group) > 1]


def _from_difference(names: Sequence[str], room: int) -> dict[str, str]:
    """Returns the beginning of each name, and what follows from where they first differ."""
    same = len(os.path.commonprefix(names))  # noqa: RUF071 - of characters
    front = _fitting_part(names[0], _FRONT * room, cell_len) + GAP
    left = room - cell_len(front)
    return {name: front + cut(name[same:], left, cell_len, 1.0) for name in names}
