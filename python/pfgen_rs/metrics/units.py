"""Units: what n-grams are made of and lengths count, be it characters, words or tokens.

Words and tokens are scored as characters are: each becomes one code point of a *coded* text, and everything
native works on those.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple, cast, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs import _native
from pfgen_rs.errors import InputError

__all__ = ["UNITS", "Answer", "Coder", "Column", "Decoded", "Unit", "coder", "texts_of"]

Unit = Literal["character", "word", "token"]
UNITS: tuple[Unit, ...] = get_args(Unit)
# A text or, where the units are tokens, their ids.
Answer = str | Sequence[int]
# A text or, where the units are tokens, a tuple of ids: whoever chose the unit knows which.
Decoded = Any

# Characters that are words of their own whatever stands beside them, and are written without spaces:
# ideographs, hiragana and their punctuation. Katakana is none of them, since several of them are a word.
_UNSPACED = re.compile(
    "[\u3001-\u3003\u3008-\u3011\u3014-\u301f\u3041-\u3096\u309d-\u309f"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)


class Column(NamedTuple):
    """A column of answers: coded, a code point a unit; and the texts that keyword rules look at.

    Tokens have no text, and questions no rules then: theirs are the coded ones.
    """

    coded: _native.Texts
    texts: _native.Texts


class Coder(ABC):
    """Codes answers, a code point a unit. Made by `coder`; thread-safe; what it gives never changes."""

    unit: Unit

    @abstractmethod
    def column(self, answers: Any, threads: int | None = None) -> Column:
        """A column of answers (a list, or an Arrow column) for the native side.

        `threads`: all cores where that is `None`. Raises `InputError` naming the row.
        """

    @abstractmethod
    def encode(self, answers: Any, threads: int | None = None) -> pl.Series:
        """`column` for others than the native side: coded texts."""

    @abstractmethod
    def decode(self, coded: str) -> Decoded:
        """What was coded: a text (words with spaces where the script needs them), or a tuple of ids."""

    @abstractmethod
    def pieces(self, answer: Answer) -> list[str]:
        """An answer for display, a piece a unit; the pieces of a text are the text."""

    @abstractmethod
    def parse(self, text: str) -> Answer:
        """An answer that was written as text: itself or, for tokens, ids with spaces between them."""

    def one(self, answer: Answer) -> str:
        """One answer, coded."""
        return self.column([answer], 1).coded[0]

    def lengths(self, answers: Any) -> NDArray[np.int64]:
        """Units of each answer of a column: int64, shape (answers,)."""
        return self.column(answers).coded.lengths()


def coder(unit: Unit, *references: Any, skipped: str = "") -> Coder:
    """The coder of a unit.

    For words, `references` are the columns of text (each a list or an Arrow column) that scores are
    measured by: a word of several characters in none of them is equal to all other such words, and to
    nothing else. The characters `skipped` are told apart even so. Time linear in the texts. Other units need
    no references: every character, and every token from 0 to 1,056,767, has its code point.

    Raises `BenchmarkError` where there are more than about a million distinct words.

    >>> words = coder("word", ["The cat sat.", "The cat's mat"])
    >>> words.lengths(["The cat sat.", "a  dog"]), words.decode(words.one("The cat's mat."))
    (array([4, 2]), "The cat's mat .")
    """
    if unit == "character":
        return _Characters()
    if unit == "token":
        return _Tokens()
    return _Words([_native.Texts(column) for column in references], skipped)


def texts_of(column: Any, threads: int | None = None) -> _native.Texts:
    """A list or Arrow column of text for the native side. Raises `InputError` naming the row."""
    try:
        return _native.Texts(column, threads)
    except TypeError:
        raise _no_column(column) from None


def _no_column(column: Any) -> InputError:
    return InputError(f"expected a list or a column, not {type(column).__name__}")


class _Characters(Coder):
    unit = "character"

    def column(self, answers: Any, threads: int | None = None) -> Column:
        texts = texts_of(answers, threads)
        return Column(texts, texts)

    def encode(self, answers: Any, threads: int | None = None) -> pl.Series:
        texts_of(answers, threads)  # refuses what is no text
        return pl.Series(answers, dtype=pl.String)

    def decode(self, coded: str) -> str:
        return coded

    def pieces(self, answer: Answer) -> list[str]:
        return list(cast("str", answer))

    def parse(self, text: str) -> str:
        return text

    def one(self, answer: Answer) -> str:
        return cast("str", answer)


class _Words(Coder):
    unit = "word"

    def __init__(self, references: Sequence[_native.Texts], skipped: str) -> None:
        self._vocabulary = _native.Vocabulary(references, skipped)

    def column(self, answers: Any, threads: int | None = None) -> Column:
        texts = texts_of(answers, threads)
        return Column(_native.Texts(self._vocabulary.encode(texts, threads), threads), texts)

    def encode(self, answers: Any, threads: int | None = None) -> pl.Series:
        texts = texts_of(answers, threads)
        return pl.Series(self._vocabulary.encode(texts, threads), dtype=pl.String)

    def decode(self, coded: str) -> str:
        words = self._vocabulary.words(coded)
        gaps = ["" if _is_tight(*pair) else " " for pair in pairwise(words)]
        return "".join(f"{gap}{word}" for gap, word in zip(["", *gaps], words, strict=False))

    def pieces(self, answer: Answer) -> list[str]:
        text = cast("str", answer)
        starts = [start for start, _ in _native.word_spans(text)]
        cuts = [0, *starts[1:], len(text)] if starts else []
        return [text[start:end] for start, end in pairwise(cuts)]

    def parse(self, text: str) -> str:
        return text


def _is_tight(before: str, after: str) -> bool:
    """Whether two words that follow each other need no space to stay two."""
    return _UNSPACED.match(before[-1]) is not None or _UNSPACED.match(after[0]) is not None


class _Tokens(Coder):
    unit = "token"

    def column(self, answers: Any, threads: int | None = None) -> Column:
        texts = _native.Texts(_coded_tokens(answers), threads)
        return Column(texts, texts)

    def encode(self, answers: Any, threads: int | None = None) -> pl.Series:
        del threads
        return pl.Series(_coded_tokens(answers), dtype=pl.String)

    def decode(self, coded: str) -> tuple[int, ...]:
        return tuple(_native.token_ids(coded))

    def pieces(self, answer: Answer) -> list[str]:
        return [f"{token} " for token in answer]

    def parse(self, text: str) -> list[int]:
        try:
            return [int(part) for part in text.split()]
        except ValueError:
            raise InputError(
                f"token ids with spaces between them are wanted, not {text!r}"
            ) from None


def _coded_tokens(answers: Any) -> _native.TextArray:
    if isinstance(answers, pl.Series) and answers.dtype == pl.List(pl.Null):
        answers = answers.cast(
            pl.List(pl.UInt32)
        )  # Arrow libraries disagree about columns of nothing
    try:
        return _native.code_tokens(answers)
    except TypeError:
        raise _no_column(answers) from None
