"""Choosing reference answers whose n-grams are distributed as in the whole pool."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal, TypeVar

from pfgen_rs import ConfigError, InputError, SettingsError, _native
from pfgen_rs.lazy import NDArray, np, pl
from pfgen_rs.references.steps import Context, Mask, State, Step, StepReport, by_source, joined

SelectionProgress = Callable[[int, float], None]
"""Called with the number of proposals so far and the current error; an exception ends the search."""

PASSES = 28
"""Default budget, in comparisons of each chosen answer with all others: three cycles of the search."""

DRAWS = 10
"""Random selections whose mean error the result is compared with."""

T = TypeVar("T")

_MOST_PROPOSALS = 2**62
# Seconds per round, steps in the first round, and the maximum growth from one round to the next.
_ROUND = 0.2
_FIRST_ROUND = 16
_FASTER = 4.0


@dataclass(frozen=True, eq=False)
class Selection:
    """Chosen answers: `rows` of the pool, ascending (int64, shape (chosen,)).

    `error` is the error of the selection, `greedy_error` that of the greedy selection the search started
    from, and `random_error` the mean error of 10 random selections drawn with the same seed; without unit,
    rounded to the nearest float. `proposals` is the number of exchanges evaluated by each restart: passing it
    to `select` gives the same rows. `seconds` is the total time.
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
    """Choose `count` of `answers` (all if there are fewer), each at most once.

    Minimises the mean, over the n-grams of `min_n` to `max_n` characters in the pool, of the squared
    difference between the share of chosen answers that contain it and that of all answers: the mean
    squared error of Imajo et al. 2025, section 3.2.4, over document frequencies. A greedy selection is
    improved by exchanging answers; see `rust/core/src/references/climb.rs`.

    `answers` is a list or an Arrow column of text. `weights` is how often each occurred in the pool
    (integers, at least 1). `strata` assigns each answer to a stratum (any sortable values, such as
    names of sources): every stratum gets its share of `count` (largest remainder method by weights;
    ties go to the first in order). `restarts` runs the search this many times with different random
    numbers, and keeps the best result.

    The budget is a number of `proposals` (evaluated exchanges) per restart, or `seconds` for the whole
    call; the greedy selection is always completed. The default is 28 comparisons of each chosen
    answer with all others, which takes a few seconds for 1,000 of 30,000. The same seed and proposals
    give the same rows on every machine, for any number of `threads` (default: all cores; at most one
    per restart). `progress` is called a few times a second.

    For `K` answers with `N` characters in total and `m` chosen: O(N max_n) for the setup, O(K) for
    `K` proposals, and per exchange the overlaps of one answer with all others, O(K) or more.
    Memory: 60 to 80 bytes per character, plus 2 K m bytes (at most 256 MiB).

    Raises `InputError` if there are no answers, for columns of unequal length and for weights below 1,
    and `SettingsError` for numbers out of range.

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
            None if strata is None else _numbered(strata),
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
        random_error=_mean([native.random_error(draw) for draw in range(DRAWS)]),
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
    """Search in rounds of a fifth of a second, so that Python can handle Ctrl-C between them."""

    def further(proposals: int) -> None:
        native.run(min(native.proposals + proposals, limit), threads)

    step = native.largest_step
    pace = _Pace(_FIRST_ROUND * step, step)
    while True:
        if progress is not None:
            progress(native.proposals, _quotient(native.error))
        before, left = native.proposals, deadline - time.perf_counter()
        if left <= 0:
            return
        pace.timed(further, left)
        if native.proposals == before:
            return


class _Pace:
    """Adjusts the amount of work per round so that a round takes about `_ROUND` seconds."""

    def __init__(self, amount: int, least: int = 1) -> None:
        self._amount, self._least = float(amount), least
        self._rate = math.inf

    def timed(self, work: Callable[[int], T], left: float = math.inf) -> T:
        """Do a round of work, of at most `left` seconds judging by the last one."""
        amount = max(self._least, int(min(self._amount, self._rate * left, _MOST_PROPOSALS)))
        start = time.perf_counter()
        result = work(amount)
        elapsed = max(time.perf_counter() - start, 1e-6)
        self._rate = amount / elapsed
        self._amount = amount * min(_ROUND / elapsed, _FASTER)
        return result


def _limit(proposals: int | None, seconds: float | None) -> int | None:
    """Returns the maximum number of proposals, or `None` for the default."""
    if proposals is not None and seconds is not None:
        raise SettingsError("proposals and seconds are mutually exclusive")
    if proposals is not None and not 0 <= proposals <= _MOST_PROPOSALS:
        raise SettingsError(f"proposals must be between 0 and {_MOST_PROPOSALS}, not {proposals}")
    if seconds is None:
        return proposals
    if not 0 <= seconds < math.inf:
        raise SettingsError(f"seconds must be at least 0, not {seconds}")
    return _MOST_PROPOSALS


def _weights(weights: Sequence[int] | NDArray[Any]) -> NDArray[np.uint64]:
    column = np.asarray(weights)
    is_integer = column.ndim == 1 and column.dtype.kind in "iu"
    if len(column) and not (is_integer and column.min() >= 1):
        raise InputError("weights must be a column of integers of at least 1")
    return column.astype(np.uint64)


def _numbered(strata: Sequence[Any] | NDArray[Any]) -> NDArray[np.uint32]:
    """Number the strata in sorted order."""
    try:
        numbers = np.unique(np.asarray(strata), return_inverse=True)[1]
    except (TypeError, ValueError) as error:
        raise InputError(f"strata must be a column of values that can be sorted: {error}") from None
    return numbers.reshape(-1).astype(np.uint32)


def _quotient(error: tuple[int, int]) -> float:
    """Returns the nearest float; 0 for a pool without n-grams."""
    numerator, denominator = error
    return numerator / denominator if denominator else 0.0


def _mean(errors: Sequence[tuple[int, int]]) -> float:
    """Returns the nearest float to the mean of errors with the same denominator."""
    return _quotient((sum(n for n, _ in errors), sum(d for _, d in errors)))


@dataclass(frozen=True)
class Select(Step):
    """Choose `count` answers by hill climbing; the budget is `proposals` or `seconds` per restart.

    `stratify`: `model` preserves the shares of models, `length` those of length deciles.
    """

    breaks_ties: ClassVar[bool] = True
    no: ClassVar[str] = "there are no more answers than select.count; lower it or add candidates"

    count: int = 1_000
    proposals: int | None = None
    seconds: float | None = None
    restarts: int = 1
    stratify: Literal["", "model", "length"] = ""
    min_n: int = 1
    max_n: int = 10

    def __post_init__(self) -> None:
        self.check_least(count=1, restarts=1, min_n=1, max_n=self.min_n, proposals=0)
        if self.proposals is not None and self.seconds is not None:
            raise ConfigError("proposals and seconds are mutually exclusive")
        if self.seconds is not None and not self.seconds >= 0:
            raise ConfigError(f"seconds must be at least 0, not {self.seconds}")

    def needs(self, after: int) -> int:
        """Returns the number to choose."""
        del after
        return self.count

    def run(self, state: State, context: Context) -> tuple[State, StepReport]:
        """Choose answers of each source."""
        settings = asdict(self)
        del settings["stratify"]

        def tell(done: int, error: float) -> None:
            context.progress(done, self.proposals or 0, f"error {error:.3g}")

        def keep(part: State) -> tuple[Mask, dict[str, Any]]:
            answers = context.column(part)
            chosen = select(
                answers,
                **settings,
                weights=part.kept_weights(),
                strata=self._strata(part, answers),
                seed=context.seed,
                threads=context.threads,
                progress=tell,
            )
            mask = np.zeros(part.height, dtype=np.bool_)
            mask[chosen.rows] = True
            details = {"answers": len(chosen.rows)}
            names = ("random_error", "greedy_error", "error", "proposals")
            return mask, details | {name: getattr(chosen, name) for name in names}

        kept, details = by_source(state, keep)
        after = state.narrowed(kept)
        # An answer that is not selected is not worse in itself, so there are no reasons to show.
        report = StepReport(self.name, state.height, after.height, [], {"sources": details})
        return after, report

    def _strata(self, state: State, answers: pl.Series) -> NDArray[Any] | None:
        """Returns the stratum of each answer: its model, or the decile of its length in the pool."""
        if not self.stratify:
            return None
        if self.stratify == "model":
            return joined(state.batches("model")).to_numpy()
        lengths = answers.str.len_chars().to_numpy()
        ranks = np.argsort(np.argsort(lengths, kind="stable"), kind="stable")
        return ranks * 10 // max(1, len(ranks))
