"""Metrics of llm-jp-eval, value for value: of single samples, of columns, and over all samples of a task."""

from typing import TYPE_CHECKING

__all__ = [
    "CORRELATIONS",
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
    "sample_metric",
    "sample_metrics",
]

if TYPE_CHECKING:
    from pfgen_rs.llm_jp_eval.metrics.columns import (
        gold_column,
        gold_expression,
        metric,
        metric_column,
        metric_expression,
        output_metric_column,
        prediction_column,
        prediction_expression,
    )
    from pfgen_rs.llm_jp_eval.metrics.samples import CORRELATIONS, sample_metric, sample_metrics
    from pfgen_rs.llm_jp_eval.metrics.totals import correlation, mean, parse_float
else:
    from pfgen_rs import lazy

    __getattr__, __dir__ = lazy.exports(
        __name__,
        {
            "columns": (
                "gold_column",
                "gold_expression",
                "metric",
                "metric_column",
                "metric_expression",
                "output_metric_column",
                "prediction_column",
                "prediction_expression",
            ),
            "samples": ("CORRELATIONS", "sample_metric", "sample_metrics"),
            "totals": ("correlation", "mean", "parse_float"),
        },
    )
