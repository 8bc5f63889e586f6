"""Native half of the package; use the public names of `pfgen_rs` instead."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "INSTRUCTIONS",
    "NOT_FOUND",
    "UNKNOWN",
    "Batches",
    "Codes",
    "Index",
    "Rules",
    "Scorer",
    "Settings",
    "Store",
    "TextArray",
    "Texts",
    "__version__",
    "decode_lines",
    "digest",
    "explain",
    "round_half_even",
]

__version__: str
INSTRUCTIONS: str
NOT_FOUND: int
UNKNOWN: int

class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

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
    def cuts(self, text: str) -> list[tuple[float, int, float, int]]: ...
    def stored(self) -> bytes: ...

@final
class Store:
    def __new__(cls, path: Path, key: bytes) -> Store: ...
    def __len__(self) -> int: ...
    def scorer(self, number: int, settings: Settings) -> Scorer: ...
    @staticmethod
    def header(key: bytes, scorers: Sequence[Scorer]) -> bytes: ...

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
class Codes:
    def __new__(cls, lists: Sequence[Sequence[str]]) -> Codes: ...
    def find(self, texts: Texts, threads: int | None = None) -> NDArray[np.uint32]: ...

@final
class Batches:
    def __new__(
        cls, questions: Sequence[tuple[Scorer, Rules, Sequence[int]] | None], sources: int
    ) -> Batches: ...
    def score(
        self,
        codes: NDArray[np.uint32],
        texts: Texts,
        start: int,
        others: Sequence[tuple[int, NDArray[np.uint32]]],
        threads: int | None = None,
    ) -> tuple[NDArray[np.uint32], list[NDArray[np.float64]]]: ...
    def figure(
        self,
        codes: Codes,
        questions: Texts,
        texts: Texts,
        figure: int,
        threads: int | None = None,
    ) -> NDArray[np.float64] | None: ...

def explain(
    sources: Sequence[tuple[str, Texts]], settings: Settings, text: str
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint64], NDArray[np.bool_]]: ...

@final
class TextArray:
    def __len__(self) -> int: ...
    def __arrow_c_array__(
        self, requested_schema: object | None = None
    ) -> tuple[object, object]: ...

def decode_lines(
    text: bytes, question_field: str, answer_field: str
) -> tuple[
    TextArray, TextArray, NDArray[np.int64], NDArray[np.int64], list[tuple[int, int, int]], int
]: ...
def digest(data: bytes) -> str: ...
def round_half_even(values: NDArray[np.float64], digits: int) -> NDArray[np.float64]: ...
