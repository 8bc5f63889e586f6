"""Native half of the package; use the public names of `pfgen_rs` instead."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "INSTRUCTIONS",
    "LARGEST_TOKEN",
    "NOT_FOUND",
    "UNKNOWN",
    "Batches",
    "CodePoints",
    "Codes",
    "Corrections",
    "Expression",
    "Few",
    "Index",
    "LeakFinder",
    "Markup",
    "Numbers",
    "ParquetFile",
    "Places",
    "Rules",
    "RunSummary",
    "Scan",
    "Scored",
    "Scorer",
    "Selector",
    "Settings",
    "SingletonFilter",
    "Store",
    "StoredScorer",
    "TextArray",
    "Texts",
    "Vocabulary",
    "__version__",
    "code_tokens",
    "decode_lines",
    "digest",
    "explain",
    "indented",
    "round_half_even",
    "sorted_rows",
    "sum_again",
    "text_digests",
    "token_ids",
    "unclean_rows",
    "word_ends",
    "word_spans",
]

__version__: str
"""The version of the package."""
INSTRUCTIONS: str
LARGEST_TOKEN: int
NOT_FOUND: int
UNKNOWN: int

class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class _ArrowSchema(Protocol):
    def __arrow_c_schema__(self) -> object: ...

class _ArrowArray(Protocol):
    def __arrow_c_array__(
        self, requested_schema: object | None = None
    ) -> tuple[object, object]: ...

@final
class Texts:
    def __new__(
        cls, values: Sequence[str] | _ArrowStream | _ArrowArray, threads: int | None = None
    ) -> Texts: ...
    def __len__(self) -> int: ...
    def __getitem__(self, row: int, /) -> str: ...
    def lengths(self) -> NDArray[np.int64]: ...

@final
class Settings:
    def __new__(
        cls,
        *,
        paper: bool,
        min_n: int,
        max_n: int,
        truthfulness_n: int,
        threshold: float,
        target_length: int,
        zero_length: int,
        max_length: int,
        skipped: str,
        helpfulness: bool,
    ) -> Settings: ...

@final
class Index:
    def __new__(cls, sources: Sequence[tuple[str, Texts]]) -> Index: ...
    @property
    def sources(self) -> list[str]: ...
    @property
    def answer_counts(self) -> list[int]: ...
    @property
    def character_count(self) -> int: ...
    def count(self, pattern: str) -> int: ...
    def document_frequency(self, pattern: str) -> list[int]: ...
    def locate(self, pattern: str) -> list[tuple[str, int, int]]: ...
    def concordance(
        self, pattern: str, width: int
    ) -> list[tuple[tuple[str, int, int], str, str]]: ...
    def next_characters(self, pattern: str) -> list[tuple[str | None, int]]: ...
    def ngrams(self, n: int, min_df: int, top: int | None) -> list[tuple[str, int, list[int]]]: ...
    def count_batch(self, patterns: Texts) -> NDArray[np.uint64]: ...
    def document_frequency_batch(self, patterns: Texts) -> NDArray[np.uint32]: ...

@final
class Scorer:
    def __new__(cls, sources: Sequence[tuple[str, Texts]], settings: Settings) -> Scorer: ...
    @property
    def baselines(self) -> list[float]: ...
    @property
    def compact(self) -> bool: ...
    @property
    def size(self) -> int: ...
    def lone(
        self, rules: Rules, text: str, others: Sequence[int], compensated: bool
    ) -> tuple[list[float], list[tuple[float, int, float, int]], float, int]: ...
    def windows(
        self, texts: Texts, threads: int | None = None
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...
    def marks(
        self, texts: Texts, above: int, below: int, threads: int | None = None
    ) -> list[bytes]: ...

@final
class Store:
    def __new__(cls, path: Path, key: bytes) -> Store: ...
    def __len__(self) -> int: ...
    def scorer(self, number: int, settings: Settings, answers: Sequence[int]) -> Scorer: ...
    def stored(self, number: int, settings: Settings, answers: Sequence[int]) -> StoredScorer: ...
    @staticmethod
    def write(path: Path, key: bytes, scorers: Sequence[Scorer]) -> None: ...

@final
class StoredScorer: ...

@final
class ParquetFile:
    def __new__(cls, path: Path, schema: _ArrowSchema, row_group_size: int) -> ParquetFile: ...
    def write(self, table: _ArrowStream) -> None: ...
    def finish(self) -> None: ...

@final
class Rules:
    def __new__(
        cls,
        literals: Texts,
        others: int,
        rules: Sequence[tuple[float, Sequence[tuple[str, int]]]],
    ) -> Rules: ...
    def ends(self, settings: Settings, text: str) -> list[int]: ...
    def score(self, settings: Settings, text: str, others: Sequence[int]) -> tuple[float, int]: ...

@final
class Numbers:
    def __new__(cls, lists: Sequence[Sequence[str]]) -> Numbers: ...
    def find(self, texts: Texts, threads: int | None = None) -> Codes: ...

@final
class Codes:
    def __new__(cls, numbers: NDArray[np.uint32]) -> Codes: ...
    def __len__(self) -> int: ...
    def array(self) -> NDArray[np.uint32]: ...
    def unknown(self) -> list[int]: ...
    def asked(self, start: int = 0, count: int = ...) -> list[int]: ...
    def rows(self, number: int, start: int = 0, count: int = ...) -> list[int]: ...

@final
class Scored:
    def __new__(
        cls, lengths: NDArray[np.uint32], columns: Sequence[NDArray[np.float64]]
    ) -> Scored: ...
    @staticmethod
    def joined(parts: Sequence[Scored]) -> Scored: ...
    def __len__(self) -> int: ...
    @property
    def lengths(self) -> NDArray[np.uint32]: ...
    @property
    def columns(self) -> list[NDArray[np.float64]]: ...

@final
class Corrections:
    def __new__(cls, rules: Sequence[tuple[str, str, str, str]]) -> Corrections: ...
    def correct(
        self, texts: Texts, threads: int | None = None
    ) -> tuple[TextArray, NDArray[np.int32], NDArray[np.int64]]: ...
    def judge(self, texts: Texts, threads: int | None = None) -> NDArray[np.int32]: ...

@final
class CodePoints:
    def __new__(
        cls, load: Callable[[int], tuple[bytes, list[tuple[int, str]], list[tuple[int, str]]]]
    ) -> CodePoints: ...
    def normalized(
        self,
        texts: Texts,
        in_context: Callable[[str], str],
        *,
        cut: bool,
        strip: bool,
        threads: int | None = None,
    ) -> TextArray: ...
    def normalized_list(
        self,
        texts: list[str],
        in_context: Callable[[str], str],
        *,
        cut: bool,
        strip: bool,
        threads: int | None = None,
    ) -> list[str]: ...
    def values(
        self,
        name: str,
        predictions: Texts | list[str],
        golds: Texts | list[str],
        in_context: Callable[[str, str], tuple[str, str]],
        threads: int | None = None,
        *,
        strip: bool | None = None,
    ) -> NDArray[np.float64]: ...

@final
class Batches:
    def __new__(
        cls,
        questions: Sequence[tuple[Scorer | StoredScorer, Rules, Sequence[int]] | None],
        sources: int,
    ) -> Batches: ...
    def score(
        self,
        codes: Codes,
        texts: Texts,
        start: int,
        count: int,
        others: Sequence[tuple[int, NDArray[np.uint32]]],
        compensated: bool,
        threads: int | None = None,
    ) -> Scored: ...
    def total(
        self,
        numbers: Numbers,
        questions: Texts,
        texts: Texts,
        total: int,
        threads: int | None = None,
    ) -> NDArray[np.float64] | None: ...

@final
class Few:
    def __new__(cls, numbers: Numbers, batches: Batches, total: int) -> Few: ...
    def score(self, questions: object, answers: object, /) -> NDArray[np.float64] | None: ...

def explain(
    sources: Sequence[tuple[str, Texts]], settings: Settings, text: str
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint64], NDArray[np.bool_]]: ...

@final
class Selector:
    def __new__(
        cls,
        texts: Texts,
        count: int,
        weights: NDArray[np.uint64] | None,
        strata: NDArray[np.uint32] | None,
        min_n: int,
        max_n: int,
    ) -> Selector: ...
    def grow(self, texts: int) -> bool: ...
    def error(self) -> float: ...
    def random_error(self) -> float: ...
    def rows(self) -> NDArray[np.int64]: ...

@final
class TextArray:
    def __len__(self) -> int: ...
    def __arrow_c_array__(
        self, requested_schema: object | None = None
    ) -> tuple[object, object]: ...

@final
class Places:
    def __new__(
        cls, lines: NDArray[np.int64], starts: NDArray[np.int64] | None = None
    ) -> Places: ...
    def __len__(self) -> int: ...
    def line(self, row: int) -> int: ...
    def between(self, start: int, stop: int) -> Places: ...
    @property
    def lines(self) -> NDArray[np.int64]: ...
    @property
    def starts(self) -> NDArray[np.int64] | None: ...

def decode_lines(
    text: bytes,
    question_field: str,
    answer_field: str,
    more_fields: Sequence[str],
    first: int,
    start: int,
) -> tuple[list[TextArray], Places, list[tuple[int, int, int]], int]: ...
def digest(data: bytes) -> str: ...
def indented(value: object, other: Callable[[Any, str], str]) -> bytes: ...
def unclean_rows(answers: Texts, marks: Sequence[str]) -> list[int]: ...
def sorted_rows(
    codes: Codes, places: Places, scored: Scored
) -> tuple[bytes, list[tuple[int, int, int]]]: ...
def sum_again(
    rows: bytes,
    width: int,
    bounds: Sequence[tuple[int, int, Sequence[int]]],
    settings: Settings,
    compensated: bool,
) -> bytes: ...

@final
class RunSummary:
    def __new__(cls, width: int, average: int, trials: int, compensated: bool) -> RunSummary: ...
    def add(
        self,
        pieces: Sequence[tuple[bytes, int, int]],
        columns: Sequence[int],
        places: Sequence[int],
    ) -> tuple[list[tuple[float, float]], list[list[float]]]: ...
    def add_lengths(self, rows: bytes) -> None: ...
    @property
    def scores(self) -> tuple[float, float]: ...
    @property
    def lengths(self) -> tuple[float, float]: ...
    @property
    def worthless(self) -> tuple[int, int]: ...

def round_half_even(values: NDArray[np.float64], digits: int) -> NDArray[np.float64]: ...

@final
class Markup:
    def __new__(cls, replaced: Sequence[tuple[str, str]]) -> Markup: ...
    def samples(
        self,
        samples: Sequence[Mapping[str, Any]],
        marks: Sequence[bytes],
        names: Callable[[tuple[str, ...]], Sequence[tuple[str, str]]],
    ) -> bytes: ...

@final
class Vocabulary:
    def __new__(
        cls, columns: Sequence[Texts], reserved: str, threads: int | None = None
    ) -> Vocabulary: ...
    def __len__(self) -> int: ...
    def encode(self, texts: Texts, threads: int | None = None) -> TextArray: ...
    def words(self, coded: str) -> list[str]: ...

def code_tokens(values: Sequence[Sequence[int]] | _ArrowStream | _ArrowArray) -> TextArray: ...
def token_ids(coded: str) -> list[int]: ...
def word_ends(
    literals: Texts, texts: Texts, limit: int, threads: int | None = None
) -> NDArray[np.uint32]: ...
def word_spans(text: str, limit: int | None = None) -> list[tuple[int, int]]: ...

@final
class Expression:
    @staticmethod
    def compile(pattern: str) -> Expression | None: ...
    def ends(self, texts: Texts, limit: int, threads: int | None = None) -> NDArray[np.uint32]: ...

@final
class LeakFinder:
    def __new__(
        cls, texts: Texts, n: int, coverage: float, threads: int | None = None
    ) -> LeakFinder: ...
    def grams(self) -> NDArray[np.uint32]: ...
    def find(
        self, documents: Texts
    ) -> tuple[
        NDArray[np.int64],
        NDArray[np.int64],
        NDArray[np.float64],
        NDArray[np.int64],
        NDArray[np.int64],
    ]: ...

@final
class Scan:
    def __new__(cls, n: int, threads: int | None = None) -> Scan: ...
    @property
    def rows(self) -> int: ...
    def add(self, texts: Texts) -> None: ...

@final
class SingletonFilter:
    def __new__(
        cls,
        scan: Scan,
        *,
        threshold: int,
        weights: NDArray[np.uint32] | None,
        memory: int,
        threads: int | None = None,
    ) -> SingletonFilter: ...
    def add(self, texts: Texts, first_row: int) -> None: ...
    def finish_pass(self) -> bool: ...
    def finish_round(self) -> int: ...
    def kept(self) -> NDArray[np.bool_]: ...

def text_digests(texts: Texts, seed: int, threads: int | None = None) -> NDArray[np.uint64]: ...
