"""Steps that could not be evaluated, when training must go on nevertheless."""

from __future__ import annotations

import logging
from typing import Literal, get_args

from pfgen_rs.errors import PfgenError, SettingsError
from pfgen_rs.io.safe_text import shortened, visible

__all__ = ["CollectiveError", "OnError", "Skipped", "check_on_error", "reason_of"]

OnError = Literal["raise", "warn"]
_LOG = logging.getLogger("pfgen_rs")
_LONGEST = 500  # characters of a reason
_NAMED = 10  # steps


class CollectiveError(PfgenError):
    """A rank failed while others wait for it, so that training cannot go on."""


class Skipped:
    """Steps that were not evaluated, with the reasons, and a warning for each in the log `pfgen_rs`."""

    def __init__(self) -> None:
        self.reasons: dict[int, str] = {}
        self._reported = 0

    def add(self, step: int, error: BaseException | str) -> None:
        """Record and log that a step is not evaluated."""
        reason = error if isinstance(error, str) else reason_of(error)
        if step not in self.reasons:
            _LOG.warning("step %d is not evaluated: %s", step, reason)
        self.reasons[step] = reason
        if isinstance(error, BaseException):
            _LOG.debug("step %d is not evaluated", step, exc_info=error)

    def forget(self, step: int) -> None:
        """Forget a step that is evaluated after all."""
        self.reasons.pop(step, None)

    def drop_from(self, step: int) -> None:
        """Forget this step and later ones after training went back."""
        for skipped in list(self.reasons):
            if skipped >= step:
                self.forget(skipped)

    def report(self) -> None:
        """Log how many steps were not evaluated, unless already done."""
        steps = sorted(self.reasons)
        if len(steps) != self._reported:
            self._reported = len(steps)
            named = ", ".join(map(str, steps[:_NAMED])) + (", …" if len(steps) > _NAMED else "")
            many = "1 step was" if len(steps) == 1 else f"{len(steps)} steps were"
            _LOG.warning("%s not evaluated: %s", many, named)


def reason_of(error: BaseException) -> str:
    """Returns an error as one line that is safe to show."""
    kind = "" if isinstance(error, PfgenError) else f"{type(error).__name__}: "
    return shortened(visible(f"{kind}{error}"), _LONGEST)


def check_on_error(value: str) -> None:
    """Raise `SettingsError` for unknown choices."""
    if value not in get_args(OnError):
        choices = ", ".join(get_args(OnError))
        raise SettingsError(f"`on_error` must be one of {choices}, not {value!r:.60}")
