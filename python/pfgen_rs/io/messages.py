"""Texts in messages of chats: what was asked, what was answered, and whether reasoning stood beside it."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pfgen_rs.errors import InputError

_NAMES = {"human": "user", "gpt": "assistant", "chatgpt": "assistant", "bot": "assistant"}
"""What ShareGPT's `from` calls the roles."""
_REASONING = ("reasoning", "thinking", "redacted_thinking")
"""Types of parts and items that are no answer."""
_REASONED = ("reasoning_content", "reasoning")
"""Keys of a message that servers put reasoning under."""


class Spoken(NamedTuple):
    """A text, and whether reasoning beside it was left out."""

    text: str
    reasoned: bool = False


def spoken(value: Any, role: str) -> Spoken:
    """Returns the text of a string, a message, its content, or the last message of a role in a chat.

    Parts of content that are not text, such as images, and reasoning are left out. Raises `InputError` for
    anything else.
    """
    if isinstance(value, str):
        return Spoken(value)
    if isinstance(value, Mapping):
        return _of_message(value)
    if not is_chat(value):
        raise InputError(f"expected a string or a list of messages, not {type(value).__name__}")
    messages = [each for each in value if role_of(each) is not None]
    if not messages:
        return _of_parts(value)
    reasoned = any(map(_is_reasoning, value))
    own = [each for each in messages if role_of(each) == role]
    text, beside = _of_message(own[-1]) if own else Spoken("")
    return Spoken(text, beside or reasoned)


def exchange(messages: Any) -> tuple[Spoken, Spoken]:
    """Returns the last answer in a chat, and what the user said last before it.

    Raises `InputError` for a chat that does not end with an answer.
    """
    roles = [role_of(message) for message in messages]
    if "assistant" not in roles or "user" in roles[_last(roles, "assistant") :]:
        raise InputError(
            "the chat does not end with an answer of the assistant: --skip-bad-lines leaves it out"
        )
    end = _last(roles, "assistant")
    return spoken(messages[:end], "user"), spoken(messages[: end + 1], "assistant")


def is_chat(value: Any) -> bool:
    """Whether a value is a list of objects, such as messages."""
    return isinstance(value, Sequence) and all(isinstance(each, Mapping) for each in value)


def role_of(message: Mapping[str, Any]) -> str | None:
    """Returns `user`, `assistant` or another role; `None` for an object that is no message."""
    role = message.get("role", message.get("from"))
    return _NAMES.get(role, role) if isinstance(role, str) else None


def _last(roles: Sequence[str | None], role: str) -> int:
    return len(roles) - 1 - list(reversed(roles)).index(role)


def _of_message(message: Mapping[str, Any]) -> Spoken:
    keys = [key for key in ("content", "value", "text") if key in message]
    if not keys:
        raise InputError(f"a message has no content: found {', '.join(map(repr, message))}")
    content = message[keys[0]]
    if content is None:  # a call of a tool
        content = ""
    found = _of_parts(content) if is_chat(content) and content else spoken(content, "")
    return Spoken(found.text, found.reasoned or any(message.get(key) for key in _REASONED))


def _of_parts(parts: Sequence[Mapping[str, Any]]) -> Spoken:
    texts = [part.get("text") for part in parts if not _is_reasoning(part)]
    text = "".join(text for text in texts if isinstance(text, str))
    return Spoken(text, len(texts) < len(parts))


def _is_reasoning(part: Mapping[str, Any]) -> bool:
    return part.get("type") in _REASONING
