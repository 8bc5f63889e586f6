"""What the callbacks of trainers share: settings, the evaluator, and the trainer's own loggers."""

import inspect
import threading
from collections.abc import Callable, Mapping
from typing import Any

from pfgen_rs.errors import SettingsError
from pfgen_rs.io.cleaning import default_stop
from pfgen_rs.training import StepEvaluator, background, checks
from pfgen_rs.training.loggers import LOG, Finished

SAMPLING = ("batch_size", "max_new_tokens", "temperature", "top_p", "limit", "device")
_OURS = frozenset({"benchmark", "generate", "is_main"})  # set by the callbacks themselves


class Evaluating:
    """Base of callbacks, whose keyword arguments are sampling settings and those of `StepEvaluator`.

    `on_error` is `warn` by default. Raises `SettingsError` for unknown names and invalid sampling settings.
    """

    def __init__(self, benchmark: Any, tokenizer: Any, settings: Mapping[str, Any]) -> None:
        known = [*SAMPLING, *(inspect.signature(StepEvaluator).parameters.keys() - _OURS)]
        for name in settings.keys() - known:
            names = ", ".join(sorted(known))
            raise SettingsError(f"unknown setting `{name}`: expected one of {names}")
        self.benchmark, self.tokenizer = benchmark, tokenizer
        self.sampling = {name: value for name, value in settings.items() if name in SAMPLING}
        check_sampling(**self.sampling)
        others = {name: value for name, value in settings.items() if name not in SAMPLING}
        loggers = checks.functions(others.get("loggers", ()), "loggers")
        self.settings = {"on_error": "warn", **others, "loggers": loggers}
        if self.settings.get("engine") is not None:
            self.check_no_sampling("engine")
        self.evaluator: StepEvaluator | None = None
        self._finished = Finished()

    def check_no_sampling(self, other: str) -> None:
        """Raise `SettingsError` for sampling settings beside `other`, which determines how to generate."""
        for name in self.sampling:
            raise SettingsError(
                f"`{name}` cannot be combined with `{other}`, which determines how to generate"
            )

    @property
    def _stop(self) -> Any:
        stop = self.settings.get("stop")
        return default_stop(self.settings.get("mode", "completion")) if stop is None else stop

    def _new_evaluator(
        self, generate: Callable[..., Any] | None, *, every: int, is_main: bool
    ) -> StepEvaluator:
        """Returns an evaluator; raises at once if `generate` has a method `check`, and prompts do not fit."""
        settings = {"every": every, **self.settings, "is_main": is_main}
        settings["loggers"] = (*settings["loggers"], self._finished)
        evaluator = StepEvaluator(self.benchmark, generate, **settings)
        check = getattr(generate, "check", None)
        if check is not None:
            check(evaluator.tasks)  # rather than skip all steps
        return evaluator

    def _hand_over(self, log: Callable[[], object], logger: Any, step: int) -> None:
        """Have a trainer's own logger log a step; a failure is raised or, with `on_error="warn"`, logged."""
        try:
            log()
        except Exception as error:
            if self.settings["on_error"] == "raise":
                raise
            name = type(logger).__name__
            LOG.warning("%s failed at step %d: %s", name, step, background.reason_of(error))


def check_sampling(
    batch_size: Any = 1,
    max_new_tokens: Any = 1,
    temperature: Any = 1.0,
    top_p: Any = 1.0,
    limit: Any = 1.0,
    **_: Any,
) -> None:
    """Raise `SettingsError` for invalid settings of generation; others are left to torch."""
    checks.count(batch_size, "batch_size")
    checks.count(max_new_tokens, "max_new_tokens")
    if not isinstance(temperature, int | float) or not 0 <= temperature < float("inf"):
        raise SettingsError(f"`temperature` must be at least 0, not {temperature!r:.60}")
    if not isinstance(top_p, int | float) or not 0 < top_p <= 1:
        raise SettingsError(f"`top_p` must be positive and at most 1, not {top_p!r:.60}")
    if not isinstance(limit, int | float) or not 0 < limit < threading.TIMEOUT_MAX:
        raise SettingsError(f"`limit` must be a positive number of seconds, not {limit!r:.60}")
