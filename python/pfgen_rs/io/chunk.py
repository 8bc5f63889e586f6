"""The form in which every format is read: responses in columns, a bounded number at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs.errors import InputError, Item
from pfgen_rs.io.cleaning import Clean

__all__ = ["ADVICE", "RUN_ADVICE", "Chunk", "Kept", "Options"]


ADVICE = (
    "name another one with --question-field (in Python question_field=)",
    "name another one with --answer-field (in Python answer_field=)",
)


RUN_ADVICE = "name another one with --run-field (in Python run_field=)"


class Kept(NamedTuple):
    """A column that is kept: its key in files, its name beside the scores, and its type."""

    key: str
    name: str
    kind: pl.DataType


@dataclass(frozen=True)
class Options:
    """How files of responses are read.

    `text_size`: bytes of JSON lines that are decoded at once. `rows`: responses in a chunk at most.
    `more_fields`: keys or columns of further texts, which a response may lack. `tokens`: answers are lists
    of token ids rather than texts. `advice`: how to name another key or column of questions, and of answers.
    `clean`: answers are cleaned as `pfgen_rs.io.cleaning` does it. `keep`: further columns to read. `run`:
    one of them, which names the run of each response. `check`: unclean ones are counted.
    """

    question_field: str = "question"
    answer_field: str = "answer"
    skip_bad_lines: bool = False
    text_size: int = 8 << 20
    rows: int = 1 << 15
    more_fields: tuple[str, ...] = ()
    tokens: bool = False
    advice: tuple[str, str] = ADVICE
    clean: Clean = False
    check: bool = False
    keep: tuple[Kept, ...] = ()
    run: Kept | None = None

    @property
    def fields(self) -> tuple[str, str]:
        """Keys or columns of question and answer."""
        return self.question_field, self.answer_field

    @property
    def answer_type(self) -> pl.DataType:
        """The type of the column of answers."""
        return pl.List(pl.UInt32()) if self.tokens else pl.String()


@dataclass(frozen=True)
class Chunk:
    """Responses that follow each other in one file.

    `lines`: line (or row, or element, as `item` says) of each response, from 1. `starts`: where that line
    begins in the unpacked text; `None` for tables. `text`: the bytes that the columns were decoded from,
    which begin at `text_start`. `identity` differs from that of every other chunk. `read`: bytes of the file
    read so far. `unclean`: answers that pfgen-bench would have cleaned, by why. `more`: further texts, null
    where a response lacks them.
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
    item: Item = "line"
    unclean: Counter[str] = field(default_factory=Counter)
    kept: pl.DataFrame = field(default_factory=pl.DataFrame)

    def __len__(self) -> int:
        """Count the responses."""
        return len(self.lines)

    @property
    def size(self) -> int:
        """Bytes of memory that the text takes, about."""
        if self.text is not None:
            return len(self.text)
        return int(self.questions.estimated_size() + self.answers.estimated_size())

    def rows(self, rows: NDArray[np.intp]) -> Chunk:
        """Returns the chunk with only the lines of these rows, not their texts."""
        starts = None if self.starts is None else self.starts[rows]
        return replace(self, lines=self.lines[rows], starts=starts)

    def where(self, kept: NDArray[np.bool_]) -> Chunk:
        """Returns the chunk with only the responses for which `kept` is true."""
        mask = pl.Series(kept)
        return replace(
            self,
            questions=self.questions.filter(mask),
            answers=self.answers.filter(mask),
            lines=self.lines[kept],
            starts=None if self.starts is None else self.starts[kept],
            more=tuple(column.filter(mask) for column in self.more),
            kept=self.kept.filter(mask) if self.kept.width else self.kept,
        )
