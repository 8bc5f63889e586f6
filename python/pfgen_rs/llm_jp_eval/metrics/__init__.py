"""Metrics of llm-jp-eval, value for value: of single samples, of columns, and over all samples of a task."""

from typing import TYPE_CHECKING

__all__ = [
    "CORRELATIONS",
    "METRICS",
    "correlation",
    "gold_column",
    "gold_expression",
    "mean",
    "metric",
    "metric_column",
    "metric_expression",
    "output_metric_column",
    "parse_float",
    "prediction_column",
    "prediction_expression",
]

if TYPE_CHECKING:
    from pfgen_rs.llm_jp_eval.metrics.columns import (
        gold_column,
        metric_column,
        output_metric_column,
        prediction_column,
    )
    from pfgen_rs.llm_jp_eval.metrics.correlations import correlation, parse_float
    from pfgen_rs.llm_jp_eval.metrics.expressions import (
        gold_expression,
        metric_expression,
        prediction_expression,
    )
    from pfgen_rs.llm_jp_eval.metrics.means import mean
    from pfgen_rs.llm_jp_eval.metrics.names import CORRELATIONS, METRICS
    from pfgen_rs.llm_jp_eval.metrics.values import metric
else:
    from pfgen_rs import lazy

    __getattr__, __dir__ = lazy.exports(
        __name__,
        {
            "columns": (
                "gold_column",
                "metric_column",
                "output_metric_column",
                "prediction_column",
            ),
            "correlations": ("correlation", "parse_float"),
            "expressions": ("gold_expression", "metric_expression", "prediction_expression"),
            "means": ("mean",),
            "names": ("CORRELATIONS", "METRICS"),
            "values": ("metric",),
        },
    )
