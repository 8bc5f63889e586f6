"""The registry of engines. Each is one file that registers its class; nothing else names it.

A file of this folder holds the engine of the same name. Other packages add theirs by an entry point in the
group `pfgen_rs.engines`, whose name is that of the engine and whose object is its class. The choices of the
command line and the options that an engine takes follow from the classes.
"""

import inspect
import pkgutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, TypeVar, cast

from pfgen_rs.ask.protocol import Engine
from pfgen_rs.errors import SettingsError
from pfgen_rs.registry import loaded

__all__ = [
    "engine",
    "in_batches",
    "kind",
    "make",
    "names",
    "names_with",
    "options",
    "recorded_name",
]

GROUP = "pfgen_rs.engines"
_HIDDEN = ("api_key", "backoff", "path")
"""Options that cannot be written as text, or must not be written anywhere."""
_FIRST = ("openai", "anthropic", "vllm", "transformers")
"""Engines that are listed first: those that run a model without more ado."""

Kind = TypeVar("Kind", bound=type)
_kinds: dict[str, type] = {}


def engine(name: str) -> Callable[[Kind], Kind]:
    """Register the decorated class as the engine `name`."""

    def register(cls: Kind) -> Kind:
        _kinds[name] = cls
        return cls

    return register


def names() -> list[str]:
    """Returns the names of all engines, without importing them."""
    own = [module.name for module in pkgutil.iter_modules(__path__)]
    first = [name for name in _FIRST if name in own]
    return list(dict.fromkeys([*first, *own, *_foreign(), *_kinds]))


def kind(name: str) -> Any:
    """Returns the class of an engine.

    Raises `SettingsError` for unknown names, and for one of another package that cannot be loaded.
    """
    if name not in _kinds:
        if name in _foreign():
            engine(name)(loaded(_foreign()[name], "engine"))
        elif name in names():
            import_module(f"{__name__}.{name}")
        else:
            raise SettingsError(f"unknown engine {name!r}: expected one of {', '.join(names())}")
    return _kinds[name]


@cache
def _foreign() -> dict[str, metadata.EntryPoint]:
    """Returns the entry points of engines of other packages; none hides an engine of this one."""
    own = {path.stem for path in Path(__file__).parent.glob("*.py")}
    return {p.name: p for p in metadata.entry_points(group=GROUP) if p.name not in own}


def _usable() -> Iterator[str]:
    """Yield the names of the engines that can be loaded."""
    for name in names():
        with suppress(SettingsError):
            kind(name)
            yield name


def options(name: str) -> dict[str, inspect.Parameter]:
    """Returns the options of an engine that can be written as text: the parameters of its class."""
    parameters = list(inspect.signature(kind(name)).parameters.values())[1:]
    return {p.name: p for p in parameters if p.name not in _HIDDEN}


def names_with(option: str) -> list[str]:
    """Returns the names of the engines that take an option."""
    return [name for name in _usable() if option in options(name)]


def make(name: str, model: str, **given: Any) -> Engine:
    """Create the engine with this name for a model, with engine-specific options.

    Raises `SettingsError` for unknown names and options, and any error of the engine's constructor.
    """
    cls = kind(name)
    try:
        inspect.signature(cls).bind(model, **given)
    except TypeError as error:
        known = ", ".join(options(name))
        raise SettingsError(f"engine {name}: {error} (its options: {known})") from None
    return cast("Engine", cls(model, **given))


def in_batches(engine: Engine, **settings: Any) -> Engine:
    """Returns an engine that asks in batches; `settings`: those of `pfgen_rs.ask.batches.BatchEngine`.

    Raises `SettingsError` for engines whose servers have no batches.
    """
    if not hasattr(engine, "batch_form"):
        able = [name for name in _usable() if hasattr(kind(name), "batch_form")]
        raise SettingsError(
            f"the engine {engine.name!r} has no batches: --batch requires the engine {' or '.join(able)}"
        )
    from pfgen_rs.ask.batches import BatchEngine

    return BatchEngine(cast("Any", engine), **settings)


def recorded_name(name: str) -> str:
    """Returns the name of an engine in `config.json`."""
    return str(kind(name).name)


@cache
def cure_for_thinking(recorded: str) -> str:
    """Returns advice on answers that are missing because the model was still thinking at its token limit.

    `recorded`: the engine's `name`. An engine whose class has `thinking_off` says how to switch it off.
    """
    known = (kind(name) for name in _usable() if recorded_name(name) == recorded)
    setting = next((getattr(cls, "thinking_off", None) for cls in known), None)
    how = "" if setting is None else f", as with --set '{setting}'"
    return (
        "if the model thinks before it answers, allow it more tokens with --max-tokens (or none), or switch "
        f"thinking off{how}"
    )
