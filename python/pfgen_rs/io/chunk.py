"""The common form of all formats: responses in columns, a bounded number at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

from pfgen_rs import _native
from pfgen_rs.errors import InputError, Item
from pfgen_rs.io.cleaning import Clean, Think
from pfgen_rs.io.layouts import PLAIN, ReadAs
from pfgen_rs.lazy import NDArray, np, pl

ADVICE = (
    "choose another with --question-field (in Python: question_field=)",
    "choose another with --answer-field (in Python: answer_field=)",
)


ADVICE_ON_BOTH = (
    "choose others with --question-field and --answer-field (in Python: question_field=, "
    "answer_field=)"
)
RUN_ADVICE = "choose another with --run-field (in Python: run_field=)"


class Kept(NamedTuple):
    """A column of the input to keep: its key in files, its name beside the scores, and its type."""

    key: str
    name: str
    kind: pl.DataType


@dataclass(frozen=True)
class Options:
    """How files of responses are read.

    `question_field`, `answer_field`: keys, columns or paths of both, by default those of the layout that is
    recognised. `layout`: the name of that to read instead (see `pfgen_rs.io.layouts`). `requests`: a file
    with the questions of batches. `think`: whether reasoning (`<think>`) stays in answers; by default in
    those of pfgen-bench alone. `read_as`: what was recognised. `text_size`: bytes of JSON lines to decode and
    score at once, some 19,000 usual answers: with more, memory grows faster than time falls, since a
    question's table is read from memory once a chunk. `rows`: maximum number of responses in a chunk.
    `more_fields`: keys or columns of additional texts, which a response may lack. `tokens`: whether answers
    are lists of token ids rather than texts. `advice`: how to choose another key or column for questions, and
    for answers. `clean`: whether to clean answers (see `pfgen_rs.io.cleaning`). `keep`: additional columns to
    read. `run`: the one that names the run of each response. `check`: whether to count unclean answers.
    `strict`: whether a file that may have been cut short is an error (see `Chunk.cut_short`).
    `replace_invalid`: whether what is not valid Unicode is read as U+FFFD. `model`: who wrote the answers, if
    not as in `config.json`. `leave_out`: whether its reference answers, or those of its family, are left out.
    `use_config`: whether the `config.json` beside a file is about it.
    """

    question_field: str | None = None
    answer_field: str | None = None
    skip_bad_lines: bool = False
    text_size: int = 9 << 20
    rows: int = 1 << 15
    more_fields: tuple[str, ...] = ()
    tokens: bool = False
    advice: tuple[str, str] = ADVICE
    clean: Clean = False
    check: bool = False
    keep: tuple[Kept, ...] = ()
    run: Kept | None = None
    strict: bool = False
    replace_invalid: bool = False
    layout: str | None = None
    requests: str | None = None
    think: Think | None = None
    read_as: ReadAs | None = None
    model: str | None = None
    leave_out: Literal["model", "family"] | None = None
    use_config: bool = True

    @property
    def fields(self) -> tuple[str, str]:
        """Keys or columns of the question and the answer in what is decoded, as far as they are known."""
        if self.read_as is None:
            return self.question_field or PLAIN.question, self.answer_field or PLAIN.answer
        known = self.read_as if self.read_as.is_flat else PLAIN
        return known.question, known.answer

    @property
    def strips_reasoning(self) -> bool:
        """Whether reasoning in answers is left out."""
        think = self.think or ("keep" if (self.read_as or PLAIN).is_plain else "strip")
        return think == "strip" and not self.tokens

    @property
    def keys(self) -> list[str]:
        """Keys, columns or paths of everything else that is read."""
        return [*self.more_fields, *(kept.key for kept in self.keep)]

    @property
    def answer_type(self) -> pl.DataType:
        """The type of the column of answers."""
        return pl.List(pl.UInt32()) if self.tokens else pl.String()


@dataclass(frozen=True)
class Chunk:
    """Consecutive responses of one file.

    `asked`, `answered`: questions and answers, as native columns or as those of polars. `places`: line number
    (or row or element number, see `item`) of each response, from 1, and where that line begins in the
    decompressed text, if that is not a table. `whole`: whether it is known to be all of the file. `text`: the
    bytes that the columns were decoded from, which begin at `text_start`. `identity` is unique to the chunk.
    `read`: bytes of the file read so far. `unclean`: number of answers that pfgen-bench would have cleaned,
    by reason. `more`: additional texts, null where a response lacks them. `cut_short`: in the last chunk of a
    file, a sign that its end is missing. `read_as`: what the file was recognised as. `reasoned`: number of
    answers from which reasoning was left out.
    """

    asked: _native.TextArray | pl.Series
    answered: _native.TextArray | pl.Series
    places: _native.Places
    problems: list[InputError] = field(default_factory=list)
    text: bytes | None = None
    text_start: int = 0
    identity: Callable[[], str] = field(default=str, repr=False)
    read: int = 0
    more: tuple[pl.Series, ...] = ()
    item: Item = "line"
    unclean: Counter[str] = field(default_factory=Counter)
    kept: pl.DataFrame | None = None
    cut_short: InputError | None = None
    whole: bool = False
    read_as: ReadAs = PLAIN
    reasoned: int = 0

    def __len__(self) -> int:
        """Count the responses."""
        return len(self.places)

    @cached_property
    def lines(self) -> NDArray[np.int64]:
        """The line number of each response."""
        return self.places.lines

    @cached_property
    def questions(self) -> pl.Series:
        """The questions as a column of polars."""
        return pl.Series(self.asked)

    @cached_property
    def answers(self) -> pl.Series:
        """The answers as a column of polars."""
        return pl.Series(self.answered)

    @cached_property
    def texts(self) -> _native.Texts:
        """The answers for native code; not of token ids."""
        return _native.Texts(self.answered, 1)

    @property
    def size(self) -> int:
        """Approximate size of the text in memory, in bytes."""
        if self.text is not None:
            return len(self.text)
        return int(self.questions.estimated_size() + self.answers.estimated_size())

    def rows(self, rows: NDArray[np.intp]) -> Chunk:
        """Returns the chunk with only the line numbers of these rows; the texts are left unchanged."""
        return replace(self, places=self._places(rows))

    def _places(self, rows: Any) -> _native.Places:
        starts = self.places.starts
        return _native.Places(self.lines[rows], None if starts is None else starts[rows])

    def where(self, kept: NDArray[np.bool_]) -> Chunk:
        """Returns the chunk with only the responses for which `kept` is true."""
        mask = pl.Series(kept)
        return replace(
            self,
            asked=self.questions.filter(mask),
            answered=self.answers.filter(mask),
            places=self._places(kept),
            more=tuple(column.filter(mask) for column in self.more),
            kept=self.kept.filter(mask) if self.kept is not None and self.kept.width else self.kept,
        )
