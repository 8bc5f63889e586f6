"""Figures by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pfgen_rs.errors import PlotError
from pfgen_rs.llm_jp_eval.report.plots.bars import MOST_BARS, bars
from pfgen_rs.llm_jp_eval.report.plots.radar import radar
from pfgen_rs.llm_jp_eval.report.plots.task_map import MOST_ROWS, task_map
from pfgen_rs.llm_jp_eval.report.report import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["KINDS", "MOST_RUNS", "draw"]

KINDS: Mapping[str, Callable[..., Figure]] = MappingProxyType(
    {"radar": radar, "bars": bars, "tasks": task_map}
)
"""Figures by name."""
MOST_RUNS: Mapping[str, int] = MappingProxyType({"bars": MOST_BARS, "tasks": MOST_ROWS})
"""Number of runs that a figure shows, the best ones, where it leaves others out."""


def draw(kind: str, report: Report, **look: Any) -> Figure:
    """Draw a figure of `KINDS`; `look`: `title`, `language` and `font`. Raises `PlotError`."""
    if kind not in KINDS:
        raise PlotError(f"unknown figure {kind!r}: expected one of {', '.join(KINDS)}")
    return KINDS[kind](report, **look)
