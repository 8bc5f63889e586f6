"""Requests and responses of OpenAI's API: `/completions` and `/chat/completions`, with log probabilities."""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from pfgen_rs.ask import retrying
from pfgen_rs.ask.engines import cure_for_thinking
from pfgen_rs.ask.protocol import Answered, Details, Failed, Outcome, Parameters, Task, Usage
from pfgen_rs.ask.server import OPTIONS, SAMPLING, in_short, option_names
from pfgen_rs.errors import SettingsError

_ENGINE = "openai-api"
_MOST_TOKENS = 1 << 53
_LONGEST_NAME = 200
_TEXTS = ("text", "output_text")
_REASONING = ("reasoning_content", "reasoning")
_WORDS: Mapping[type, str] = {type(None): "null", list: "a list without text"}


Token = dict[str, Any]


class CutError(ValueError):
    """A response body that is truncated or otherwise invalid."""


@dataclass(frozen=True, slots=True)
class Form:
    """The parts shared by all requests of a run.

    `omit`: names in `OPTIONS` not to send. `max_tokens_name`: the server's name for that limit. `extra`:
    additional values for every request. `most_logprobs`: the largest number of tokens with log probabilities
    that the server accepts for completions (`None`: unknown). Other protocols have subclasses.
    """

    OWN: ClassVar[Sequence[str]] = ("model", "messages", "prompt", *SAMPLING, "stream", "n")
    """Keys that `extra` must not set, because the run would then contradict its configuration."""
    KNOWN: ClassVar[Sequence[str]] = OPTIONS
    """Options that the protocol has."""

    model: str
    omit: frozenset[str] = frozenset()
    max_tokens_name: str = "max_tokens"
    extra: Mapping[str, Any] = field(default_factory=dict)
    most_logprobs: int | None = None

    @classmethod
    def checked(cls, model: str, omit: object, max_tokens_name: object, extra: object) -> Self:
        """Create a form from user input; `omit` may be a single name. Raises `SettingsError`."""
        if not isinstance(max_tokens_name, str) or not max_tokens_name:
            shown = repr(max_tokens_name)[:60]
            raise SettingsError(f"max_tokens_name must be a non-empty string, not {shown}")
        further = {} if extra is None else extra
        if not isinstance(further, Mapping) or not all(isinstance(key, str) for key in further):
            shown = repr(extra)[:60]
            raise SettingsError(f'extra must be an object such as {{"top_k": 5}}, not {shown}')
        own = sorted({*cls.OWN, max_tokens_name} & further.keys())
        if own:
            raise SettingsError(
                f"extra must not set {own[0]!r}, which is fixed or has its own option"
            )
        return cls(model, option_names("omit", omit, cls.KNOWN), max_tokens_name, dict(further))

    def options(self, task: Task, parameters: Parameters) -> dict[str, Any]:
        """Returns the options for a task by their names in `OPTIONS`, without those to omit."""
        known = {"seed": task.seed, **parameters.given}
        return {name: known[name] for name in self.KNOWN if name in known and name not in self.omit}

    def headers(self, key: str) -> dict[str, str]:
        """Returns the headers of each request that say who asks."""
        accounts = {
            "OpenAI-Organization": os.environ.get("OPENAI_ORG_ID"),
            "OpenAI-Project": os.environ.get("OPENAI_PROJECT_ID"),
        }
        known = {header: value for header, value in accounts.items() if value}
        return {"Authorization": f"Bearer {key}", **known}

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

    def cure(self, option: str) -> str:
        """Returns advice for a server that rejects an option."""
        return retrying.cure(option)

    def usage(self, reply: Mapping[str, Any]) -> Usage:
        """Returns the tokens that a reply reports."""
        return reported_usage(reply)

    def answer(self, task: Task, reply: Mapping[str, Any], key: str | None) -> Outcome:
        """Returns the answer in a reply, or why there is none, in words without the API key."""
        return read_answer(task, reply, key)

    def _logprobs(self, task: Task, count: int) -> dict[str, Any]:
        if task.mode != "completion":
            return {"logprobs": True, "top_logprobs": count}
        return {"logprobs": count if self.most_logprobs is None else min(count, self.most_logprobs)}


_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def encoded(body: Mapping[str, Any]) -> bytes:
    """Returns a body as it is sent."""
    return _JSON.encode(body).encode("utf-8", "surrogatepass")


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
    prompt, completion = (count_of(usage, f"{kind}_tokens") for kind in ("prompt", "completion"))
    if prompt is None and completion is None:
        return Usage()
    cached = count_of(usage.get("prompt_tokens_details"), "cached_tokens")
    reasoning = count_of(usage.get("completion_tokens_details"), "reasoning_tokens")
    return Usage(0, 1, prompt or 0, completion or 0, cached or 0, reasoning or 0)


