"""Packages that are there only where they are wanted, and what to say where they are not."""

from __future__ import annotations

from importlib import import_module
from typing import TypeVar

from pfgen_rs.errors import PfgenError

__all__ = ["missing", "needed"]

Kind = TypeVar("Kind", bound=PfgenError)


def missing(what: str, extra: str, error: ImportError, kind: type[Kind]) -> Kind:
    """The error for what an extra brings and cannot be imported."""
    return kind(f"{what} cannot be imported ({error}): pip install 'pfgen_rs[{extra}]'")


def needed(module: str, extra: str) -> None:
    """Import a module; raises `PfgenError` naming the extra that brings it, where that fails."""
    try:
        import_module(module)
    except ImportError as error:
        raise missing(module, extra, error, PfgenError) from error
