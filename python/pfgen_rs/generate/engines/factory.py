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


def make(name: str, model: str, **options: Any) -> Engine:
    """The engine of this name, for a model, with its own options.

    Raises `SettingsError` for unknown names and options, and what the engine itself raises.
    """
    kind = _kind(name)
    try:
        inspect.signature(kind).bind(model, **options)
    except TypeError as error:
        raise SettingsError(f"engine {name}: {error}") from None
    return cast("Engine", kind(model, **options))


def recorded_name(name: str) -> str:
    """What `config.json` calls the engine of this name."""
    return str(_kind(name).name)


def _kind(name: str) -> Any:
    if name not in ENGINES:
        raise SettingsError(f"there is no engine {name!r}: choose one of {', '.join(ENGINES)}")
    return getattr(import_module(f"pfgen_rs.generate.engines.{name}"), ENGINES[name])
