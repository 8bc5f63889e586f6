"""Settings for users of the harness: environment variables, and `--metadata '{"pfgen": {…}}'`.

Those of the tasks of llm-jp-eval are under `llm_jp_eval`.
"""

from __future__ import annotations  # `_check_types` reads types as text

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

from pfgen_rs.errors import SettingsError
from pfgen_rs.llm_jp_eval.data import TaskData, read_task
from pfgen_rs.llm_jp_eval.metrics.samples import check_variant
from pfgen_rs.llm_jp_eval.prompts import SHOTS
from pfgen_rs.questions.locate import BUNDLED, ENVIRONMENT

KEY = "pfgen"
TRIALS = "PFGEN_RS_TRIALS"
JPEVAL_KEY = "llm_jp_eval"
DATA = "PFGEN_RS_LLM_JP_EVAL"
_FEW = 10


@dataclass(frozen=True)
class Choices:
    """Settings of a task.

    `benchmark`: any argument of `load_benchmark`. `trials`: number of answers per question. `num_examples`,
    `seed`, `prefix`: as for `Prompter`. `think`: `strip` removes `<think>` blocks, `keep` does not.
    `send_seeds`: whether to pass each trial's sampling seed to the model, for backends that accept a seed per
    request.
    """

    benchmark: str
    trials: int
    num_examples: int = 20
    seed: str = ""
    prefix: str = ""
    think: str = "keep"
    send_seeds: bool = False

    def __post_init__(self) -> None:
        """Raise `SettingsError` for values of the wrong type or out of range."""
        _check_types(self, KEY)
        if self.trials < 1:
            raise SettingsError(f"trials must be positive, not {self.trials}")
        if self.think not in ("keep", "strip"):
            raise SettingsError(f"{KEY}.think must be 'keep' or 'strip', not {self.think!r}")


def choices(metadata: Mapping[str, Any]) -> Choices:
    """Returns the settings in a task's metadata, then in the environment, then the defaults.

    The harness adds the model's arguments to the metadata, so our settings have their own key. Raises
    `SettingsError`, also for settings outside that key.
    """
    trials = os.environ.get(TRIALS) or str(_FEW)
    if not trials.isdecimal():
        raise SettingsError(f"{TRIALS} must be an integer, not {trials!r}")
    defaults = {"benchmark": os.environ.get(ENVIRONMENT) or BUNDLED, "trials": int(trials)}
    return Choices(**{**defaults, **_under(KEY, Choices, metadata)})


def _check_types(chosen: Any, key: str) -> None:
    """Raise `SettingsError` for fields of a dataclass whose values are not of their types."""
    for field in fields(chosen):
        value = getattr(chosen, field.name)
        if type(value).__name__ != field.type:
            raise SettingsError(f"{key}.{field.name} must be {field.type}, not {value!r}")


def _under(key: str, kind: type, metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns our settings under their key; raises `SettingsError` for others, and for settings beside it."""
    known = [field.name for field in fields(kind)]
    for name in known:
        value = metadata.get(name)
        # A numeric seed is an argument of the model.
        if value is not None and (name != "seed" or isinstance(value, str)):
            raise SettingsError(
                f"metadata {name!r} belongs under {key!r}: --metadata "
                f"'{json.dumps({key: {name: value}}, default=str)}'"
            )
    chosen = metadata.get(key) or {}
    if not isinstance(chosen, Mapping) or not set(chosen) <= set(known):
        raise SettingsError(
            f"metadata {key!r} must be an object with keys among {', '.join(known)}, not {chosen!r}"
        )
    return chosen


@dataclass(frozen=True)
class JpevalChoices:
    """Settings of a task of llm-jp-eval.

    `data`: a folder of converted files (empty: the installed ones). `split`: `train`, `dev` or `test`.
    `shots`: number of examples in prompts. `variant`: how outputs become predictions.
    """

    data: str = ""
    split: str = "test"
    shots: int = SHOTS
    variant: str = "upstream"

    def __post_init__(self) -> None:
        """Raise `SettingsError` for values of the wrong type and unknown variants."""
        _check_types(self, JPEVAL_KEY)
        check_variant(self.variant)

    def read(self, task: str) -> TaskData:
        """Returns the samples of a task; see `read_task`."""
        return _read_task(self.data, task, self.split)


def jpeval_choices(metadata: Mapping[str, Any]) -> JpevalChoices:
    """Returns the settings of a task of llm-jp-eval, as `choices` does."""
    chosen = _under(JPEVAL_KEY, JpevalChoices, metadata)
    return JpevalChoices(**{"data": os.environ.get(DATA) or "", **chosen})


@lru_cache(maxsize=4)
def _read_task(folder: str, task: str, split: str) -> TaskData:
    return read_task(folder or None, task, split)
