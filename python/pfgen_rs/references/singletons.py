"""Answers that contain an n-gram which hardly any other answer contains: probably a slip or a wrong fact."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pfgen_rs import _native
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.references.batches import Answers, Batches, BatchProgress, as_batches, texts_of

__all__ = ["Singletons", "singletons"]

MOST = 2**32 - 1


@dataclass(frozen=True)
class Singletons:
    """What the filter keeps.

    `kept`: bool, one for each row. `rounds`: how many answers each round dropped; where rounds are
    repeated, the last one dropped none.
    """

    kept: NDArray[np.bool_]
    rounds: list[int]


def singletons(
    answers: Answers,
    *,
    n: int = 5,
    threshold: int = 1,
    repeat: bool = False,
    weights: ArrayLike | None = None,
    memory: int = 1 << 30,
    threads: int | None = None,
    progress: BatchProgress | None = None,
) -> Singletons:
    """Drop every answer with an n-gram of `n` characters that occurs `threshold` times or less.

    Occurrences in all answers together count, twice in one answer as two. Answers of fewer than `n`
    characters have no n-gram and stay. With `repeat`, n-grams are counted again among what is left,
    until nothing changes. `weights`: for each row how many answers it stands for; its n-grams count
    as often, and a row of weight 0 is neither counted nor kept.

    Counting is exact for up to 128 bits an n-gram (that is n = 10 for an alphabet of 7,000), above
    by digests of 128 bits. It takes at most `memory` bytes, besides the batches and a few bytes a
    row: where the n-grams need more, answers are read in several passes. The result depends on
    neither `memory` nor `threads` (all cores by default) nor on how answers are cut into batches.

    Time: linear in the characters, for each pass. Source: Imajo et al. 2025, section 3.2.3.
    Raises `SettingsError`, and `InputError` naming the row.
    """
    _check(n, threshold, memory)
    batches = as_batches(answers)
    scan = _native.Scan(n, threads)
    for _, texts in texts_of(batches, threads=threads):
        scan.add(texts)
        if progress is not None:
            progress(scan.rows, 0)
    checked = None if weights is None else _weights(weights, scan.rows)
    counted = _native.SingletonFilter(
        scan, threshold=threshold, weights=checked, memory=memory, threads=threads
    )
    passes = _Passes(batches, scan.rows, counted, threads, progress)
    rounds = [passes.round()]
    while repeat and rounds[-1]:
        rounds.append(passes.round())
    return Singletons(counted.kept(), rounds)


class _Passes:
    """Readings of all answers, each counted; the native filter says how many it needs."""

    def __init__(
        self,
        batches: Batches,
        rows: int,
        counted: _native.SingletonFilter,
        threads: int | None,
        progress: BatchProgress | None,
    ) -> None:
        self._batches, self._rows, self._threads = batches, rows, threads
        self._counted, self._progress = counted, progress
        self._done = rows

    def round(self) -> int:
        """Count every n-gram once; the number of answers that are dropped for it."""
        self._read()
        while self._counted.finish_pass():
            self._read()
        return self._counted.finish_round()

    def _read(self) -> None:
        start, total = self._done, self._done + self._rows
        for first, texts in texts_of(self._batches, threads=self._threads):
            self._counted.add(texts, first)
            self._done = start + first + len(texts)
            if self._progress is not None:
                self._progress(self._done, total)
        if self._done != total:
            raise InputError(
                f"the first reading gave {self._rows} answers, a later one {self._done - start}: "
                "each must give the same"
            )


def _check(n: int, threshold: int, memory: int) -> None:
    for name, value, least in (("n", n, 1), ("threshold", threshold, 0), ("memory", memory, 1)):
        if not least <= value <= (MOST if name != "memory" else 1 << 62):
            raise SettingsError(f"{name} must be at least {least}, not {value}")


def _weights(weights: ArrayLike, rows: int) -> NDArray[np.uint32]:
    """Weights as the native filter takes them."""
    given = np.asarray(weights)
    if given.shape != (rows,):
        raise InputError(f"expected one weight per row ({rows}), but their shape is {given.shape}")
    if rows and not (given.dtype.kind in "iub" and 0 <= given.min() <= given.max() <= MOST):
        raise InputError(f"weights must be integers in 0…{MOST}")
    return np.ascontiguousarray(given, dtype=np.uint32)