def count_of(counts: object, key: str) -> int | None:
    """Returns a number of tokens, `None` if there is no valid one."""
    number = counts.get(key) if isinstance(counts, dict) else None
    return number if type(number) is int and 0 <= number < _MOST_TOKENS else None


def read_answer(task: Task, reply: Mapping[str, Any], key: str | None = None) -> Outcome:
    """Returns the answer in a reply, or why there is none, in words without the API key."""
    choices = reply.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict):
        return Failed(task, _no_choice(reply, key))
    found = choice if task.mode == "completion" else choice.get("message")
    message = found if isinstance(found, dict) else {}
    outcome = _answer(task, message, choice, key)
    if isinstance(outcome, Failed):
        return outcome
    tokens = read_tokens(choice.get("logprobs"))
    details = served_by(
        reply,
        choice,
        key,
        tokens=tokens and completed(tokens, outcome.text),
        reasoning=_reasoning(message),
        usage=reported_usage(reply) or None,
    )
    return outcome._replace(details=details)


def served_by(
    reply: Mapping[str, Any], choice: Mapping[str, Any], key: str | None = None, **more: Any
) -> Details:
    """Returns `model`, `system_fingerprint` and `finish_reason` of an answer, `None` where not known.

    `more`: other fields of its details.
    """
    return Details(
        model=named(reply.get("model"), key),
        system_fingerprint=named(reply.get("system_fingerprint"), key),
        finish_reason=named(choice.get("finish_reason"), key),
        **more,
    )


def named(value: object, key: str | None) -> str | None:
    """Returns a name that is kept and printed: of bounded length, printable, without the key."""
    return in_short(value, key)[:_LONGEST_NAME] if isinstance(value, str) and value else None


def _no_choice(reply: Mapping[str, Any], key: str | None) -> str:
    error = reply.get("error")
    if error:
        words = error.get("message", error) if isinstance(error, dict) else error
        return f"the server answered with an error: {in_short(words, key)}"
    return "the server's answer has no choices"


def _answer(
    task: Task, message: Mapping[str, Any], choice: Mapping[str, Any], key: str | None
) -> Outcome:
    name = "text" if task.mode == "completion" else "content"
    text = _text(message.get(name))
    if choice.get("finish_reason") == "content_filter":
        return Failed(task, "the server's content filter stopped the answer", individual=True)
    if message.get("refusal"):
        reason = f"the model refused: {in_short(message['refusal'], key)}"
        return Failed(task, reason, individual=True)
    if not isinstance(text, str):
        said = _WORDS.get(type(text), type(text).__name__)
        return Failed(
            task,
            f"the server's answer has no text: {name} is {said}{_thought(message)}",
            cure=cure_for_thinking(_ENGINE),
        )
    return Answered(task, text)


def _text(content: object) -> object:
    """Returns the text of a message; some servers send it as a list of parts, which are joined."""
    if not isinstance(content, list):
        return content
    texts = [text for text in map(_part_text, content) if text is not None]
    return "".join(texts) if texts else content


def _part_text(part: object) -> str | None:
    """Returns the text of a part; `None` if it is of another kind, such as an image or a thought."""
    if isinstance(part, str):
        return part
    if not isinstance(part, dict) or part.get("type", "text") not in _TEXTS:
        return None
    text = part.get("text")
    return text if isinstance(text, str) else None


def _reasoning(message: Mapping[str, Any]) -> str | None:
    texts = [message.get(key) for key in _REASONING]
    return next((text for text in texts if text and isinstance(text, str)), None)


def _thought(message: Mapping[str, Any]) -> str:
    if any(message.get(key) for key in _REASONING):
        return " (only reasoning; try a larger max_tokens)"
    return ""


# Log probabilities, in the form of the chat API or in that of completions.


_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_ESCAPED = re.compile(r"bytes:((?:\\x[0-9a-f]{2})+)")
"""How OpenAI's completions name tokens that are no whole characters."""


def read_tokens(logprobs: object) -> list[Token] | None:
    """Returns the tokens of the field `logprobs` of a choice, in the form of the chat API.

    Some servers send the form of chats for completions, and the other way round. Log probabilities are kept
    as they are, even if they are null, text or not finite; alternatives without a text are dropped. Returns
    `None` if there are no tokens, or if the text of any of them is missing.
    """
    if not isinstance(logprobs, dict):
        return None
    content = logprobs.get("content")
    if isinstance(content, list) and content:
        return _all_entries(map(_chat_entry, content))
    texts = logprobs.get("tokens")
    if not isinstance(texts, list) or not texts:
        return None
    values = _by_position(logprobs.get("token_logprobs"), len(texts))
    tops = _by_position(logprobs.get("top_logprobs"), len(texts))
    return _all_entries(map(_completion_entry, texts, values, tops))


