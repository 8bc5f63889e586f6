"""Checks the settings of trainer callbacks when they are created, rather than hours later."""

import difflib
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from pfgen_rs.errors import SettingsError
from pfgen_rs.io.cleaning import MODES
from pfgen_rs.training.checks import check_budget, check_on_error, checked_texts, count, functions
from pfgen_rs.training.evaluator import StepEvaluator

SAMPLING = ("batch_size", "max_new_tokens", "temperature", "top_p")
_OURS = frozenset({"benchmark", "generate", "is_main"})  # set by the callbacks themselves


def split_settings(settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split a callback's keyword arguments into sampling settings and those of `StepEvaluator`.

    `loggers` become a tuple, and `on_error` is `warn` by default. Raises `SettingsError` for unknown names
    and invalid values.
    """
    known = [*SAMPLING, *(inspect.signature(StepEvaluator).parameters.keys() - _OURS)]
    for name in settings.keys() - known:
        raise SettingsError(f"unknown setting `{name}`{_meant(name, known)}")
    sampling = {name: value for name, value in settings.items() if name in SAMPLING}
    check_sampling(**sampling)
    others = {name: value for name, value in settings.items() if name not in SAMPLING}
    for name in others.keys() & {"every", "trials", "behind"}:
        count(others[name], name)
    mode = others.get("mode", "completion")
    if mode not in MODES:
        raise SettingsError(f"unknown mode {mode!r}: expected one of {', '.join(MODES)}")
    check_budget(others.get("budget"))
    if others.get("tasks"):
        _check_tasks(others["tasks"])
    others = {"on_error": "warn", **others}
    check_on_error(others["on_error"])
    if others.get("engine") is not None:
        check_no_sampling(sampling, "engine")
    return sampling, others | {"loggers": functions(others.get("loggers", ()), "loggers")}


def _check_tasks(tasks: str | Sequence[str]) -> None:
    from pfgen_rs.llm_jp_eval.catalog import chosen_tasks

    chosen_tasks((tasks,) if isinstance(tasks, str) else checked_texts(tasks, "tasks"))


def check_no_sampling(sampling: Mapping[str, Any], other: str) -> None:
    """Raise `SettingsError` for sampling settings beside `other`, which determines how to sample."""
    for name in sampling:
        raise SettingsError(
            f"`{name}` cannot be combined with `{other}`, which determines how to sample"
        )


def check_sampling(
    batch_size: Any = 1, max_new_tokens: Any = 1, temperature: Any = 1.0, top_p: Any = 1.0
) -> None:
    """Raise `SettingsError` for invalid sampling settings."""
    count(batch_size, "batch_size")
    count(max_new_tokens, "max_new_tokens")
    if not _is_number(temperature) or not 0 <= temperature < float("inf"):
        raise SettingsError(f"`temperature` must be at least 0, not {temperature!r:.60}")
    if not _is_number(top_p) or not 0 < top_p <= 1:
        raise SettingsError(f"`top_p` must be positive and at most 1, not {top_p!r:.60}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def _meant(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, 1)
    if close:
        return f": did you mean `{close[0]}`?"
    return f": expected one of {', '.join(sorted(known))}"
