"""llm-jp-eval: twelve Japanese data sets as generation tasks, with the published files and figures."""

from typing import TYPE_CHECKING

__all__ = [
    "Conversion",
    "add_folder",
    "averages",
    "convert",
    "converter",
    "correlation",
    "evaluate",
    "mean",
    "metric",
    "prediction",
    "predictions",
    "profile_averages",
    "profile_value",
    "read_tasks",
    "task_figure",
    "tasks",
]

if TYPE_CHECKING:
    from pfgen_rs.llm_jp_eval.averaging import averages
    from pfgen_rs.llm_jp_eval.conversion.converting import Conversion, convert, converter
    from pfgen_rs.llm_jp_eval.evaluation_files import read_tasks
    from pfgen_rs.llm_jp_eval.measures import correlation, mean, task_figure
    from pfgen_rs.llm_jp_eval.metrics import metric
    from pfgen_rs.llm_jp_eval.profiles import profile_averages, profile_value
    from pfgen_rs.llm_jp_eval.reading import prediction, predictions
    from pfgen_rs.llm_jp_eval.registry import add_folder, tasks
    from pfgen_rs.llm_jp_eval.scoring import evaluate
else:
    from pfgen_rs import lazy

    __getattr__, __dir__ = lazy.exports(
        __name__,
        {
            "averaging": ("averages",),
            "evaluation_files": ("read_tasks",),
            "registry": ("add_folder", "tasks"),
            "profiles": ("profile_averages", "profile_value"),
            "reading": ("prediction", "predictions"),
            "conversion.converting": ("Conversion", "convert", "converter"),
            "metrics": ("metric",),
            "scoring": ("evaluate",),
            "measures": ("correlation", "mean", "task_figure"),
        },
    )
