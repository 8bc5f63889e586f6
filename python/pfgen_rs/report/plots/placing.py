"""Places marks next to points without overlaps."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

__all__ = ["LEADER", "SIZE", "offsets_of"]

SIZE = 7.5  # points, of a mark's letters
LEADER = 10.0  # from so far away on, a line leads to the mark
_POINT = 4.0  # half the width of a marker
_NEAR = 14.0  # within this, points are a crowd
_RADII = (6.5, 11.0, 16.0, 22.0, 29.0)
_ANGLES = 16

Box = tuple[float, float, float, float]


def offsets_of(places: Any, marks: Sequence[str], frame: Any) -> list[tuple[float, float]]:
    """Returns the offset of each mark from its point in points (1/72 inch), in the order of the marks.

    `places`: positions of the points, shape (points, 2); the first ones have the marks. `frame`: left,
    bottom, right and top that marks should not cross. Each mark in turn gets the place of least cost, which
    grows with the distance and with overlaps with points, marks and leader lines. Time O(marks · points),
    with up to 80 places tried for each.
    """
    taken: list[Box] = [_box_around(x, y, _POINT, _POINT) for x, y in places]
    found = []
    for (x, y), mark in zip(places, marks, strict=False):
        width, height = 0.33 * SIZE * len(mark) + 0.5, 0.5 * SIZE
        dx, dy = _cheapest_placing(places, np.array(taken), frame, (x, y, width, height))
        taken += [_box_around(x + dx, y + dy, width, height), *_leader_to_placed_mark(x, y, dx, dy)]
        found.append((dx, dy))
    return found


def _cheapest_placing(places: Any, taken: Any, frame: Any, mark: Box) -> tuple[float, float]:
    """Returns the offset of a mark from its point, given half its size."""
    x, y, width, height = mark
    best, least = (0.0, 0.0), math.inf
    for step, dx, dy in _placing_candidates(width):
        if least <= step:  # what comes is further still
            break
        box = _box_around(x + dx, y + dy, width, height)
        shared = _area_shared_when_placed(box, taken) + sum(
            _area_shared_when_placed(part, taken) for part in _leader_to_placed_mark(x, y, dx, dy)
        )
        cost = (
            shared
            + step
            + _crowdedness_of_placing(places, x + dx, y + dy)
            + 1000 * _is_placed_outside_frame(box, frame)
        )
        if cost < least:
            best, least = (dx, dy), cost
    return best


def _leader_to_placed_mark(x: float, y: float, dx: float, dy: float) -> list[Box]:
    """Returns points of the leader line of a mark, if it is long enough to be in the way."""
    if math.hypot(dx, dy) <= LEADER:
        return []
    return [_box_around(x + share * dx, y + share * dy, 1.2, 1.2) for share in (0.45, 0.6, 0.75)]


def _placing_candidates(width: float) -> Iterable[tuple[float, float, float]]:
    """Yields costs of the distance, and offsets, starting at the upper right."""
    for radius in _RADII:
        for i in range(_ANGLES):
            angle = math.pi * (0.25 + 2 * i / _ANGLES)
            dx = (radius + width - 2) * math.cos(angle)
            yield radius / 4 + i / 100, round(dx, 3), round(radius * math.sin(angle), 3)


def _area_shared_when_placed(box: Box, others: Any) -> float:
    """Returns the area that a box shares with others."""
    across = np.minimum(box[2], others[:, 2]) - np.maximum(box[0], others[:, 0])
    along = np.minimum(box[3], others[:, 3]) - np.maximum(box[1], others[:, 1])
    return float((np.clip(across, 0, None) * np.clip(along, 0, None)).sum())


def _is_placed_outside_frame(box: Box, frame: Any) -> bool:
    return bool(box[0] < frame[0] or box[1] < frame[1] or box[2] > frame[2] or box[3] > frame[3])


def _crowdedness_of_placing(places: Any, x: float, y: float) -> float:
    """Returns how crowded with points a place is."""
    distances = np.hypot(*(places - (x, y)).T)
    near: float = np.exp(-((distances / _NEAR) ** 2)).sum()
    return 1.5 * near


def _box_around(x: float, y: float, width: float, height: float) -> Box:
    return (x - width, y - height, x + width, y + height)
