"""Classifying error responses: retry, fail the task, or fail the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urljoin, urlsplit

from pfgen_rs.generate.engines.backoff import retry_after
from pfgen_rs.generate.engines.openai_place import BASE_URL, KEY, in_short
from pfgen_rs.generate.engines.openai_wire import OPTIONS

if TYPE_CHECKING:
    from openai import APIStatusError

__all__ = ["Again", "Hopeless", "Refused", "cure", "described", "refusal"]

_UNSUPPORTED = ("unsupported_parameter", "unsupported_value")
_USED_UP = "insufficient_quota"
_PASSING = (408, 409, 425, 429)


class Again(NamedTuple):
    """A temporary failure.

    `after`: seconds that the server asks to wait. `answered`: whether it sent any response.
    """

    reason: str
    after: float | None = None
    answered: bool = True


class Refused(NamedTuple):
    """A failure of one task.

    `option`: the option that the server rejects, if it names one. `individual`: as in `Failed`.
    """

    reason: str
    option: str | None = None
    individual: bool = False


class Hopeless(NamedTuple):
    """A failure that affects every task."""

    reason: str


def refusal(error: APIStatusError, model: str, key: str | None) -> Again | Refused | Hopeless:
    """Classify a response with another status than 2xx; `key`: the API key, which no reason shows."""
    words = described(error, key)
    if 300 <= error.status_code < 400:
        return Hopeless(f"{words}{_redirected(error, key)}")
    if error.status_code in (401, 403):
        return Hopeless(f"{words}. Check the API key ({KEY}) and its permissions")
    if error.status_code == 404:
        return Hopeless(f"{words}. Check the model {model!r} and the base URL ({BASE_URL})")
    if error.code == _USED_UP:
        return Hopeless(words)
    if error.status_code in _PASSING or error.status_code >= 500:
        return Again(words, retry_after(error.response.headers))
    return _is_openai_failure_option(error, words)


def _redirected(error: APIStatusError, key: str | None) -> str:
    """Returns where a redirect leads; it is not followed, since key and prompts are for this server."""
    target = urljoin(str(error.response.url), error.response.headers.get("location", ""))
    shown = in_short(urlsplit(target)._replace(query="", fragment="").geturl(), key)
    return f" and leads to {shown}, where nothing is sent: check the base URL ({BASE_URL})"


def described(error: APIStatusError, key: str | None) -> str:
    """Returns the status and the message of an error response in one short line without the API key."""
    body: Any = error.body
    words = body.get("message") or body.get("detail") if isinstance(body, dict) else body
    shown = f": {in_short(words, key)}" if words else ""
    return f"the server answered {error.status_code}{shown}"


def _is_openai_failure_option(error: APIStatusError, words: str) -> Refused | Hopeless:
    option = _option_in_openai_failure(error, words)
    if option is None:
        return Refused(words, individual=True)
    named = f"{words}. It rejects the option {option}"
    # Other errors, such as too long a prompt, may concern only this task.
    if error.code not in _UNSUPPORTED:
        return Refused(named, option, individual=True)
    return Hopeless(f"{named}: {cure(option)}")


def cure(option: str) -> str:
    """Returns advice for a server that rejects an option."""
    omit = f"omit it with --set 'omit=[\"{option}\"]'"
    if option != "max_tokens":
        return omit
    return f"rename it with --set max_tokens_name=max_completion_tokens, or {omit}"


def _option_in_openai_failure(error: APIStatusError, words: str) -> str | None:
    """Returns the option an error is about: its `param`, else the only option named in its message."""
    if error.param in OPTIONS:
        return error.param
    named = [name for name in OPTIONS if name in words]
    return named[0] if len(named) == 1 else None
