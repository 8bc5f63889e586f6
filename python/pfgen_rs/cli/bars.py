"""Scores and their intervals drawn in characters."""

from __future__ import annotations

__all__ = ["interval_bar"]


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
