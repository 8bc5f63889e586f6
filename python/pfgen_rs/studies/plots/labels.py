"""Names beside points that cover neither points nor each other; one without room is left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pfgen_rs.drawing.style import GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["place_labels"]

_SIZE = 8.0  # points
_POINT = 4.0  # half the width of a marker
_LEADER = 9.0  # from so far away on, a line leads to the name
_RADII = (7.0, 11.0, 16.0, 22.0, 30.0, 40.0, 52.0)
_ANGLES = 16
Box = tuple[float, float, float, float]


def place_labels(
    axes: Axes,
    places: NDArray[np.float64],
    labels: Mapping[int, str],
    avoided: NDArray[np.float64],
) -> None:
    """Write labels beside some of the points, whose layout must be final.

    `places`: all points in data units, shape (points, 2). `labels`: names by row of `places`, the important
    ones first. `avoided`: more places that labels should not cover, such as those of a line. A label goes to
    the nearest place where it covers nothing and stays within the axes; without one it is left out.
    """
    figure = axes.figure
    scale = 72 / figure.dpi
    drawn = axes.transData.transform(places) * scale
    taken = [_box(x, y, _POINT, _POINT) for x, y in drawn]
    taken += [_box(x, y, 1.0, 1.0) for x, y in axes.transData.transform(avoided) * scale]
    frame = tuple(np.asarray(axes.get_window_extent().extents) * scale)
    for row, label in labels.items():
        text = axes.annotate(
            label,
            places[row],
            xytext=(0, 0),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=_SIZE,
            zorder=4,
        )
        text.set_in_layout(False)
        extent = text.get_window_extent()
        half = extent.width * scale / 2 + 1, extent.height * scale / 2 + 0.5
        offset = _free_offset(drawn[row], half, taken, frame)
        if offset is None:
            text.remove()
            continue
        text.set_position(offset)
        centre = drawn[row] + offset
        taken.append(_box(centre[0], centre[1], *half))
        _lead(axes, places[row], offset, half)


def _free_offset(
    point: Any, half: tuple[float, float], taken: Sequence[Box], frame: Any
) -> tuple[float, float] | None:
    others = np.array(taken)
    for dx, dy in _offsets(half):
        left, low, right, high = _box(point[0] + dx, point[1] + dy, *half)
        inside = left >= frame[0] and low >= frame[1] and right <= frame[2] and high <= frame[3]
        across = np.minimum(right, others[:, 2]) - np.maximum(left, others[:, 0])
        along = np.minimum(high, others[:, 3]) - np.maximum(low, others[:, 1])
        if inside and not ((across > 0) & (along > 0)).any():
            return dx, dy
    return None


def _offsets(half: tuple[float, float]) -> Iterator[tuple[float, float]]:
    """Yield offsets of a label's centre, beginning near its point, at its right."""
    for radius in _RADII:
        for turn in range(_ANGLES):
            # Right, left, and then alternately further up and down.
            angle = (turn // 2) * (1 if turn % 2 else -1) * 2 * np.pi / _ANGLES
            yield (
                round(float((radius + half[0]) * np.cos(angle)), 3),
                round(float((radius + half[1]) * np.sin(angle)), 3),
            )


def _lead(axes: Axes, place: Any, offset: tuple[float, float], half: tuple[float, float]) -> None:
    """Draw a line from a point to the nearest spot of its label, if that is far away."""
    near = (
        np.clip(0.0, offset[0] - half[0], offset[0] + half[0]),
        np.clip(0.0, offset[1] - half[1], offset[1] + half[1]),
    )
    if float(np.hypot(*near)) <= _LEADER:
        return
    axes.annotate(
        "",
        place,
        xytext=(float(near[0]), float(near[1])),
        textcoords="offset points",
        arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 3},
        zorder=2,
    ).set_in_layout(False)


def _box(x: float, y: float, width: float, height: float) -> Box:
    return x - width, y - height, x + width, y + height
