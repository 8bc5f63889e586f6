"""Dropping answers with an n-gram found in hardly any other answer: probably a typo or a wrong fact."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pfgen_rs import _native
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.references.pool import Answers, Batches, BatchProgress, State, as_batches, batch_texts
from pfgen_rs.references.step import Context, StepReport, check_least, step

MOST = 2**32 - 1


@dataclass(frozen=True)
class WithoutSingletons:
    """The result of the filter.

    `kept`: bool, one per row. `rounds`: how many answers each round dropped; with `repeat`, the last
    one is 0.
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
) -> WithoutSingletons:
    """Drop every answer with an n-gram of `n` characters that occurs at most `threshold` times.

    Occurrences are counted over all answers; two in one answer count as two. Answers shorter than
    `n` characters have no n-gram and are kept. With `repeat`, n-grams are counted again among the
    remaining answers until nothing changes. `weights`: the number of answers each row represents;
    its n-grams are counted that many times, and a row of weight 0 is neither counted nor kept.

    Counting is exact for n-grams of up to 128 bits (n = 10 for an alphabet of 7,000); longer ones
    are counted by 128-bit digests. It uses at most `memory` bytes, plus the batches and a few bytes
    per row. If the n-grams need more, answers are read in several passes. The result depends neither
    on `memory` or `threads` (default: all cores) nor on how answers are split into batches.

    Time: linear in the number of characters per pass. Source: Imajo et al. 2025, section 3.2.3.
    Raises `SettingsError`, and `InputError` naming the row.
    """
    _check(n, threshold, memory)
    batches = as_batches(answers)
    scan = _native.Scan(n, threads)
    for _, texts in batch_texts(batches, threads=threads):
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
    return WithoutSingletons(counted.kept(), rounds)


class _Passes:
    """Passes over all answers; the native filter decides how many it needs."""

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
        """Count every n-gram once; returns the number of answers dropped."""
        self._read()
        while self._counted.finish_pass():
            self._read()
        return self._counted.finish_round()

    def _read(self) -> None:
        start, total = self._done, self._done + self._rows
        for first, texts in batch_texts(self._batches, threads=self._threads):
            self._counted.add(texts, first)
            self._done = start + first + len(texts)
            if self._progress is not None:
                self._progress(self._done, total)
        if self._done != total:
            raise InputError(
                f"the first pass read {self._rows} answers, a later one {self._done - start}: "
                "every pass must yield the same answers"
            )


def _check(n: int, threshold: int, memory: int) -> None:
    for name, value, least in (("n", n, 1), ("threshold", threshold, 0), ("memory", memory, 1)):
        if not least <= value <= (MOST if name != "memory" else 1 << 62):
            raise SettingsError(f"{name} must be at least {least}, not {value}")


def _weights(weights: ArrayLike, rows: int) -> NDArray[np.uint32]:
    """Convert weights to the format of the native filter."""
    given = np.asarray(weights)
    if given.shape != (rows,):
        raise InputError(f"weights must have the shape ({rows},), not {given.shape}")
    if rows and not (given.dtype.kind in "iub" and 0 <= given.min() <= given.max() <= MOST):
        raise InputError(f"weights must be integers between 0 and {MOST}")
    return np.ascontiguousarray(given, dtype=np.uint32)


@dataclass(frozen=True)
class Singletons:
    """Drop answers with an n-gram of `n` units that occurs at most `threshold` times.

    `repeat`: repeat with the remaining answers until nothing changes. If fewer than `at_least` answers would
    be left (all sources together), the filter is not applied: among few answers almost everything is rare.
    """

    n: int = 5
    threshold: int = 1
    repeat: bool = False
    at_least: int = 2_000

    def __post_init__(self) -> None:
        check_least(self, n=1, threshold=0, at_least=0)

    @property
    def reason(self) -> str:
        """Why the filter removes an answer."""
        times = "once" if self.threshold == 1 else f"at most {self.threshold} times"
        return f"a {self.n}-gram that occurs {times}"


@step(
    "singletons",
    Singletons,
    place=40,
    no="no n-gram is rare enough, or fewer answers than singletons.at_least would be left",
    nearly="add candidates, or lower singletons.n or singletons.threshold",
)
def _step(state: State, options: Singletons, context: Context) -> tuple[State, StepReport]:
    filtered = singletons(
        context.coded(state),
        n=options.n,
        threshold=options.threshold,
        repeat=options.repeat,
        weights=state.kept_weights(),
        memory=context.memory,
        threads=context.threads,
        progress=context.progress,
    )
    left = int(np.count_nonzero(filtered.kept))
    details: dict[str, Any] = {"rounds": filtered.rounds}
    if left < options.at_least:
        details["not_applied"] = left
        return state, StepReport("singletons", state.height, state.height, [], details)
    removed = context.removed(state, ~filtered.kept, options.reason).sorted()
    # With few candidates everything is rare; the funnel shows that without an error.
    report = StepReport("singletons", state.height, left, removed, details)
    return state.narrowed(filtered.kept), report
