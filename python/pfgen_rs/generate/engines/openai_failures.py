"""What a refusal means: ask again, give up this task, or give up altogether."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from pfgen_rs.generate.engines.backoff import retry_after
from pfgen_rs.generate.engines.openai_place import BASE_URL, KEY
from pfgen_rs.generate.engines.openai_wire import OPTIONS, in_short

if TYPE_CHECKING:
    from openai import APIStatusError

__all__ = ["Again", "Hopeless", "Refused", "cure", "refusal"]

_UNSUPPORTED = ("unsupported_parameter", "unsupported_value")
_USED_UP = "insufficient_quota"
_PASSING = (408, 409, 425, 429)


class Again(NamedTuple):
    """A failure that may pass.

    `after`: seconds that the server asks to wait. `answered`: whether it sent a response at all.
    """

    reason: str
    after: float | None = None
    answered: bool = True


class Refused(NamedTuple):
    """A failure of one task. `option`: the option that the server refuses, as far as it says so."""

    reason: str
    option: str | None = None


class Hopeless(NamedTuple):
    """A failure that every task will meet."""

    reason: str


def refusal(error: APIStatusError, model: str) -> Again | Refused | Hopeless:
    """What a status of 4xx or 5xx means."""
    words = f"the server answered {error.status_code}{_said(error)}"
    if error.status_code in (401, 403):
        return Hopeless(f"{words}. Check the key ({KEY}) and what it may do")
    if error.status_code == 404:
        return Hopeless(f"{words}. Check the model {model!r} and the base URL ({BASE_URL})")
    if error.code == _USED_UP:
        return Hopeless(words)
    if error.status_code in _PASSING or error.status_code >= 500:
        return Again(words, retry_after(error.response.headers))
    return _about_option(error, words)


def _about_option(error: APIStatusError, words: str) -> Refused | Hopeless:
    option = _option(error)
    if option is None:
        return Refused(words)
    named = f"{words}. It refuses the option {option}"
    # Others, such as too long a prompt, may hold for this task alone.
    if error.code not in _UNSUPPORTED:
        return Refused(named, option)
    return Hopeless(f"{named}: {cure(option)}")


def cure(option: str) -> str:
    """What helps where a server refuses an option."""
    named = "--set max_tokens_name=max_completion_tokens names it otherwise, "
    other = named if option == "max_tokens" else ""
    return f"{other}--set 'omit=[\"{option}\"]' leaves it out"


def _option(error: APIStatusError) -> str | None:
    """The option that a refusal is about: as it says, else the only one that its words name."""
    if error.param in OPTIONS:
        return error.param
    words = _said(error)
    named = [name for name in OPTIONS if name in words]
    return named[0] if len(named) == 1 else None


def _said(error: APIStatusError) -> str:
    body: Any = error.body
    words = body.get("message") or body.get("detail") if isinstance(body, dict) else body
    return f": {in_short(words)}" if words else ""
