"""A base class for context managers that have a `close` method."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

__all__ = ["Closing"]


class Closing(ABC):
    """A context manager that calls `close` at the end of its block."""

    @abstractmethod
    def close(self) -> None:
        """Release all resources."""

    def __enter__(self) -> Self:
        """Returns itself; it is closed at the end of the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self._leave(error)

    def _leave(self, error: BaseException | None) -> None:  # noqa: ARG002 - some subclasses use it
        """Close it at the end of the block; `error` is the exception that ended the block, if any."""
        self.close()
