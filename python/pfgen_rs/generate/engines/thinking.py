"""Advice for models that think before they answer, and so may not get to the answer."""

from __future__ import annotations

__all__ = ["cure_for_thinking"]

_TEMPLATE = 'chat_template_kwargs={"enable_thinking": false}'
_OFF = {
    "openai-api": 'extra={"chat_template_kwargs": {"enable_thinking": false}}',
    "vllm": _TEMPLATE,
    "transformers": _TEMPLATE,
}


def cure_for_thinking(engine: str) -> str:
    """Returns advice on answers that are missing because the model was still thinking at its token limit.

    `engine`: the engine's `name`.
    """
    setting = _OFF.get(engine)
    how = "" if setting is None else f", as with --set '{setting}'"
    return (
        "if the model thinks before it answers, allow it more tokens with --max-tokens (or none), or switch "
        f"thinking off{how}"
    )
