"""llm-jp-eval: twelve Japanese data sets as generation tasks, with the published files and figures."""

from typing import TYPE_CHECKING

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
    from pfgen_rs.llm_jp_eval.catalog import (
        TaskInfo,
        averages,
        chosen_tasks,
        find_task,
        score_texts,
        tasks,
    )
    from pfgen_rs.llm_jp_eval.conversion.converting import Conversion, convert
    from pfgen_rs.llm_jp_eval.conversion.installing import install_raw
    from pfgen_rs.llm_jp_eval.data import (
        Sample,
        TaskData,
        find_data,
        installed_data,
        installed_raw,
        read_task,
        read_tasks,
    )
    from pfgen_rs.llm_jp_eval.metrics.columns import metric
    from pfgen_rs.llm_jp_eval.metrics.samples import normalized_gold, prediction
    from pfgen_rs.llm_jp_eval.metrics.totals import correlation, mean
    from pfgen_rs.llm_jp_eval.outputs import read_outputs
    from pfgen_rs.llm_jp_eval.prompts import filled, template
    from pfgen_rs.llm_jp_eval.results import PromptSettings, ScoreSettings, read_result, signature
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
            "catalog": (
                "TaskInfo",
                "averages",
                "chosen_tasks",
                "find_task",
                "score_texts",
                "tasks",
            ),
            "conversion.converting": ("Conversion", "convert"),
            "conversion.installing": ("install_raw",),
            "data": (
                "Sample",
                "TaskData",
                "find_data",
                "installed_data",
                "installed_raw",
                "read_task",
                "read_tasks",
            ),
            "metrics.columns": ("metric",),
            "metrics.samples": ("normalized_gold", "prediction"),
            "metrics.totals": ("correlation", "mean"),
            "outputs": ("read_outputs",),
            "prompts": ("filled", "template"),
            "results": ("PromptSettings", "ScoreSettings", "read_result", "signature"),
            "running": ("run_tasks", "score_run"),
            "scoring": ("Evaluation", "evaluate", "evaluate_variants", "standard_errors"),
        },
    )
