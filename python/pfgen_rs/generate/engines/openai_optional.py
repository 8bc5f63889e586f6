"""Parameters that are left out once a server has refused them twice in a row."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from typing import TYPE_CHECKING, Any, NamedTuple

from pfgen_rs.errors import SettingsError
from pfgen_rs.generate.engines.waits import LOG

if TYPE_CHECKING:
    from openai import APIStatusError

__all__ = ["DISPENSABLE", "OptionalParameters", "Unwanted"]

DISPENSABLE = ("logprobs", "seed", "temperature", "top_p")
"""Options that may be declared optional."""

_REFUSALS = (400, 403, 422)
_UNABLE = (500, 501)
"""What some servers answer that cannot report log probabilities."""
_ENOUGH = 2
_NAMED = re.compile(rf"(?<![a-z])(?:{'|'.join(DISPENSABLE)})(?![a-z])")


class Unwanted(NamedTuple):
    """A request refused because of an optional parameter; `reason`: the server's, without secrets."""

    option: str
    reason: str


class OptionalParameters:
    """The optional parameters of an engine, and which of them its server refuses.

    `names`: one of `DISPENSABLE` or a list of them. Raises `SettingsError` for others.
    """

    def __init__(self, names: str | Sequence[str] = ()) -> None:
        self._names = _optional_names(names)
        self.left_out: frozenset[str] = frozenset()
        self._refusals: Counter[str] = Counter()  # in a row

    def unwanted(self, error: APIStatusError, sent: Set[str]) -> str | None:
        """Returns the optional parameter that an error response is about, out of those `sent`, or `None`."""
        option = _option_in_refusal(error)
        if option not in self._names or option not in sent:
            return None
        if error.status_code in _REFUSALS:
            return option
        return option if option == "logprobs" and error.status_code in _UNABLE else None

    def accept(self, refused: Sequence[Unwanted], sent: Iterable[str]) -> None:
        """Note that a request was answered with the options `sent`, after others had been refused.

        What two requests in a row were refused for is left out from now on, and logged once: a single
        refusal may be one of many servers behind an address, or a passing fault.
        """
        for option in sent:
            self._refusals[option] = 0
        for option, reason in refused:
            self._refusals[option] += 1
            if self._refusals[option] >= _ENOUGH and option not in self.left_out:
                self.left_out |= {option}
                LOG.warning("%s is not sent from now on, since %s", option, reason)


def _optional_names(names: object) -> frozenset[str]:
    listed = [names] if isinstance(names, str) else names
    if not isinstance(listed, Sequence):
        raise SettingsError(f"optional must be a list of names, not {names!r:.60}")
    for name in listed:
        if name not in DISPENSABLE:
            expected = ", ".join(DISPENSABLE)
            raise SettingsError(f"{name!r:.60} cannot be optional: expected one of {expected}")
    return frozenset(listed)


def _option_in_refusal(error: APIStatusError) -> str | None:
    """Returns the option that `param` names, else `code`, else the message, if it names no other."""
    body: Any = error.body
    words = body.get("message") or body.get("detail") if isinstance(body, dict) else body
    if error.param:
        return _only_option_in(error.param)
    return _only_option_in(error.code) or _only_option_in(words)


def _only_option_in(words: object) -> str | None:
    found = set(_NAMED.findall(str(words).lower()))
    return found.pop() if len(found) == 1 else None
