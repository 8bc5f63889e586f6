"""Requests and responses of OpenAI's API: `/completions` and `/chat/completions`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from pfgen_rs.ask.engines import cure_for_thinking
from pfgen_rs.ask.logprobs import completed, read_tokens
from pfgen_rs.ask.protocol import Answered, Details, Failed, Outcome, Parameters, Task, Usage
from pfgen_rs.ask.server import in_short
from pfgen_rs.errors import SettingsError

_SAMPLING = ("seed", "stop", "max_tokens", "temperature", "top_p")
OPTIONS = (*_SAMPLING, "logprobs")
"""Options of a request, by their names in this package."""
_OWN = ("model", "messages", "prompt", *_SAMPLING, "stream", "n")
"""Keys that `extra` must not set, because the run would then contradict its configuration."""

_ENGINE = "openai-api"
_MOST_TOKENS = 1 << 53
_LONGEST_NAME = 200
_TEXTS = ("text", "output_text")
_REASONING = ("reasoning_content", "reasoning")
_WORDS: Mapping[type, str] = {type(None): "null", list: "a list without text"}


class CutError(ValueError):
    """A response body that is truncated or otherwise invalid."""


@dataclass(frozen=True, slots=True)
class Form:
    """The parts shared by all requests of a run.

    `omit`: names in `OPTIONS` not to send. `max_tokens_name`: the server's name for that limit. `extra`:
    additional values for every request. `most_logprobs`: the largest number of tokens with log probabilities
    that the server accepts for completions (`None`: unknown).
    """

    model: str
    omit: frozenset[str] = frozenset()
    max_tokens_name: str = "max_tokens"
    extra: Mapping[str, Any] = field(default_factory=dict)
    most_logprobs: int | None = None

    @classmethod
    def checked(cls, model: str, omit: object, max_tokens_name: object, extra: object) -> Self:
        """Create a form from user input; `omit` may be a single name. Raises `SettingsError`."""
        if not isinstance(max_tokens_name, str) or not max_tokens_name:
            raise SettingsError(
                f"max_tokens_name must be a non-empty string, not {max_tokens_name!r:.60}"
            )
        further = {} if extra is None else extra
        if not isinstance(further, Mapping) or not all(isinstance(key, str) for key in further):
            raise SettingsError(
                f'extra must be an object such as {{"top_k": 5}}, not {extra!r:.60}'
            )
        own = sorted({*_OWN, max_tokens_name} & further.keys())
        if own:
            raise SettingsError(
                f"extra must not set {own[0]!r}, which is fixed or has its own option"
            )
        return cls(model, _omitted_wire_options(omit), max_tokens_name, dict(further))

    def options(self, task: Task, parameters: Parameters) -> dict[str, Any]:
        """Returns the options for a task by their names in `OPTIONS`, without those to omit."""
        options = {
            "seed": task.seed,
            "stop": list(parameters.stop) or None,
            "max_tokens": parameters.max_tokens,
            "temperature": parameters.temperature,
            "top_p": parameters.top_p,
            "logprobs": parameters.logprobs,
        }
        return {
            name: value
            for name, value in options.items()
            if value is not None and name not in self.omit
        }

    def request(self, task: Task, options: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Returns the path and body of the request for a task with these options."""
        sent = {
            self.max_tokens_name if name == "max_tokens" else name: value
            for name, value in options.items()
        }
        if "logprobs" in sent:
            sent.update(self._logprobs(task, sent["logprobs"]))
        common = {"model": self.model, **sent, **self.extra}
        if task.mode == "completion":
            return "/completions", {"prompt": task.prompt, **common}
        return "/chat/completions", {"messages": task.messages, **common}

    def _logprobs(self, task: Task, count: int) -> dict[str, Any]:
        if task.mode != "completion":
            return {"logprobs": True, "top_logprobs": count}
        return {"logprobs": count if self.most_logprobs is None else min(count, self.most_logprobs)}


def _omitted_wire_options(names: object) -> frozenset[str]:
    listed = [names] if isinstance(names, str) else names
    if not isinstance(listed, Sequence):
        raise SettingsError(f"omit must be a list of names, not {names!r:.60}")
    for name in listed:
        if name not in OPTIONS:
            raise SettingsError(f"cannot omit {name!r:.60}: expected one of {', '.join(OPTIONS)}")
    return frozenset(listed)


def read_reply(body: bytes) -> dict[str, Any]:
    """Parse the body of a successful response; raises `CutError` unless it is a JSON object."""
    try:
        reply = json.loads(body)
    except (ValueError, RecursionError):
        raise CutError("the server sent a body that is not JSON or was truncated") from None
    if not isinstance(reply, dict):
        raise CutError("the server sent a body that is not a JSON object")
    return reply


