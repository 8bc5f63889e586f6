"""Figures about runs, as matplotlib figures, SVG and PNG (requires the extra `plots`).

Every function takes tables or samples and returns a `matplotlib.figure.Figure`. None uses pyplot, and the
caller's settings are restored. All take `title`, `language` (`en` or `ja`) and `font` (a Japanese family or
the path of a font).
"""

from pfgen_rs.drawing.saving import png, save, svg
from pfgen_rs.drawing.style import available
from pfgen_rs.report.plots.categories import category_map, category_means
from pfgen_rs.report.plots.convergence import convergence, running
from pfgen_rs.report.plots.distributions import distributions
from pfgen_rs.report.plots.frames import question_scores, responses, source_scores
from pfgen_rs.report.plots.intervals import intervals
from pfgen_rs.report.plots.learning import learning_curve
from pfgen_rs.report.plots.metrics import metric_pairs, score_length
from pfgen_rs.report.plots.sources import source_means, source_pairs
from pfgen_rs.report.plots.steps import score_steps, series

__all__ = [
    "available",
    "category_map",
    "category_means",
    "convergence",
    "distributions",
    "intervals",
    "learning_curve",
    "metric_pairs",
    "png",
    "question_scores",
    "responses",
    "running",
    "save",
    "score_length",
    "score_steps",
    "series",
    "source_means",
    "source_pairs",
    "source_scores",
    "svg",
]
