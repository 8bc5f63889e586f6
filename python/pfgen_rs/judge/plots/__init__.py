"""Figures about judges, as `pfgen_rs.report.plots` has them about runs (requires the extra `plots`).

Every function takes statistics (`pfgen_rs.judge.agreement`) or tables and returns a
`matplotlib.figure.Figure`. All take `title`, `language` (`en` or `ja`) and `font`.
"""

from pfgen_rs.drawing.figures import png, save, svg
from pfgen_rs.judge.plots.matrix import agreement_matrix
from pfgen_rs.judge.plots.position import position_bars
from pfgen_rs.judge.plots.ranks import ranks
from pfgen_rs.judge.plots.reliability import reliability
from pfgen_rs.judge.plots.scores import rating_scores

__all__ = [
    "agreement_matrix",
    "png",
    "position_bars",
    "ranks",
    "rating_scores",
    "reliability",
    "save",
    "svg",
]
