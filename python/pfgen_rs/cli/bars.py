"""Scores and their intervals drawn in characters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from rich.table import Table
from rich.text import Text

from pfgen_rs.cli import narrow

__all__ = ["Bars", "interval_bar", "with_bars"]

_WIDEST, _NARROWEST = 40, 8  # characters of a bar
_Layout = TypeVar("_Layout")


class Bars:
    """Bars of rows with `score`, `score_low` and `score_high`, on one scale from 0."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self.top = float(max(max(row["score"], row["score_high"] or 0.0) for row in rows))

    def heading(self, width: int) -> Text:
        """The ends of the scale."""
        return Text("0" + f"{self.top:.2f}".rjust(width - 1))

    def bar(self, row: Mapping[str, Any], width: int) -> Text:
        """A row's score with its interval."""
        drawn = interval_bar(row["score"], row["score_low"], row["score_high"], self.top, width)
        return Text(drawn, style="cyan")


def with_bars(
    layouts: Iterable[_Layout], table: Callable[[_Layout, int], Table], room: int
) -> Table | None:
    """`table(layout, width of its bars)` of the first layout that leaves bars enough of `room` columns."""
    for layout in layouts:
        left = room - narrow.width(table(layout, 0)) - narrow.GAP
        if left >= _NARROWEST:
            return table(layout, min(left, _WIDEST))
    return None


def interval_bar(
    value: float, low: float | None, high: float | None, top: float, width: int
) -> str:
    """A line from 0 to `value` with its interval, `━━━├──●──┤`, where `width` characters reach to `top`.

    Ends that fall on the character of the value are not drawn; what leaves the scale stops at its end.
    """

    def place(number: float) -> int:
        return max(0, min(width - 1, int(number / top * width))) if top > 0 else 0

    middle = place(value)
    left = middle if low is None else min(place(low), middle)
    right = middle if high is None else max(place(high), middle)
    line = ["━"] * left + ["─"] * (right - left + 1)
    line[left], line[right] = "├", "┤"
    line[middle] = "●"
    return "".join(line)
