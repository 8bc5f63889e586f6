"""Errors of this package for inspect_ai."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from inspect_ai._util.error import PrerequisiteError

from pfgen_rs.errors import PfgenError

__all__ = ["inspect_ai_errors"]


@contextmanager
def inspect_ai_errors() -> Iterator[None]:
    """Convert errors to a type that inspect_ai shows without tracebacks."""
    try:
        yield
    except PfgenError as error:
        raise PrerequisiteError(str(error)) from None
