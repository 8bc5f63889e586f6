"""Figures about runs of llm-jp-eval (requires the extra `plots`).

Every function takes a `Report` and returns a `matplotlib.figure.Figure`. All take `title`, `language` (`en`
or `ja`) and `font`.
"""

from pfgen_rs.drawing.figures import png, save, svg
from pfgen_rs.llm_jp_eval.report.plots.bars import bars
from pfgen_rs.llm_jp_eval.report.plots.kinds import KINDS, MOST_RUNS, draw
from pfgen_rs.llm_jp_eval.report.plots.radar import radar
from pfgen_rs.llm_jp_eval.report.plots.task_map import task_map

__all__ = [
    "KINDS",
    "MOST_RUNS",
    "bars",
    "draw",
    "png",
    "radar",
    "save",
    "svg",
    "task_map",
]
