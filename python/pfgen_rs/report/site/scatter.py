"""Scatter plots of pages: places of points, ticks, the frontier and its labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property

__all__ = ["Dates", "Label", "Point", "Scatter", "Sizes"]

WIDTH, HEIGHT = 480.0, 180.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 34.0, 12.0, 18.0, 24.0
_STEP = 0.2
_LETTER, _LINE = 5.9, 13.0  # of labels, in the units of the drawing
_WIDE = 0x2E80  # characters from here on take the place of two
_LONGEST = 26
_MARGIN = 0.04

Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Point:
    """A point: value on the horizontal axis, score; name of the model; value and its source as text; run."""

    value: float
    score: float
    name: str
    text: str
    source: str
    run: str


@dataclass(frozen=True)
class Label:
    """The name of a point, with the place where it ends."""

    x: float
    y: float
    text: str


class Sizes:
    """A horizontal axis of decimal logarithms of billions of parameters."""

    @staticmethod
    def ticks(low: float, high: float) -> list[tuple[float, str]]:
        """Returns the powers of ten within the bounds with their labels."""
        texts = {-2: "10M", -1: "100M", 0: "1B", 1: "10B", 2: "100B", 3: "1T", 4: "10T"}
        powers = range(math.ceil(low), math.floor(high) + 1)
        return [(power, texts[power]) for power in powers if power in texts]


class Dates:
    """A horizontal axis of days as ordinals (`date.toordinal`)."""

    @staticmethod
    def ticks(low: float, high: float) -> list[tuple[float, str]]:
        """Returns the starts of years or, within two years, of half-years with their labels."""
        first, last = date.fromordinal(int(low)), date.fromordinal(int(high))
        months = (1, 7) if last.year - first.year <= 2 else (1,)
        days = [date(y, m, 1) for y in range(first.year, last.year + 1) for m in months]
        return [
            (day.toordinal(), f"{day:%Y-%m}" if len(months) > 1 else f"{day:%Y}")
            for day in days
            if low <= day.toordinal() <= high
        ]


@dataclass(frozen=True)
class Scatter:
    """Points of 480 by 180 units, with axes; not empty."""

    points: Sequence[Point]
    kind: type[Sizes] | type[Dates]

    @cached_property
    def bounds(self) -> tuple[float, float]:
        """The ends of the horizontal axis: of all values, and a little more."""
        values = [point.value for point in self.points]
        low, high = min(values), max(values)
        margin = (high - low) * _MARGIN or 0.5
        return low - margin, high + margin

    @cached_property
    def top(self) -> float:
        """The upper end of the vertical axis, which starts at 0: a multiple of 0.2."""
        return max(math.ceil(max(p.score for p in self.points) / _STEP - 1e-9), 1) * _STEP

    def x(self, value: float) -> float:
        """Returns the horizontal place of a value, to a tenth of a unit."""
        low, high = self.bounds
        return round(_LEFT + (value - low) / (high - low) * (WIDTH - _LEFT - _RIGHT), 1)

    def y(self, score: float) -> float:
        """Returns the vertical place of a score, to a tenth of a unit."""
        share = min(max(score / self.top, 0.0), 1.0)
        return round(HEIGHT - _BOTTOM - share * (HEIGHT - _TOP - _BOTTOM), 1)

    @property
    def columns(self) -> list[tuple[float, str]]:
        """Places and labels of the horizontal axis."""
        return [(self.x(value), text) for value, text in self.kind.ticks(*self.bounds)]

    @property
    def lines(self) -> list[tuple[float, str]]:
        """Places and labels of the vertical axis."""
        steps = range(round(self.top / _STEP) + 1)
        return [(self.y(i * _STEP), f"{i * _STEP:.1f}") for i in steps]

    @cached_property
    def frontier(self) -> list[Point]:
        """The points that no other point of a value as low or lower reaches in score, by value."""
        found: list[Point] = []
        for point in sorted(self.points, key=lambda p: (p.value, -p.score)):
            if not found or point.score > found[-1].score:
                found.append(point)
        return found

    @property
    def others(self) -> list[Point]:
        """The points that are not on the frontier."""
        best = {point.run for point in self.frontier}
        return [point for point in self.points if point.run not in best]

    @property
    def steps(self) -> str:
        """The frontier as a path: level until the next point, then up."""
        first, *rest = self.frontier
        parts = [f"M{self.x(first.value):g} {self.y(first.score):g}"]
        parts += [f"H{self.x(point.value):g}V{self.y(point.score):g}" for point in rest]
        return "".join([*parts, f"H{WIDTH - _RIGHT:g}"])

    @property
    def labels(self) -> list[Label]:
        """Names of points of the frontier, the best first, as far as there is room for them.

        They stand to the left above their points, where no point can be.
        """
        taken: list[Box] = []
        found = []
        for point in reversed(self.frontier):
            text = point.name if len(point.name) <= _LONGEST else f"{point.name[: _LONGEST - 1]}…"
            label = Label(self.x(point.value) - 5, self.y(point.score) - 5, text)
            box = _box_of_label(label)
            if _is_in_drawing(box) and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                found.append(label)
        return found


def _box_of_label(label: Label) -> Box:
    width = _LETTER * sum(2 if ord(c) >= _WIDE else 1 for c in label.text)
    return label.x - width, label.y - _LINE + 3, label.x, label.y + 3


def _is_in_drawing(box: Box) -> bool:
    return box[0] >= _LEFT and box[1] >= 0 and box[2] <= WIDTH


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
