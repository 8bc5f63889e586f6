"""The task class referenced by the YAML files of llm-jp-eval."""

from __future__ import annotations

from typing import Any

from lm_eval.api import task as tasks

from pfgen_rs.integrations.lm_eval.jpeval_choices import jpeval_choices
from pfgen_rs.integrations.lm_eval.jpeval_scoring import jpeval_metric_list, jpeval_values
from pfgen_rs.llm_jp_eval.results import PromptSettings, ScoreSettings, signature

__all__ = ["JpevalTask"]

# 0.5 has a class for each type of task, 0.4 one for all.
_Base: Any = getattr(tasks, "GenerateTask", tasks.ConfigurableTask)


class JpevalTask(_Base):  # type: ignore[misc]
    """A harness task that is one of the tasks of llm-jp-eval."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._chosen = jpeval_choices(config.get("metadata") or {})
        self._data = self._chosen.read(config["dataset_kwargs"]["jpeval_task"])
        sampling = {"max_gen_toks": self._data.output_length, **config["generation_kwargs"]}
        ours = {
            "generation_kwargs": sampling,
            "metric_list": jpeval_metric_list(self._data),
            "process_results": jpeval_values,
        }
        super().__init__(config={k: v for k, v in config.items() if k != "class"} | ours)

    def build_all_requests(self, **options: Any) -> Any:
        """Note the signature, and bypass the cache, which ignores settings and data."""
        limit = options.get("limit")
        prompts = PromptSettings(self._chosen.shots, chat=bool(options.get("apply_chat_template")))
        settings = ScoreSettings(
            self._chosen.variant, n=None if limit is None else int(limit), prompts=prompts
        )
        # Part of the results' "configs": what makes the scores reproducible.
        self.config.metadata["signature"] = signature([self._data], settings)
        return super().build_all_requests(**options | {"cache_requests": False})

    def aggregate(self, bootstrap_iters: int | None = None) -> Any:
        """Returns the results of a run, without 0.5's bootstrap over documents."""
        del bootstrap_iters
        return super().aggregate(bootstrap_iters=0)
