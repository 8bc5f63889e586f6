"""Drawings of a page: where points, bars and ticks lie."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pfgen_rs.report.run_view import Histogram

__all__ = ["Axis", "Bars"]

_TENTH = 0.1
_SAME = 1e-9
_LINE, _EDGE = 180.0, 8.0
WIDTH, HEIGHT = 400.0, 120.0
_STEPS = (1, 2, 5)
_TICKS = 9


@dataclass(frozen=True)
class Axis:
    """Scores from `low` to `high`, multiples of 0.1, drawn on a line of 180 units."""

    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Axis:
        """The shortest axis that holds all values."""
        finite = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
        low = math.floor(min(finite) / _TENTH + 1e-9)
        high = max(math.ceil(max(finite) / _TENTH - 1e-9), low + 1)
        return cls(low * _TENTH, high * _TENTH)

    @classmethod
    def of_most(cls, intervals: Sequence[tuple[float, float]]) -> Axis:
        """An axis for intervals of scores, less the lowest eighth: few would press all others together."""
        lows, highs = sorted(low for low, _ in intervals), sorted(high for _, high in intervals)
        return cls.of([*lows[len(lows) // 8 :], *highs[-1:]])

    def at(self, value: float) -> float:
        """Where a value stands, to a tenth of a unit; the nearest end where it stands outside."""
        share = min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)
        return round(_EDGE + share * (_LINE - 2 * _EDGE), 1)

    def holds(self, value: float) -> bool:
        """Whether a value stands on the axis."""
        return self.low - _SAME <= value <= self.high + _SAME

    def whisker(self, low: float, high: float) -> str:
        """A line from bound to bound as a path; a bound that is outside has no cap."""
        caps = "".join(f"M{self.at(v)} 4V12" for v in (low, high) if self.holds(v))
        return f"M{self.at(low)} 8H{self.at(high)}{caps}"

    def arrow(self, value: float) -> str:
        """A triangle at the end beyond which a value stands, as a path."""
        place, tip = (self.at(value), -_EDGE) if value < self.low else (self.at(value), _EDGE)
        return f"M{place} 3.5V12.5L{place + tip:g} 8Z"

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Every tenth, and what is written at it: all, or every other where there are many."""
        count = round((self.high - self.low) / _TENTH)
        every = 1 if count <= 6 else 2  # labels are 25 units wide
        values = [self.low + _TENTH * i for i in range(count + 1)]
        return [(self.at(v), f"{v:.1f}" if i % every == 0 else "") for i, v in enumerate(values)]

    @property
    def grid(self) -> str:
        """Lines at the ticks that have a label, as a path."""
        return "".join(f"M{place:g} 0V16" for place, label in self.ticks if label)


@dataclass(frozen=True)
class Bars:
    """A histogram in a field of 400 by 120 units, its axis below it."""

    histogram: Histogram

    def at(self, value: float) -> float:
        """Where a value stands."""
        start, stop = self.histogram.start, self.histogram.stop
        return round((value - start) / (stop - start) * WIDTH, 1)

    @property
    def bars(self) -> Sequence[tuple[float, float, float, float, float, float, int]]:
        """Of each bar: left, top, width and height, the values between which it lies, and its count."""
        counts = self.histogram.counts
        width, tallest = WIDTH / len(counts), max(counts)
        step = (self.histogram.stop - self.histogram.start) / len(counts)
        found = []
        for i, count in enumerate(counts):
            height = round(count / tallest * (HEIGHT - 4), 1)
            low = self.histogram.start + i * step
            place = (round(i * width, 2), round(HEIGHT - height, 1), round(width, 2), height)
            found.append((*place, low, low + step, count))
        return found

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Round values on the axis, at most nine, with their places."""
        start, stop = self.histogram.start, self.histogram.stop
        step, digits = _step(stop - start)
        first = -(-round(start / step, 6) // 1)
        values = [(first + i) * step for i in range(_TICKS + 1)]
        return [(self.at(v), f"{v:.{digits}f}") for v in values if v <= stop + step * 1e-6]


def _step(width: float) -> tuple[float, int]:
    """The smallest of 0.01, 0.02, 0.05, 0.1 … of which at most eight fill `width`, and its decimals."""
    for power in range(-2, 12):
        for digit in _STEPS:
            step = digit * 10.0**power
            if width / step <= _TICKS - 1:
                return step, max(-power, 0)
    return width, 0
