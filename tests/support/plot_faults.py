"""What is wrong with the texts of a figure: they are cut off by its edge, or lie on each other."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

SLACK = 1.5  # pixels by which boxes may overlap: they are taller than their letters


def text_faults(figure: Figure, *, but_marks: bool = False) -> list[str]:
    """Each text that is clipped, and each pair that overlaps.

    `but_marks`: leave out marks beside points, for which there may be no room among many points.
    """
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    texts = [text for text in drawn_texts(figure) if not (but_marks and _is_mark(text))]
    boxes = [(text, text.get_window_extent(renderer)) for text in texts]
    return [*_clipped(figure, boxes), *_overlapping(boxes)]


def drawn_texts(figure: Figure) -> Iterator[Text]:
    """The texts that a reader sees."""
    for axes in figure.axes:
        yield from filter(_is_drawn, _texts_of(axes))
    for text in (*figure.texts, *(t for legend in figure.legends for t in legend.get_texts())):
        if _is_drawn(text):
            yield text


def _texts_of(axes: Axes) -> Iterator[Text]:
    if not axes.get_visible():
        return
    found: Any = axes
    yield from axes.texts
    yield from (axes.title, found._left_title, found._right_title)
    legend = axes.get_legend()
    if legend is not None:
        yield from legend.get_texts()
    if axes.axison:
        for axis in (axes.xaxis, axes.yaxis):
            yield axis.label
            yield from _tick_labels(axis)


def _tick_labels(axis: Axis) -> Iterator[Text]:
    low, high = sorted(axis.get_view_interval())
    for tick in axis.get_major_ticks():
        if low <= tick.get_loc() <= high:
            yield from (tick.label1, tick.label2)


def _is_drawn(text: Text) -> bool:
    return bool(text.get_visible() and text.get_text().strip())


def _is_mark(text: Text) -> bool:
    return text.get_text().isalnum() and len(text.get_text()) <= 3 and text.get_fontsize() == 7.5


def _clipped(figure: Figure, boxes: list[tuple[Text, Bbox]]) -> Iterator[str]:
    whole = figure.bbox
    for text, box in boxes:
        beyond = max(whole.x0 - box.x0, whole.y0 - box.y0, box.x1 - whole.x1, box.y1 - whole.y1)
        if beyond > SLACK:
            yield f"clipped: {text.get_text()!r}"


def _overlapping(boxes: list[tuple[Text, Bbox]]) -> Iterator[str]:
    level = [(text, box) for text, box in boxes if text.get_rotation() % 90 == 0]
    for (one, a), (other, b) in combinations(level, 2):
        across = min(a.x1, b.x1) - max(a.x0, b.x0)
        along = min(a.y1, b.y1) - max(a.y0, b.y0)
        if across > SLACK and along > SLACK:
            yield f"overlapping: {one.get_text()!r}, {other.get_text()!r}"
