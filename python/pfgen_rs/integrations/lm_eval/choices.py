"""Settings for users of the harness: `--metadata '{"pfgen": {…}}'`, and `llm_jp_eval` for its tasks."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar, get_args, get_type_hints

from pfgen_rs.errors import SettingsError
from pfgen_rs.llm_jp_eval import evaluation_files, prompts, registry
from pfgen_rs.questions.locate import BUNDLED, ENVIRONMENT

KEY, JPEVAL_KEY = "pfgen", "llm_jp_eval"
Kind = TypeVar("Kind")


@dataclass(frozen=True)
class Choices:
    """Settings of a task.

    `benchmark`: any argument of `load_benchmark`. `trials`: number of answers per question. `num_examples`,
    `seed`, `prefix`: as for `Prompter`. `think`: `strip` removes `<think>` blocks, `keep` does not.
    `send_seeds`: whether to pass each trial's sampling seed to the model, for backends that accept a seed per
    request.
    """

    benchmark: str
    trials: int = 10
    num_examples: int = 20
    seed: str = ""
    prefix: str = ""
    think: str = "keep"
    send_seeds: bool = False


def choices(metadata: Mapping[str, Any]) -> Choices:
    """Returns the settings in a task's metadata, or else the defaults.

    The harness adds the model's arguments to the metadata, so our settings have their own key. Raises
    `SettingsError`, also for settings outside that key.
    """
    chosen = _chosen(Choices, KEY, metadata, benchmark=os.environ.get(ENVIRONMENT) or BUNDLED)
    if chosen.trials < 1:
        raise SettingsError(f"{KEY}.trials must be positive, not {chosen.trials}")
    if chosen.think not in ("keep", "strip"):
        raise SettingsError(f"{KEY}.think must be 'keep' or 'strip', not {chosen.think!r}")
    return chosen


@dataclass(frozen=True)
class JpevalChoices:
    """Settings of a task of llm-jp-eval.

    `data`: a folder of converted files (empty: the installed ones). `split`: `train`, `dev` or `test`.
    `shots`: number of examples in prompts (default: that of the task, or 4). `profile`: how outputs become
    predictions.
    """

    data: str = ""
    split: str = "test"
    shots: int | None = None
    profile: str = "1.3.0"

    def read(self, task: str) -> evaluation_files.TaskData:
        """Returns the samples of a task; see `read_task`."""
        return _read_task(self.data, task, self.split, self.shots)

    def prompts(self, **more: Any) -> prompts.PromptSettings:
        """Returns how prompts are made, with other settings."""
        return prompts.PromptSettings(prompts.SHOTS if self.shots is None else self.shots, **more)


def jpeval_choices(metadata: Mapping[str, Any]) -> JpevalChoices:
    """Returns the settings of a task of llm-jp-eval, as `choices` does."""
    chosen = _chosen(JpevalChoices, JPEVAL_KEY, metadata)
    registry.find_profile(chosen.profile)
    return chosen


def _chosen(kind: type[Kind], key: str, metadata: Mapping[str, Any], **defaults: Any) -> Kind:
    """Returns our settings under their key; raises `SettingsError` for others, and for settings beside it."""
    types = {name: (get_args(hint) or [hint])[0] for name, hint in get_type_hints(kind).items()}
    for name in types:
        value = metadata.get(name)
        # A numeric seed is an argument of the model.
        if value is not None and (name != "seed" or isinstance(value, str)):
            raise SettingsError(
                f"metadata {name!r} belongs under {key!r}: --metadata "
                f"'{json.dumps({key: {name: value}}, default=str)}'"
            )
    chosen = metadata.get(key) or {}
    if not isinstance(chosen, Mapping) or not set(chosen) <= set(types):
        raise SettingsError(
            f"metadata {key!r} must be an object with keys among {', '.join(types)}, not {chosen!r}"
        )
    for name, value in chosen.items():
        if type(value) is not types[name]:
            raise SettingsError(f"{key}.{name} must be {types[name].__name__}, not {value!r}")
    return kind(**{**defaults, **chosen})


@lru_cache(maxsize=4)
def _read_task(folder: str, task: str, split: str, shots: int | None) -> evaluation_files.TaskData:
    return evaluation_files.read_task(folder or None, task, split, shots)
