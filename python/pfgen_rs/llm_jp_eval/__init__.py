"""llm-jp-eval: twelve Japanese data sets as generation tasks, with the published files and figures."""

from typing import TYPE_CHECKING

# Not when it is first used: the module of the same name would take its place as soon as anybody imports that.
from pfgen_rs.llm_jp_eval.averages import averages

__all__ = [
    "Conversion",
    "Evaluation",
    "PromptSettings",
    "Sample",
    "ScoreSettings",
    "TaskData",
    "TaskInfo",
    "averages",
    "chosen_tasks",
    "convert",
    "correlation",
    "evaluate",
    "evaluate_variants",
    "filled",
    "find_data",
    "find_task",
    "install_raw",
    "installed_data",
    "installed_raw",
    "mean",
    "metric",
    "normalized_gold",
    "prediction",
    "read_outputs",
    "read_result",
    "read_task",
    "read_tasks",
    "run_tasks",
    "score_run",
    "score_texts",
    "signature",
    "standard_errors",
    "tasks",
    "template",
]

if TYPE_CHECKING:
    from pfgen_rs.llm_jp_eval.averages import score_texts
    from pfgen_rs.llm_jp_eval.catalog import TaskInfo, chosen_tasks, find_task, tasks
    from pfgen_rs.llm_jp_eval.conversion.converting import Conversion, convert
    from pfgen_rs.llm_jp_eval.data import Sample, TaskData, find_data, read_task, read_tasks
    from pfgen_rs.llm_jp_eval.installing import install_raw
    from pfgen_rs.llm_jp_eval.metrics.correlations import correlation
    from pfgen_rs.llm_jp_eval.metrics.means import mean
    from pfgen_rs.llm_jp_eval.metrics.values import metric
    from pfgen_rs.llm_jp_eval.outputs import read_outputs
    from pfgen_rs.llm_jp_eval.places import installed_data, installed_raw
    from pfgen_rs.llm_jp_eval.predictions import normalized_gold, prediction
    from pfgen_rs.llm_jp_eval.prompts import filled, template
    from pfgen_rs.llm_jp_eval.results import (
        PromptSettings,
        ScoreSettings,
        read_result,
        signature,
    )
    from pfgen_rs.llm_jp_eval.running import run_tasks, score_run
    from pfgen_rs.llm_jp_eval.scoring import (
        Evaluation,
        evaluate,
        evaluate_variants,
        standard_errors,
    )
else:
    from pfgen_rs import lazy

    __getattr__, __dir__ = lazy.exports(
        __name__,
        {
            "averages": ("score_texts",),
            "catalog": ("TaskInfo", "chosen_tasks", "find_task", "tasks"),
            "conversion.converting": ("Conversion", "convert"),
            "data": ("Sample", "TaskData", "find_data", "read_task", "read_tasks"),
            "installing": ("install_raw",),
            "metrics.correlations": ("correlation",),
            "metrics.means": ("mean",),
            "metrics.values": ("metric",),
            "outputs": ("read_outputs",),
            "places": ("installed_data", "installed_raw"),
            "predictions": ("normalized_gold", "prediction"),
            "prompts": ("filled", "template"),
            "results": ("PromptSettings", "ScoreSettings", "read_result", "signature"),
            "running": ("run_tasks", "score_run"),
            "scoring": ("Evaluation", "evaluate", "evaluate_variants", "standard_errors"),
        },
    )
