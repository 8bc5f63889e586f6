"""Units of n-grams and lengths: characters, words or tokens.

Words and tokens are scored like characters: each becomes one code point of a *coded* text, on which all
native code works.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple, cast, get_args

from pfgen_rs import _native
from pfgen_rs.errors import InputError
from pfgen_rs.lazy import NDArray, np, pl

Unit = Literal["character", "word", "token"]
UNITS: tuple[Unit, ...] = get_args(Unit)
# A text or, if the units are tokens, a list of ids.
Answer = str | Sequence[int]
# A text or, if the units are tokens, a tuple of ids. `Any`, because the caller knows the unit.
Decoded = Any

# Characters that are always words of their own, and are written without spaces: ideographs, hiragana and
# their punctuation. Not katakana, because consecutive katakana form one word.
_UNSPACED = (
    "[\u3001-\u3003\u3008-\u3011\u3014-\u301f\u3041-\u3096\u309d-\u309f"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)


class Column(NamedTuple):
    """A column of answers: coded with one code point per unit, and the texts for keyword rules.

    With tokens there are no texts and no rules: `texts` is the same as `coded`.
    """

    coded: _native.Texts
    texts: _native.Texts


class Coder(ABC):
    """Encodes answers with one code point per unit. Made by `coder`; immutable and thread-safe."""

    unit: Unit

    def column(self, answers: Any, threads: int | None = None) -> Column:
        """Encode a column of answers (a list or an Arrow column) for native code.

        `threads`: number of threads (`None`: all cores). Raises `InputError`, naming the row.
        """
        texts = _native.Texts(self._coded(answers, threads), threads)
        return Column(texts, texts)

    def encode(self, answers: Any, threads: int | None = None) -> pl.Series:
        """Returns the coded texts of a column of answers as a polars column."""
        return pl.Series(self._coded(answers, threads), dtype=pl.String)

    @abstractmethod
    def _coded(self, answers: Any, threads: int | None) -> Any:
        """Returns the coded texts of a column of answers as a list or an Arrow column."""

    @abstractmethod
    def decode(self, coded: str) -> Decoded:
        """Decode to a text (words with spaces where the script needs them) or a tuple of ids."""

    @abstractmethod
    def pieces(self, answer: Answer) -> list[str]:
        """Split an answer for display, one piece per unit; joining the pieces of a text restores it."""

    @abstractmethod
    def parse(self, text: str) -> Answer:
        """Parse an answer written as text: the text itself or, for tokens, ids separated by spaces."""

    def one(self, answer: Answer) -> str:
        """Encode one answer."""
        return self.column([answer], 1).coded[0]

    def lengths(self, answers: Any) -> NDArray[np.int64]:
        """Returns the number of units of each answer in a column: int64, shape (answers,)."""
        return self.column(answers).coded.lengths()


def coder(unit: Unit, *references: Any, skipped: str = "") -> Coder:
    """Returns the coder for a unit.

    For words, `references` are the columns of reference texts (each a list or an Arrow column). All words of
    several characters that occur in none of them are equal to each other, and to nothing else. The characters
    in `skipped` always stay distinct. Takes time linear in the texts. Other units need no references: every
    character, and every token from 0 to 1,056,767, has its own code point.

    Raises `BenchmarkError` for more than about a million distinct words.

    >>> words = coder("word", ["The cat sat.", "The cat's mat"])
    >>> words.lengths(["The cat sat.", "a  dog"]), words.decode(words.one("The cat's mat."))
    (array([4, 2]), "The cat's mat .")
    """
    if unit == "character":
        return _CharacterUnits()
    if unit == "token":
        return _TokenUnits()
    return _WordUnits([_native.Texts(column) for column in references], skipped)


def texts_of(column: Any, threads: int | None = None) -> _native.Texts:
    """Convert a list or Arrow column of text for native code. Raises `InputError`, naming the row."""
    if isinstance(column, _native.Texts):
        return column
    try:
        return _native.Texts(column, threads)
    except TypeError:
        raise _not_a_text_column(column) from None


def _not_a_text_column(column: Any) -> InputError:
    return InputError(f"expected a list or a column, not {type(column).__name__}")


class _CharacterUnits(Coder):
    unit = "character"

    def column(self, answers: Any, threads: int | None = None) -> Column:
        texts = texts_of(answers, threads)
        return Column(texts, texts)

    def _coded(self, answers: Any, threads: int | None) -> Any:
        texts_of(answers, threads)  # raises for anything but text
        return answers

    def decode(self, coded: str) -> str:
        return coded

    def pieces(self, answer: Answer) -> list[str]:
        return list(cast("str", answer))

    def parse(self, text: str) -> str:
        return text

    def one(self, answer: Answer) -> str:
        return cast("str", answer)


class _WordUnits(Coder):
    unit = "word"

    def __init__(self, references: Sequence[_native.Texts], skipped: str) -> None:
        self._vocabulary = _native.Vocabulary(references, skipped)

    def column(self, answers: Any, threads: int | None = None) -> Column:
        texts = texts_of(answers, threads)
        return Column(_native.Texts(self._coded(texts, threads), threads), texts)

    def _coded(self, answers: Any, threads: int | None) -> Any:
        return self._vocabulary.encode(texts_of(answers, threads), threads)

    def decode(self, coded: str) -> str:
        words = self._vocabulary.words(coded)
        gaps = ["" if _needs_no_space(*pair) else " " for pair in pairwise(words)]
        return "".join(f"{gap}{word}" for gap, word in zip(["", *gaps], words, strict=False))

    def pieces(self, answer: Answer) -> list[str]:
        text = cast("str", answer)
        starts = [start for start, _ in _native.word_spans(text)]
        cuts = [0, *starts[1:], len(text)] if starts else []
        return [text[start:end] for start, end in pairwise(cuts)]

    def parse(self, text: str) -> str:
        return text


def _needs_no_space(before: str, after: str) -> bool:
    """Whether two adjacent words stay separate without a space."""
    return any(re.match(_UNSPACED, character) for character in (before[-1], after[0]))


class _TokenUnits(Coder):
    unit = "token"

    def decode(self, coded: str) -> tuple[int, ...]:
        return tuple(_native.token_ids(coded))

    def pieces(self, answer: Answer) -> list[str]:
        return [f"{token} " for token in answer]

    def parse(self, text: str) -> list[int]:
        try:
            return [int(part) for part in text.split()]
        except ValueError:
            raise InputError(f"expected token ids separated by spaces, not {text!r}") from None

    def _coded(self, answers: Any, threads: int | None) -> Any:
        del threads

        if isinstance(answers, pl.Series) and answers.dtype == pl.List(pl.Null):
            # Arrow libraries disagree about columns without values.
            answers = answers.cast(pl.List(pl.UInt32))
        try:
            return _native.code_tokens(answers)
        except TypeError:
            raise _not_a_text_column(answers) from None
