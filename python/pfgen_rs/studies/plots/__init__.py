"""Figures of studies (requires the extra `plots`): maps of correlations, and scatter plots with names.

Every function takes the result of a study and returns a `matplotlib.figure.Figure`. All take `title`,
`language` (`en` or `ja`) and `font`.
"""

from pfgen_rs.drawing.saving import png, save, svg
from pfgen_rs.studies.plots.correlation_map import correlation_map
from pfgen_rs.studies.plots.metric_matrix import metric_matrix
from pfgen_rs.studies.plots.scatter import against_figure, against_scatter

__all__ = [
    "against_figure",
    "against_scatter",
    "correlation_map",
    "metric_matrix",
    "png",
    "save",
    "svg",
]
