"""Charts of pages: coordinates of points, bars and ticks."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property

_TENTH = 0.1
_SAME = 1e-9
_LINE, _EDGE = 180.0, 8.0
_WIDTH, _HEIGHT = 400.0, 120.0
_STEPS = (1, 2, 5)
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
    for power in range(-2, 12):
        for digit in _STEPS:
            step = digit * 10.0**power
            if width / step <= _TICKS - 1:
                return step, max(-power, 0)
    return width, 0


# Scatter plots of pages: places of points, ticks, the frontier and its labels.


_PLOT_WIDTH, _PLOT_HEIGHT = 480.0, 180.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 34.0, 12.0, 18.0, 24.0
_STEP = 0.2
_LETTER, _TEXT_LINE = 5.9, 13.0  # of labels, in the units of the drawing
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


Ticks = Callable[[float, float], list[tuple[float, str]]]


def size_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Returns the powers of ten on an axis of decimal logarithms of billions of parameters."""
    texts = {-2: "10M", -1: "100M", 0: "1B", 1: "10B", 2: "100B", 3: "1T", 4: "10T"}
    powers = range(math.ceil(low), math.floor(high) + 1)
    return [(power, texts[power]) for power in powers if power in texts]


def date_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Returns the starts of years or, within two years, of half-years, on an axis of days as ordinals."""
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
    ticks: Ticks

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
        return round(_LEFT + (value - low) / (high - low) * (_PLOT_WIDTH - _LEFT - _RIGHT), 1)

    def y(self, score: float) -> float:
        """Returns the vertical place of a score, to a tenth of a unit."""
        share = min(max(score / self.top, 0.0), 1.0)
        return round(_PLOT_HEIGHT - _BOTTOM - share * (_PLOT_HEIGHT - _TOP - _BOTTOM), 1)

    @property
    def columns(self) -> list[tuple[float, str]]:
        """Places and labels of the horizontal axis."""
        return [(self.x(value), text) for value, text in self.ticks(*self.bounds)]

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
        return "".join([*parts, f"H{_PLOT_WIDTH - _RIGHT:g}"])

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
            if _fits(box) and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                found.append(label)
        return found


def _box_of_label(label: Label) -> Box:
    width = _LETTER * sum(2 if ord(c) >= _WIDE else 1 for c in label.text)
    return label.x - width, label.y - _TEXT_LINE + 3, label.x, label.y + 3


def _fits(box: Box) -> bool:
    return box[0] >= _LEFT and box[1] >= 0 and box[2] <= _PLOT_WIDTH


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
