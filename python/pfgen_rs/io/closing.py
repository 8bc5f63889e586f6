"""Context managers that are closed at the end of their block."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

__all__ = ["Closing"]


class Closing(ABC):
    """A context manager for what has a `close`."""

    @abstractmethod
    def close(self) -> None:
        """Release what is held."""

    def __enter__(self) -> Self:
        """Close it at the end of the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self._leave(error)

    def _leave(self, error: BaseException | None) -> None:  # noqa: ARG002 - some closings note the error
        """Close it at the end of a block that `error` ended, if any did."""
        self.close()
