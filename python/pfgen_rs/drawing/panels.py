"""What panels of several figures need: remarks above them, and axes of what is not negative."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pfgen_rs.drawing.style import FAINT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["not_below_zero", "remark"]

_BELOW = 0.03  # of what is above zero


def remark(axes: Axes, text: str) -> None:
    """Write a remark above a panel, on the left."""
    axes.set_title(text, loc="left", fontsize=8.5, color=FAINT)


def not_below_zero(axes: Axes, *, x: bool = False, y: bool = False) -> None:
    """Keep ticks below zero off axes without negative values.

    Room is left below zero, so that lines there can be seen, but less than ticks are apart.
    """
    if x and axes.dataLim.x0 >= 0 > axes.get_xlim()[0]:
        axes.set_xlim(left=-_BELOW * axes.get_xlim()[1])
    if y and axes.dataLim.y0 >= 0 > axes.get_ylim()[0]:
        axes.set_ylim(bottom=-_BELOW * axes.get_ylim()[1])
