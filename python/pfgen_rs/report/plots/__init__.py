"""Figures about runs, as matplotlib figures, SVG and PNG (requires the extra `plots`).

Every function takes tables or samples and returns a `matplotlib.figure.Figure`. None uses pyplot, and the
caller's settings are restored. All take `title`, `language` (`en` or `ja`) and `font` (a Japanese family or
the path of a font).
"""

from pfgen_rs.drawing.figures import png, save, svg
from pfgen_rs.drawing.style import available
from pfgen_rs.report.plots.columns import category_intervals, category_means
from pfgen_rs.report.plots.inputs import responses, source_scores
from pfgen_rs.report.plots.metrics import metric_pairs, source_means, source_pairs
from pfgen_rs.report.plots.questions import clustered, question_map
from pfgen_rs.report.plots.scatter import scatter
from pfgen_rs.report.plots.scores import category_map, intervals, panels
from pfgen_rs.report.plots.spread import convergence, distributions, running
from pfgen_rs.report.plots.training import learning_curves, score_steps, series

__all__ = [
    "available",
    "category_intervals",
    "category_map",
    "category_means",
    "clustered",
    "convergence",
    "distributions",
    "intervals",
    "learning_curves",
    "metric_pairs",
    "panels",
    "png",
    "question_map",
    "responses",
    "running",
    "save",
    "scatter",
    "score_steps",
    "series",
    "source_means",
    "source_pairs",
    "source_scores",
    "svg",
]
