"""Metrics of llm-jp-eval, value for value: of single samples, of columns, and over all samples of a task."""

from typing import TYPE_CHECKING

__all__ = ["CORRELATIONS", "METRICS", "correlation", "mean", "metric", "parse_float"]

if TYPE_CHECKING:
    from pfgen_rs.llm_jp_eval.metrics.correlations import CORRELATIONS, correlation, parse_float
    from pfgen_rs.llm_jp_eval.metrics.means import mean
    from pfgen_rs.llm_jp_eval.metrics.values import METRICS, metric
else:
    from pfgen_rs import lazy

    __getattr__, __dir__ = lazy.exports(
        __name__,
        {
            "correlations": ("CORRELATIONS", "correlation", "parse_float"),
            "means": ("mean",),
            "values": ("METRICS", "metric"),
        },
    )
