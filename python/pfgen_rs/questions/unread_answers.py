"""Reference answers that stay in their file until somebody asks for them: scores need the index only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

__all__ = ["UnreadAnswers"]


class UnreadAnswers(Mapping[str, Sequence[str]]):
    """The reference answers of a question by source; `counts` says how many there are, `read` reads them."""

    def __init__(
        self, counts: Mapping[str, int], read: Callable[[], Mapping[str, Sequence[str]]]
    ) -> None:
        self._counts, self._read = counts, read

    @cached_property
    def texts(self) -> Mapping[str, Sequence[str]]:
        """The answers themselves, which are kept once they have been read."""
        return self._read()

    def __getitem__(self, source: str) -> Sequence[str]:
        """Returns the answers of a source, which are not read yet."""
        return _UnreadSource(self, source, self._counts[source])

    def __iter__(self) -> Iterator[str]:
        """Iterate over the sources."""
        return iter(self._counts)

    def __len__(self) -> int:
        """Count the sources."""
        return len(self._counts)


class _UnreadSource(Sequence[str]):
    """The answers of one source: their number is known."""

    def __init__(self, answers: UnreadAnswers, source: str, count: int) -> None:
        self._answers, self._source, self._count = answers, source, count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, place: Any) -> Any:
        return self._answers.texts[self._source][place]

    def __iter__(self) -> Iterator[str]:
        return iter(self._answers.texts[self._source])
