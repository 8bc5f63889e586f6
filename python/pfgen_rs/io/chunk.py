"""What every format is read as: responses in columns, a bounded number at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs.errors import InputError

__all__ = ["Chunk", "Options", "Problems"]

# A problem, and the line (or row, from 1) that has it: refused or noted, as the reader was told.
Problems = Callable[[str, int], None]


@dataclass(frozen=True)
class Options:
    """How files of responses are read.

    `text_size`: bytes of JSON lines that are decoded at once. `rows`: responses in a chunk at most.
    `more_fields`: keys or columns of further texts, which a response may lack.
    `tokens`: answers are lists of token ids rather than texts.
    """

    question_field: str = "question"
    answer_field: str = "answer"
    skip_bad_lines: bool = False
    text_size: int = 8 << 20
    rows: int = 1 << 15
    more_fields: tuple[str, ...] = ()
    tokens: bool = False

    @property
    def fields(self) -> tuple[str, str]:
        """The two keys or columns."""
        return self.question_field, self.answer_field

    @property
    def answer_type(self) -> pl.DataType:
        """Of the column of answers."""
        return pl.List(pl.UInt32()) if self.tokens else pl.String()


@dataclass(frozen=True)
class Chunk:
    """Responses that follow each other in one file.

    `lines`: line (or row) of each response, from 1. `starts`: where that line begins in the unpacked
    text; tables have none. `text`: the bytes that the columns were decoded from, which begin at
    `text_start`. `identity` tells the chunk from any other with the same number in another file's place.
    `more`: further texts, null where a response has none.
    """

    questions: pl.Series
    answers: pl.Series
    lines: NDArray[np.int64]
    starts: NDArray[np.int64] | None = None
    problems: list[InputError] = field(default_factory=list)
    text: bytes | None = None
    text_start: int = 0
    identity: Callable[[], str] = field(default=str, repr=False)
    read: int = 0
    more: tuple[pl.Series, ...] = ()

    def __len__(self) -> int:
        """Count the responses."""
        return len(self.lines)

    @property
    def size(self) -> int:
        """About how many bytes of memory the text takes."""
        if self.text is not None:
            return len(self.text)
        return int(self.questions.estimated_size() + self.answers.estimated_size())

    def where(self, kept: NDArray[np.bool_]) -> Chunk:
        """The same with some responses only."""
        mask = pl.Series(kept)
        return Chunk(
            self.questions.filter(mask),
            self.answers.filter(mask),
            self.lines[kept],
            None if self.starts is None else self.starts[kept],
            self.problems,
            self.text,
            self.text_start,
            self.identity,
            self.read,
            tuple(column.filter(mask) for column in self.more),
        )
