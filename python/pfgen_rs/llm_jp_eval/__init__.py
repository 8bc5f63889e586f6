"""llm-jp-eval: twelve Japanese data sets as generation tasks, with the published files and figures."""

from typing import TYPE_CHECKING

__all__ = [
    "Conversion",
    "averages",
    "convert",
    "correlation",
    "evaluate",
    "mean",
    "metric",
    "prediction",
    "read_tasks",
    "tasks",
]

if TYPE_CHECKING:
    from pfgen_rs.llm_jp_eval.catalog import averages, tasks
    from pfgen_rs.llm_jp_eval.conversion.converting import Conversion, convert
    from pfgen_rs.llm_jp_eval.data import read_tasks
    from pfgen_rs.llm_jp_eval.metrics.columns import metric
    from pfgen_rs.llm_jp_eval.metrics.samples import correlation, mean, prediction
    from pfgen_rs.llm_jp_eval.scoring import evaluate
else:
    from pfgen_rs import lazy

    __getattr__, __dir__ = lazy.exports(
        __name__,
        {
            "catalog": ("averages", "tasks"),
            "conversion.converting": ("Conversion", "convert"),
            "data": ("read_tasks",),
            "metrics.columns": ("metric",),
            "metrics.samples": ("correlation", "mean", "prediction"),
            "scoring": ("evaluate",),
        },
    )
