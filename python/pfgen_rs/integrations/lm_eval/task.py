"""The task class referenced by the YAML files."""

from __future__ import annotations

from typing import Any

from lm_eval.api import task as tasks

from pfgen_rs.benchmark import load_benchmark
from pfgen_rs.errors import SettingsError
from pfgen_rs.integrations.lm_eval.choices import choices
from pfgen_rs.integrations.lm_eval.scoring import document_scores, metric_list

__all__ = ["PfgenTask"]

# 0.5 has a class for each type of task, 0.4 one for all.
_Base: Any = getattr(tasks, "GenerateTask", tasks.ConfigurableTask)


class PfgenTask(_Base):  # type: ignore[misc]
    """A harness task in one of the three modes."""

    def __init__(self, config: dict[str, Any]) -> None:
        ours = {"metric_list": metric_list(), "process_results": document_scores}
        super().__init__(config={k: v for k, v in config.items() if k != "class"} | ours)
        chosen = choices(self.config.metadata)
        self._send_seeds = chosen.send_seeds
        # Part of the results' "configs": what makes the scores reproducible.
        self.config.metadata["signature"] = load_benchmark(chosen.benchmark).signature

    def build_all_requests(self, **options: Any) -> Any:
        """Reject prompts that would differ from ours, and bypass the cache, which ignores trials."""
        _check_task_template(
            self.config.dataset_kwargs["pfgen_mode"], options["apply_chat_template"]
        )
        return super().build_all_requests(**options | {"cache_requests": False})

    def construct_requests(self, doc: dict[str, Any], ctx: Any, **more: Any) -> Any:
        """Returns the request for a document, with its trial's seed if `send_seeds` is set."""
        made = super().construct_requests(doc, ctx, **more)
        if self._send_seeds:
            for request in made if isinstance(made, list) else [made]:
                request.arguments[1]["seed"] = doc["seed"]
        return made

    def aggregate(self, bootstrap_iters: int | None = None) -> Any:
        """Returns the results of a run, without 0.5's bootstrap over answers."""
        del bootstrap_iters
        return super().aggregate(bootstrap_iters=0)


def _check_task_template(mode: str, applied: bool) -> None:
    if mode == "chat" and not applied:
        raise SettingsError("pfgen_chat has a system message: add --apply_chat_template")
    if mode == "completion" and applied:
        raise SettingsError(
            "pfgen asks the model to continue a text, which a chat template would wrap: omit "
            "--apply_chat_template, or use pfgen_qa or pfgen_chat"
        )
