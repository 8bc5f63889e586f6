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
    "predictions",
    "profile_averages",
    "profile_value",
    "read_tasks",
    "tasks",
]

if TYPE_CHECKING:
    from pfgen_rs.llm_jp_eval.averaging import averages
    from pfgen_rs.llm_jp_eval.conversion.converting import Conversion, convert
    from pfgen_rs.llm_jp_eval.evaluation_files import read_tasks
    from pfgen_rs.llm_jp_eval.measures import correlation, mean
    from pfgen_rs.llm_jp_eval.metrics import metric
    from pfgen_rs.llm_jp_eval.profiles import profile_averages, profile_value
    from pfgen_rs.llm_jp_eval.reading import prediction, predictions
    from pfgen_rs.llm_jp_eval.registry import tasks
    from pfgen_rs.llm_jp_eval.scoring import evaluate
else:
    from pfgen_rs import lazy

    __getattr__, __dir__ = lazy.exports(
        __name__,
        {
            "averaging": ("averages",),
            "evaluation_files": ("read_tasks",),
            "registry": ("tasks",),
            "profiles": ("profile_averages", "profile_value"),
            "reading": ("prediction", "predictions"),
            "conversion.converting": ("Conversion", "convert"),
            "metrics": ("metric",),
            "scoring": ("evaluate",),
            "measures": ("correlation", "mean"),
        },
    )
