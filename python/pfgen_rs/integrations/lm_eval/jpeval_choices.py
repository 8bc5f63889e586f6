"""Settings of the tasks of llm-jp-eval: `--metadata '{"llm_jp_eval": {…}}'` and an environment variable."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

from pfgen_rs.integrations.lm_eval.choices import (
    check_choice_types,
    choices_under,
    misplaced_choice,
)
from pfgen_rs.llm_jp_eval.data import TaskData, read_task
from pfgen_rs.llm_jp_eval.metrics.samples import check_variant
from pfgen_rs.llm_jp_eval.prompts import SHOTS

__all__ = ["DATA", "JPEVAL_KEY", "JpevalChoices", "jpeval_choices"]

JPEVAL_KEY = "llm_jp_eval"
DATA = "PFGEN_RS_LLM_JP_EVAL"


@dataclass(frozen=True)
class JpevalChoices:
    """Settings of a task.

    `data`: a folder of converted files (empty: the installed ones). `split`: `train`, `dev` or `test`.
    `shots`: number of examples in prompts. `variant`: how outputs become predictions.
    """

    data: str = ""
    split: str = "test"
    shots: int = SHOTS
    variant: str = "upstream"

    def __post_init__(self) -> None:
        """Raise `SettingsError` for values of the wrong type and unknown variants."""
        check_choice_types(self, JPEVAL_KEY)
        check_variant(self.variant)

    def read(self, task: str) -> TaskData:
        """Returns the samples of a task; see `read_task`."""
        return _read_jpeval_task(self.data, task, self.split)


def jpeval_choices(metadata: Mapping[str, Any]) -> JpevalChoices:
    """Returns the settings in a task's metadata, then in the environment, then the defaults.

    The harness adds the model's arguments to the metadata, so our settings have their own key. Raises
    `SettingsError`, also for settings outside that key.
    """
    known = [field.name for field in fields(JpevalChoices)]
    for name in known:
        if metadata.get(name) is not None:
            raise misplaced_choice(JPEVAL_KEY, name, metadata[name])
    chosen = choices_under(JPEVAL_KEY, metadata, known)
    return JpevalChoices(**{"data": os.environ.get(DATA) or "", **chosen})


@lru_cache(maxsize=4)
def _read_jpeval_task(folder: str, task: str, split: str) -> TaskData:
    return read_task(folder or None, task, split)
