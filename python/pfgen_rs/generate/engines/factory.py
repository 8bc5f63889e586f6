"""Engines by name; an engine's dependencies are imported when it is created."""

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
"""Engine names, which are also module names, and their classes."""


_HIDDEN = ("api_key", "backoff")
"""Options that cannot be written as text, or must not be written anywhere."""


def make(name: str, model: str, **options: Any) -> Engine:
    """Create the engine with this name for a model, with engine-specific options.

    Raises `SettingsError` for unknown names and options, and any error of the engine's constructor.
    """
    kind = _engine_kind(name)
    signature = inspect.signature(kind)
    try:
        signature.bind(model, **options)
    except TypeError as error:
        known = ", ".join(n for n in list(signature.parameters)[1:] if n not in _HIDDEN)
        raise SettingsError(f"engine {name}: {error} (its options: {known})") from None
    return cast("Engine", kind(model, **options))


def recorded_name(name: str) -> str:
    """Returns the name of an engine in `config.json`."""
    return str(_engine_kind(name).name)


def _engine_kind(name: str) -> Any:
    if name not in ENGINES:
        raise SettingsError(f"unknown engine {name!r}: expected one of {', '.join(ENGINES)}")
    return getattr(import_module(f"pfgen_rs.generate.engines.{name}"), ENGINES[name])
