"""Draws scores and their intervals with characters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

__all__ = ["NARROWEST", "WIDEST", "Bars", "bar_bounds", "interval_bar"]

WIDEST, NARROWEST = 40, 12
"""Maximum and minimum width of a bar; a narrower one has no room for the labels of its scale."""

_TICKS = 20  # ends of a scale are twentieths


def bar_bounds(row: Mapping[str, Any]) -> str:
    """Returns a row's interval as `[low, high]`; empty if it has none."""
    low, high = row["score_low"], row["score_high"]
    return "" if low is None or high is None else f"[{low:.3f}, {high:.3f}]"


class Bars:
    """Bars of rows with `score`, `score_low` and `score_high`, on the smallest scale that fits them all."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        ends = [row[name] for row in rows for name in ("score", "score_low", "score_high")]
        known = [end for end in ends if end is not None]
        self.low = max(0, math.floor(min(known) * _TICKS)) / _TICKS
        self.high = math.ceil(max(known) * _TICKS) / _TICKS

    def heading(self, width: int) -> Text:
        """Returns the labels of both ends of the scale."""
        return Text(f"{self.low:.2f}" + f"{self.high:.2f}".rjust(width - 4))

    def bar(self, row: Mapping[str, Any], width: int) -> Text:
        """Draw a row's score with its interval."""
        ends = row["score_low"], row["score_high"]
        drawn = interval_bar(row["score"], *ends, (self.low, self.high), width)
        return Text(drawn, style="cyan")


def interval_bar(
    value: float, low: float | None, high: float | None, scale: tuple[float, float], width: int
) -> str:
    """Draw `value` with its interval, `   ├──●──┤`, with `width` characters for the whole `scale`.

    Ends at the same character as the value are not drawn; intervals are clipped to the scale.
    """
    first, last = scale

    def place(number: float) -> int:
        share = (number - first) / (last - first) if last > first else 0.0
        return max(0, min(width - 1, int(share * width)))

    middle = place(value)
    left = middle if low is None else min(place(low), middle)
    right = middle if high is None else max(place(high), middle)
    line = [" "] * left + ["─"] * (right - left + 1)
    line[left], line[right] = "├", "┤"
    line[middle] = "●"
    return "".join(line)
