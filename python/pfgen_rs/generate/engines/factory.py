"""Engines by name; what an engine needs is imported when it is made."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any, cast

from pfgen_rs.errors import SettingsError
from pfgen_rs.generate.engines.protocol import Engine

__all__ = ["ENGINES", "make", "recorded_name"]

ENGINES = {
    "openai": "OpenAIEngine",
    "vllm": "VllmEngine",
    "transformers": "TransformersEngine",
    "command": "CommandEngine",
    "manual": "ManualEngine",
}
"""Names, and classes of the modules of these names."""


_UNTOLD = ("api_key", "backoff")
"""Options that are no text, or should be written nowhere."""


def make(name: str, model: str, **options: Any) -> Engine:
    """The engine of this name, for a model, with its own options.

    Raises `SettingsError` for unknown names and options, and what the engine itself raises.
    """
    kind = _kind(name)
    signature = inspect.signature(kind)
    try:
        signature.bind(model, **options)
    except TypeError as error:
        known = ", ".join(n for n in list(signature.parameters)[1:] if n not in _UNTOLD)
        raise SettingsError(f"engine {name}: {error} (its options: {known})") from None
    return cast("Engine", kind(model, **options))


def recorded_name(name: str) -> str:
    """What `config.json` calls the engine of this name."""
    return str(_kind(name).name)


def _kind(name: str) -> Any:
    if name not in ENGINES:
        raise SettingsError(f"unknown engine {name!r}: expected one of {', '.join(ENGINES)}")
    return getattr(import_module(f"pfgen_rs.generate.engines.{name}"), ENGINES[name])