def reported_usage(reply: Mapping[str, Any]) -> Usage:
    """Returns the tokens that a reply reports; invalid numbers count as not reported."""
    usage = reply.get("usage")
    if not isinstance(usage, dict):
        return Usage()
    prompt, completion = (
        _wire_tokens(usage, f"{kind}_tokens") for kind in ("prompt", "completion")
    )
    if prompt is None and completion is None:
        return Usage()
    cached = _wire_tokens(usage.get("prompt_tokens_details"), "cached_tokens")
    reasoning = _wire_tokens(usage.get("completion_tokens_details"), "reasoning_tokens")
    return Usage(0, 1, prompt or 0, completion or 0, cached or 0, reasoning or 0)


def _wire_tokens(counts: object, key: str) -> int | None:
    number = counts.get(key) if isinstance(counts, dict) else None
    return number if type(number) is int and 0 <= number < _MOST_TOKENS else None


def read_answer(task: Task, reply: Mapping[str, Any], key: str | None = None) -> Outcome:
    """Returns the answer in a reply, or why there is none, in words without the API key."""
    choices = reply.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict):
        return Failed(task, _wire_reply_without_choice(reply, key))
    found = choice if task.mode == "completion" else choice.get("message")
    message = found if isinstance(found, dict) else {}
    outcome = _answer_in_wire_message(task, message, choice, key)
    if isinstance(outcome, Failed):
        return outcome
    tokens = read_tokens(choice.get("logprobs"))
    details = replace(
        served_by(reply, choice, key),
        tokens=tokens and completed(tokens, outcome.text),
        reasoning=_wire_reasoning(message),
        usage=reported_usage(reply) or None,
    )
    return outcome._replace(details=details)


def served_by(
    reply: Mapping[str, Any], choice: Mapping[str, Any], key: str | None = None
) -> Details:
    """Returns `model`, `system_fingerprint` and `finish_reason` of an answer, `None` where not known."""
    reason = choice.get("finish_reason")
    return Details(
        model=_wire_name(reply.get("model"), key),
        system_fingerprint=_wire_name(reply.get("system_fingerprint"), key),
        finish_reason=_wire_unicode(reason) if isinstance(reason, str) else None,
    )


def _wire_name(value: object, key: str | None) -> str | None:
    """Returns a name that is kept and printed: of bounded length, without the key and lone surrogates."""
    return in_short(value, key)[:_LONGEST_NAME] if isinstance(value, str) and value else None


def _wire_unicode(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _wire_reply_without_choice(reply: Mapping[str, Any], key: str | None) -> str:
    error = reply.get("error")
    if error:
        words = error.get("message", error) if isinstance(error, dict) else error
        return f"the server answered with an error: {in_short(words, key)}"
    return "the server's answer has no choices"


def _answer_in_wire_message(
    task: Task, message: Mapping[str, Any], choice: Mapping[str, Any], key: str | None
) -> Outcome:
    name = "text" if task.mode == "completion" else "content"
    text = _wire_text(message.get(name))
    if choice.get("finish_reason") == "content_filter":
        return Failed(task, "the server's content filter stopped the answer", individual=True)
    if message.get("refusal"):
        reason = f"the model refused: {in_short(message['refusal'], key)}"
        return Failed(task, reason, individual=True)
    if not isinstance(text, str):
        said = _WORDS.get(type(text), type(text).__name__)
        return Failed(
            task,
            f"the server's answer has no text: {name} is {said}{_thought_in_wire_message(message)}",
            cure=cure_for_thinking(_ENGINE),
        )
    return Answered(task, text)


def _wire_text(content: object) -> object:
    """Returns the text of a message; some servers send it as a list of parts, which are joined."""
    if not isinstance(content, list):
        return content
    texts = [text for text in map(_wire_part_text, content) if text is not None]
    return "".join(texts) if texts else content


def _wire_part_text(part: object) -> str | None:
    """Returns the text of a part; `None` if it is of another kind, such as an image or a thought."""
    if isinstance(part, str):
        return part
    if not isinstance(part, dict) or part.get("type", "text") not in _TEXTS:
        return None
    text = part.get("text")
    return text if isinstance(text, str) else None


def _wire_reasoning(message: Mapping[str, Any]) -> str | None:
    texts = [message.get(key) for key in _REASONING]
    return next((text for text in texts if text and isinstance(text, str)), None)


def _thought_in_wire_message(message: Mapping[str, Any]) -> str:
    if any(message.get(key) for key in _REASONING):
        return " (only reasoning; try a larger max_tokens)"
    return ""
