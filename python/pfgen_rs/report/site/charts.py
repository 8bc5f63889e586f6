"""Charts of pages: coordinates of points, bars and ticks."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

_TENTH = 0.1
_SAME = 1e-9
_LINE, _EDGE = 180.0, 8.0
_WIDTH, _HEIGHT = 400.0, 120.0
_DIGITS = (1, 2, 5)
_TICKS = 9


@dataclass(frozen=True)
class Axis:
    """An axis of scores from `low` to `high` (multiples of 0.1), 180 units long."""

    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Axis":
        """Returns the shortest axis that contains all values."""
        finite = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
        low = math.floor(min(finite) / _TENTH + 1e-9)
        high = max(math.ceil(max(finite) / _TENTH - 1e-9), low + 1)
        return cls(low * _TENTH, high * _TENTH)

    @classmethod
    def of_most(cls, intervals: Sequence[tuple[float, float]]) -> "Axis":
        """Returns an axis for intervals without the lowest eighth, which would squeeze the others."""
        lows, highs = sorted(low for low, _ in intervals), sorted(high for _, high in intervals)
        return cls.of([*lows[len(lows) // 8 :], *highs[-1:]])

    def at(self, value: float) -> float:
        """Returns the position of a value, to a tenth of a unit; the nearest end if it is outside."""
        share = min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)
        return round(_EDGE + share * (_LINE - 2 * _EDGE), 1)

    def holds(self, value: float) -> bool:
        """Whether a value is on the axis."""
        return self.low - _SAME <= value <= self.high + _SAME

    def whisker(self, low: float, high: float) -> str:
        """Returns a line between two bounds as a path; bounds outside the axis have no cap."""
        caps = "".join(f"M{self.at(v)} 4V12" for v in (low, high) if self.holds(v))
        return f"M{self.at(low)} 8H{self.at(high)}{caps}"

    def arrow(self, value: float) -> str:
        """Returns a triangle at the end of the axis beyond which a value lies, as a path."""
        place, tip = (self.at(value), -_EDGE) if value < self.low else (self.at(value), _EDGE)
        return f"M{place} 3.5V12.5L{place + tip:g} 8Z"

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Positions of all tenths with their labels; every other label is empty if there are many."""
        count = round((self.high - self.low) / _TENTH)
        every = 1 if count <= 6 else 2  # labels are 25 units wide
        values = [self.low + _TENTH * i for i in range(count + 1)]
        return [(self.at(v), f"{v:.1f}" if i % every == 0 else "") for i, v in enumerate(values)]

    @property
    def grid(self) -> str:
        """Lines at the labelled ticks, as a path."""
        return "".join(f"M{place:g} 0V16" for place, label in self.ticks if label)


@dataclass(frozen=True)
class Histogram:
    """Numbers of answers in bins of equal width, from `start` to `stop`; 400 by 120 units, with an axis."""

    start: float
    stop: float
    counts: list[int]

    def at(self, value: float) -> float:
        """Returns the position of a value."""
        return round((value - self.start) / (self.stop - self.start) * _WIDTH, 1)

    @property
    def bars(self) -> Sequence[tuple[float, float, float, float, float, float, int]]:
        """Left, top, width, height, lower and upper value, and count of each bar."""
        width, tallest = _WIDTH / len(self.counts), max(self.counts)
        step = (self.stop - self.start) / len(self.counts)
        found = []
        for i, count in enumerate(self.counts):
            height = round(count / tallest * (_HEIGHT - 4), 1)
            low = self.start + i * step
            place = (round(i * width, 2), round(_HEIGHT - height, 1), round(width, 2), height)
            found.append((*place, low, low + step, count))
        return found

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Positions and labels of at most nine round values on the axis."""
        step, digits = _tick_step(self.stop - self.start)
        first = -(-round(self.start / step, 6) // 1)
        values = [(first + i) * step for i in range(_TICKS + 1)]
        return [(self.at(v), f"{v:.{digits}f}") for v in values if v <= self.stop + step * 1e-6]


def _tick_step(width: float) -> tuple[float, int]:
    """Returns the smallest of 0.01, 0.02, 0.05, 0.1 … of which `width` has at most 8, and its decimals."""
    steps = ((digit * 10.0**power, max(-power, 0)) for power in range(-2, 12) for digit in _DIGITS)
    return next((found for found in steps if width / found[0] <= _TICKS - 1), (width, 0))
