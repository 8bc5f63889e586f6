"""Settings for users of the harness: environment variables, and `--metadata '{"pfgen": {…}}'`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from pfgen_rs.errors import SettingsError
from pfgen_rs.questions.locate import BUNDLED, ENVIRONMENT

__all__ = [
    "KEY",
    "TRIALS",
    "Choices",
    "check_choice_types",
    "choices",
    "choices_under",
    "misplaced_choice",
]

KEY = "pfgen"
TRIALS = "PFGEN_RS_TRIALS"
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
        check_choice_types(self, KEY)
        if self.trials < 1:
            raise SettingsError(f"trials must be positive, not {self.trials}")
        if self.think not in ("keep", "strip"):
            raise SettingsError(f"{KEY}.think must be 'keep' or 'strip', not {self.think!r}")


def choices(metadata: Mapping[str, Any]) -> Choices:
    """Returns the settings in a task's metadata, then in the environment, then the defaults.

    The harness adds the model's arguments to the metadata, so our settings have their own key. Raises
    `SettingsError`, also for settings outside that key.
    """
    _check_choices_beside_metadata(metadata)
    chosen = choices_under(KEY, metadata, [field.name for field in fields(Choices)])
    defaults = {
        "benchmark": os.environ.get(ENVIRONMENT) or BUNDLED,
        "trials": _trials_per_question(),
    }
    return Choices(**{**defaults, **chosen})


def _check_choices_beside_metadata(metadata: Mapping[str, Any]) -> None:
    """Reject settings that would be ignored silently. A numeric seed is an argument of the model."""
    for field in fields(Choices):
        value = metadata.get(field.name)
        if value is not None and (field.name != "seed" or isinstance(value, str)):
            raise misplaced_choice(KEY, field.name, value)


def check_choice_types(chosen: Any, key: str) -> None:
    """Raise `SettingsError` for fields of a dataclass whose values are not of their types."""
    for field in fields(chosen):
        value = getattr(chosen, field.name)
        if type(value).__name__ != field.type:
            raise SettingsError(f"{key}.{field.name} must be {field.type}, not {value!r}")


def choices_under(key: str, metadata: Mapping[str, Any], known: Sequence[str]) -> Mapping[str, Any]:
    """Returns our settings in a task's metadata. Raises `SettingsError` for others than those known."""
    chosen = metadata.get(key) or {}
    if not isinstance(chosen, Mapping) or not set(chosen) <= set(known):
        raise SettingsError(
            f"metadata {key!r} must be an object with keys among {', '.join(known)}, not {chosen!r}"
        )
    return chosen


def misplaced_choice(key: str, name: str, value: Any) -> SettingsError:
    """Returns the error for a setting that stands beside our key rather than under it."""
    return SettingsError(
        f"metadata {name!r} belongs under {key!r}: --metadata "
        f"'{json.dumps({key: {name: value}}, default=str)}'"
    )


def _trials_per_question() -> int:
    text = os.environ.get(TRIALS) or str(_FEW)
    if not text.isdecimal():
        raise SettingsError(f"{TRIALS} must be an integer, not {text!r}")
    return int(text)
