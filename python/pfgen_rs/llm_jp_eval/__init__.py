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
    from pfgen_rs.llm_jp_eval.catalog import averages, read_tasks, tasks
    from pfgen_rs.llm_jp_eval.conversion.converting import Conversion, convert
    from pfgen_rs.llm_jp_eval.measures import correlation, mean, prediction
    from pfgen_rs.llm_jp_eval.metrics import metric
    from pfgen_rs.llm_jp_eval.scoring import evaluate
else:
    from pfgen_rs import lazy

    __getattr__, __dir__ = lazy.exports(
        __name__,
        {
            "catalog": ("averages", "read_tasks", "tasks"),
            "conversion.converting": ("Conversion", "convert"),
            "metrics": ("metric",),
            "scoring": ("evaluate",),
            "measures": ("correlation", "mean", "prediction"),
        },
    )
