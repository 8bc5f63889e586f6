"""Choosing the reference answers: those whose n-grams are distributed as in the whole pool."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pfgen_rs import _native
from pfgen_rs.errors import InputError, SettingsError

__all__ = ["Selection", "SelectionProgress", "select"]

SelectionProgress = Callable[[int, float], bool | None]
"""Told the proposals so far and the error that is reached; `False` ends the search."""

PASSES = 28
"""Default budget, as often as every chosen answer is compared with all others: three cycles of the search."""

T = TypeVar("T")

_MOST_PROPOSALS = 2**62
# Seconds of a round, steps of the first one, and how many times as large the next may be.
_ROUND = 0.2
_FIRST_ROUND = 16
_FASTER = 4.0


@dataclass(frozen=True, eq=False)
class Selection:
    """Chosen answers: `rows` of the pool, ascending (int64, shape (chosen,)).

    `error` is that of the choice, `greedy_error` that of the choice that the search began with,
    `random_error` that of a random choice (same seed); no unit, the float next to the exact value.
    `proposals` exchanges were evaluated by each restart: asking for this number gives the same rows.
    `seconds` is what all of it took.
    """

    rows: NDArray[np.int64]
    error: float
    greedy_error: float
    random_error: float
    proposals: int
    seconds: float
    seed: int


def select(
    answers: Any,
    count: int = 1000,
    *,
    weights: Sequence[int] | NDArray[Any] | None = None,
    strata: Sequence[Any] | NDArray[Any] | None = None,
    seed: int = 0,
    proposals: int | None = None,
    seconds: float | None = None,
    restarts: int = 1,
    min_n: int = 1,
    max_n: int = 10,
    threads: int | None = None,
    progress: SelectionProgress | None = None,
) -> Selection:
    """Choose `count` of `answers` (all where there are fewer), each at most once.

    Minimises the mean, over the n-grams of `min_n` to `max_n` characters in the pool, of the squared
    difference between the share of chosen answers that contain it and that of all answers: the mean
    squared error of Imajo et al. 2025, section 3.2.4, over document frequencies. A greedy choice is
    improved by exchanging answers; see `rust/core/src/references/climb.rs`.

    `answers` is a list or an Arrow column of text. `weights` says how often each stood in the pool
    (integers from 1). `strata` puts each answer into a stratum, any values that can be sorted, such
    as names of sources: every stratum gets its share of `count` (largest remainder by weights; ties
    to the first in order). `restarts` searches with other chance and keeps the best.

    The budget is a number of `proposals` for each restart, evaluated exchanges, or `seconds` for the
    whole call; the greedy choice is always completed. Without either it is that of 28 comparisons of
    each chosen answer with all others: some seconds for 1,000 of 30,000. The same seed and proposals
    give the same rows on every machine, for any number of `threads` (all cores where that is None;
    one a restart). `progress` is called a few times a second.

    For `K` answers of `N` characters together and `m` chosen: O(N max_n) to begin with, O(K) for each
    `K` proposals, and per exchange the overlaps of one answer with all others, O(K) and more.
    Memory: 60 to 80 bytes a character, and 2 K m bytes, at most 256 MiB.

    Raises `InputError` for no answers, columns of unequal length and weights below 1, `SettingsError`
    for numbers that make no sense.

    >>> chosen = select(["東京です。", "東京です。", "京都です。", "大阪か。", "東京だ。"], 2)
    >>> chosen.rows.tolist(), chosen.error < chosen.random_error
    ([0, 3], True)
    """
    start = time.perf_counter()
    limit = _limit(proposals, seconds)
    deadline = math.inf if seconds is None else start + seconds
    texts = _native.Texts(answers)
    try:
        native = _native.Selector(
            texts,
            count,
            None if weights is None else _weights(weights),
            None if strata is None else _strata(strata),
            seed=seed,
            restarts=restarts,
            min_n=min_n,
            max_n=max_n,
        )
    except (OverflowError, TypeError) as error:
        raise SettingsError(f"invalid setting: {error}") from None
    growth = _Pace(_FIRST_ROUND)
    while not growth.timed(native.grow):
        pass
    _climb(
        native, PASSES * native.neighbours if limit is None else limit, deadline, threads, progress
    )
    return Selection(
        rows=native.rows(),
        error=_quotient(native.error),
        greedy_error=_quotient(native.greedy_error),
        random_error=_quotient(native.random_error()),
        proposals=native.proposals,
        seconds=time.perf_counter() - start,
        seed=seed,
    )


def _climb(
    native: _native.Selector,
    limit: int,
    deadline: float,
    threads: int | None,
    progress: SelectionProgress | None,
) -> None:
    """Search in rounds of a fifth of a second: between them Python handles Ctrl-C."""

    def further(proposals: int) -> None:
        native.run(min(native.proposals + proposals, limit), threads)

    step = native.largest_step
    pace = _Pace(_FIRST_ROUND * step, step)
    while progress is None or progress(native.proposals, _quotient(native.error)) is not False:
        before, left = native.proposals, deadline - time.perf_counter()
        if left <= 0:
            return
        pace.at_most(left)
        pace.timed(further)
        if native.proposals == before:
            return


class _Pace:
    """How much work to do at a time, so that a round takes about `_ROUND` seconds."""

    def __init__(self, amount: int, least: int = 1) -> None:
        self.amount = amount
        self._least = least
        self._rate = math.inf

    def timed(self, work: Callable[[int], T]) -> T:
        """Do a round of the work, and choose the next amount."""
        start = time.perf_counter()
        result = work(self.amount)
        elapsed = max(time.perf_counter() - start, 1e-6)
        self._rate = self.amount / elapsed
        self._choose(self.amount * min(_ROUND / elapsed, _FASTER))
        return result

    def at_most(self, seconds: float) -> None:
        """Choose no more than what can be done in so many seconds, as far as that is known."""
        self._choose(min(self.amount, self._rate * seconds))

    def _choose(self, amount: float) -> None:
        self.amount = max(self._least, int(min(amount, _MOST_PROPOSALS)))


def _limit(proposals: int | None, seconds: float | None) -> int | None:
    """The most proposals; None where the default is wanted."""
    if proposals is not None and seconds is not None:
        raise SettingsError("proposals and seconds are mutually exclusive")
    if proposals is not None and not 0 <= proposals <= _MOST_PROPOSALS:
        raise SettingsError(f"proposals must be in 0…{_MOST_PROPOSALS}, not {proposals}")
    if seconds is None:
        return proposals
    if not 0 <= seconds < math.inf:
        raise SettingsError(f"seconds must be at least 0, not {seconds}")
    return _MOST_PROPOSALS


def _weights(weights: Sequence[int] | NDArray[Any]) -> NDArray[np.uint64]:
    column = _column("weights", weights)
    if len(column) and not np.issubdtype(column.dtype, np.integer):
        raise InputError(f"weights must be integers, not {column.dtype}")
    if (column < 1).any():
        row = int((column < 1).argmax())
        raise InputError(f"row {row} has the weight {column[row]}: weights are at least 1")
    return column.astype(np.uint64)


def _strata(strata: Sequence[Any] | NDArray[Any]) -> NDArray[np.uint32]:
    """Strata by their numbers in sorted order."""
    try:
        return np.unique(_column("strata", strata), return_inverse=True)[1].astype(np.uint32)
    except TypeError as error:
        raise InputError(f"strata must be sortable: {error}") from None


def _column(name: str, values: Sequence[Any] | NDArray[Any]) -> NDArray[Any]:
    try:
        column = np.asarray(values)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} cannot be read as a column: {error}") from None
    if column.ndim != 1:
        raise InputError(f"{name} must have one dimension, not {column.ndim}")
    return column


def _quotient(error: tuple[int, int]) -> float:
    """The nearest float; a pool without n-grams has no error."""
    numerator, denominator = error
    return numerator / denominator if denominator else 0.0
