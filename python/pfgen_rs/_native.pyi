"""Native half of the package; use the public names of `pfgen_rs` instead."""

from collections.abc import Sequence
from typing import Protocol, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "NOT_FOUND",
    "Index",
    "Literals",
    "Scorer",
    "Settings",
    "TextArray",
    "Texts",
    "__version__",
    "decode_lines",
    "round_half_even",
]

__version__: str
NOT_FOUND: int

class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class _ArrowArray(Protocol):
    def __arrow_c_array__(
        self, requested_schema: object | None = None
    ) -> tuple[object, object]: ...

@final
class Texts:
    def __new__(cls, values: Sequence[str] | _ArrowStream | _ArrowArray) -> Texts: ...
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
    def __new__(cls, index: Index, settings: Settings) -> Scorer: ...
    @property
    def baselines(self) -> list[float]: ...
    def score(
        self, texts: Texts, rows: NDArray[np.int64] | None = None, threads: int | None = None
    ) -> tuple[
        NDArray[np.float64], NDArray[np.uint32], NDArray[np.float64], NDArray[np.uint32]
    ]: ...
    def explain(
        self, text: str
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint64], NDArray[np.bool_]]: ...

@final
class Literals:
    def __new__(cls, literals: Texts) -> Literals: ...
    def ends(
        self,
        texts: Texts,
        limit: int,
        rows: NDArray[np.int64] | None = None,
        threads: int | None = None,
    ) -> NDArray[np.uint32]: ...

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
def round_half_even(values: NDArray[np.float64], digits: int) -> NDArray[np.float64]: ...
