"""Optional packages, and the error for a missing one."""

from __future__ import annotations

from importlib import import_module
from typing import Any, TypeVar

from pfgen_rs.errors import PfgenError

Kind = TypeVar("Kind", bound=PfgenError)


def missing(what: str, extra: str, error: ImportError, kind: type[Kind]) -> Kind:
    """Returns the error for an import that failed, naming the extra that provides the package."""
    return kind(f"{what} cannot be imported ({error}): pip install 'pfgen_rs[{extra}]'")


def needed(module: str, extra: str) -> Any:
    """Import and return a module; raises `PfgenError` naming the extra that provides it if that fails."""
    try:
        return import_module(module)
    except ImportError as error:
        raise missing(module, extra, error, PfgenError) from error
