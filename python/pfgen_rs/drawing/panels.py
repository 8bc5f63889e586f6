"""What panels of several figures need: remarks above them, and axes that begin at zero."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pfgen_rs.drawing.style import FAINT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["not_below_zero", "remark"]


def remark(axes: Axes, text: str) -> None:
    """Write a remark above a panel, on the left."""
    axes.set_title(text, loc="left", fontsize=8.5, color=FAINT)


def not_below_zero(axes: Axes, *, x: bool = False, y: bool = False) -> None:
    """Let axes begin at zero that would begin below it though no value on them is negative."""
    if x and axes.dataLim.x0 >= 0 > axes.get_xlim()[0]:
        axes.set_xlim(left=0)
    if y and axes.dataLim.y0 >= 0 > axes.get_ylim()[0]:
        axes.set_ylim(bottom=0)