def completed(tokens: Sequence[Token], text: str) -> list[Token]:
    """Returns tokens that spell a text, if they do so but for parts of characters.

    Some servers (llama-cpp-python) drop the bytes of tokens that are no whole characters, or send U+FFFD for
    them. Such tokens get the `bytes` of the characters that are missing there, which cannot be ASCII, and
    others those of their texts. Tokens that do not fit the text otherwise are returned as they are.
    """
    gaps = _gaps_in_text(tokens, text)
    if not gaps:
        return list(tokens)
    found = [{**token, "bytes": _bytes_of_token(token)} for token in tokens]
    for first, last, gap in gaps:
        raw = list(gap.encode("utf-8", "surrogatepass"))
        # Only their sum is known: none of several may look like a whole character.
        shares = [raw] if last - first == 1 else [raw[:1], raw[1:]]
        for number in range(first, last):
            found[number]["bytes"] = shares.pop(0) if shares else []
    return found


def _bytes_of_token(token: Token) -> list[int]:
    raw = token.get("bytes")
    return list(token["token"].encode("utf-8", "surrogatepass")) if raw is None else raw


def _gaps_in_text(tokens: Sequence[Token], text: str) -> list[tuple[int, int, str]]:
    """Returns which tokens (from, to) are parts of which characters; empty if the others do not fit."""
    gaps: list[tuple[int, int, str]] = []
    first = position = 0
    for number, token in enumerate(tokens):
        spelled = token["token"]
        if "bytes" not in token and not spelled.strip(_REPLACEMENT):
            continue
        if first < number or position < len(text):
            start = _start_in_text(spelled, text, position, is_gap_possible=first < number)
            if start is None:
                return []
            if start > position:
                gaps.append((first, number, text[position:start]))
            position = start + len(spelled)
        # What comes after the text, such as a token for its end, is kept.
        first = number + 1
    rest = text[position:]
    if not rest:
        return gaps
    if first == len(tokens) or not _is_without_ascii(rest):
        return []
    return [*gaps, (first, len(tokens), rest)]


def _start_in_text(spelled: str, text: str, position: int, *, is_gap_possible: bool) -> int | None:
    """Returns where a token begins: at a position, or behind characters that are missing there."""
    if is_gap_possible:
        start = text.find(spelled, position + 1)
        if start >= 0 and _is_without_ascii(text[position:start]):
            return start
    return position if text.startswith(spelled, position) else None


def _is_without_ascii(text: str) -> bool:
    return not any(character.isascii() for character in text)


def texts_in_tokens(tokens: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield all texts in tokens: their own joined, as text and from bytes, and each alternative."""
    yield "".join(token["token"] for token in tokens)
    raw = (bytes(token.get("bytes") or token["token"].encode(errors="replace")) for token in tokens)
    yield b"".join(raw).decode(errors="replace")
    for token in tokens:
        for entry in (token, *token["top_logprobs"]):
            yield entry["token"]
            yield bytes(entry.get("bytes") or b"").decode(errors="replace")
            if isinstance(entry["logprob"], str):
                yield entry["logprob"]


def _all_entries(entries: Iterator[Token | None]) -> list[Token] | None:
    tokens: list[Token] = []
    for entry in entries:
        if entry is None:
            return None
        tokens.append(entry)
    return tokens


def _by_position(values: object, count: int) -> list[object]:
    listed = values if isinstance(values, list) else []
    return [*listed[:count], *[None] * (count - len(listed))]


def _chat_entry(entry: object) -> Token | None:
    token = _entry(entry)
    if token is None or not isinstance(entry, dict):
        return None
    tops = entry.get("top_logprobs")
    read = map(_entry, tops if isinstance(tops, list) else [])
    return {**token, "top_logprobs": [top for top in read if top is not None]}


def _entry(entry: object) -> Token | None:
    """Returns a token with its log probability and, if they are valid, its bytes."""
    if not isinstance(entry, dict) or not isinstance(entry.get("token"), str):
        return None
    token = {"token": entry["token"], "logprob": _scalar(entry.get("logprob"))}
    raw = entry.get("bytes")
    if isinstance(raw, list) and all(type(byte) is int and 0 <= byte < 256 for byte in raw):
        token["bytes"] = raw
    return token


def _scalar(value: object) -> object:
    return value if isinstance(value, str | int | float) else None


def _completion_entry(text: object, value: object, tops: object) -> Token | None:
    if not isinstance(text, str):
        return None
    listed = tops.items() if isinstance(tops, dict) else ()
    alternatives = [_named_entry(name, number) for name, number in listed]
    return {**_named_entry(text, value), "top_logprobs": alternatives}


def _named_entry(name: str, value: object) -> Token:
    token: Token = {"token": name, "logprob": _scalar(value)}
    escaped = _ESCAPED.fullmatch(name)
    if escaped is not None:
        token["bytes"] = list(bytes.fromhex(escaped[1].replace("\\x", "")))
    return token
