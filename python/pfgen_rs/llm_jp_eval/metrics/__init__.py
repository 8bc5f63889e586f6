"""Metrics of llm-jp-eval, value for value: of single samples, of columns, and as polars expressions."""

from typing import TYPE_CHECKING

__all__ = [
    "gold_column",
    "gold_expression",
    "metric",
    "metric_column",
    "metric_expression",
    "output_metric_column",
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
    from pfgen_rs.llm_jp_eval.metrics.samples import sample_metric, sample_metrics
else:
    from pfgen_rs import lazy

    _SAMPLES = ("sample_metric", "sample_metrics")
    _COLUMNS = tuple(name for name in __all__ if name not in _SAMPLES)
    __getattr__, __dir__ = lazy.exports(__name__, {"columns": _COLUMNS, "samples": _SAMPLES})
