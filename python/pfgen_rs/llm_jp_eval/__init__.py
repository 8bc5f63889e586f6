"""llm-jp-eval: twelve Japanese data sets as generation tasks, with the published files and figures."""

from typing import TYPE_CHECKING

__all__ = ["TaskInfo", "chosen_tasks", "find_task", "tasks"]

if TYPE_CHECKING:
    from pfgen_rs.llm_jp_eval.catalog import TaskInfo, chosen_tasks, find_task, tasks
else:
    from pfgen_rs import lazy

    __getattr__, __dir__ = lazy.exports(
        __name__,
        {
            "catalog": ("TaskInfo", "chosen_tasks", "find_task", "tasks"),
        },
    )
