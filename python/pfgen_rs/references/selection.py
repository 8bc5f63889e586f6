"""Choosing reference answers whose n-grams are distributed as in the whole pool."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from pfgen_rs import InputError, SettingsError, _native
from pfgen_rs.lazy import NDArray, np, pl
from pfgen_rs.references.steps import Context, Mask, State, Step, StepReport, by_source, joined

SelectionProgress = Callable[[int, int], None]
"""Called with the number of answers chosen so far and how many there are to choose; may raise to stop."""

_ROUND = 16  # answers chosen between two chances for Ctrl-C


@dataclass(frozen=True, eq=False)
class Selection:
    """Chosen answers: `rows` of the pool, ascending (int64, shape (chosen,)).

    `error` is the error of the selection, and `random_error` the mean error of all selections of this size
    that keep the shares of the strata; without unit.
    """

    rows: NDArray[np.int64]
    error: float
    random_error: float


def select(
    answers: Any,
    count: int = 1000,
    *,
    weights: Sequence[int] | NDArray[Any] | None = None,
    strata: Sequence[Any] | NDArray[Any] | None = None,
    min_n: int = 1,
    max_n: int = 10,
    progress: SelectionProgress | None = None,
) -> Selection:
    """Choose `count` of `answers` (all if there are fewer), each at most once.

    Makes small the mean, over the n-grams of `min_n` to `max_n` characters in the pool, of the squared
    difference between the share of chosen answers that contain it and that of all answers: the mean
    squared error of Imajo et al. 2025, section 3.2.4, over document frequencies. The choice is greedy: it
    always takes the answer that makes it, as far as it is, most like the pool.

    `answers` is a list or an Arrow column of text. `weights` is how often each occurred in the pool
    (integers, at least 1). `strata` assigns each answer to a stratum (any sortable values, such as
    names of sources): every stratum gets its share of `count` (largest remainder method by weights;
    ties go to the first in order).

    Of equally good answers that with the smallest digest (XXH3) is taken, so the chosen texts do not depend
    on the order of the answers. For `K` answers with `N` characters in total: O(N max_n) for the setup, and
    per chosen answer O(K) and the answers that share an n-gram with it: a few seconds for 1,000 of 30,000.
    Memory: 60 to 80 bytes per character.

    Raises `InputError` if there are no answers, for columns of unequal length and for weights below 1,
    and `SettingsError` for numbers out of range.

    >>> chosen = select(["東京です。", "東京です。", "京都です。", "大阪か。", "東京だ。"], 2)
    >>> chosen.rows.tolist(), chosen.error < chosen.random_error
    ([0, 3], True)
    """
    texts = _native.Texts(answers)
    own_weights = None if weights is None else _weights(weights)
    own_strata = None if strata is None else _numbered(strata)
    try:
        native = _native.Selector(texts, count, own_weights, own_strata, min_n, max_n)
    except (OverflowError, TypeError) as error:
        raise SettingsError(f"invalid setting: {error}") from None
    done = 0
    while not native.grow(_ROUND):
        done += _ROUND
        if progress is not None:
            progress(done, count)
    return Selection(native.rows(), native.error(), native.random_error())


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


@dataclass(frozen=True)
class Select(Step):
    """Choose `count` answers whose n-grams of `min_n` to `max_n` units are distributed as those of all.

    `stratify`: `model` preserves the shares of models, `length` those of length deciles.
    """

    breaks_ties: ClassVar[bool] = True
    no: ClassVar[str] = "there are no more answers than select.count; lower it or add candidates"

    count: int = 1_000
    stratify: Literal["", "model", "length"] = ""
    min_n: int = 1
    max_n: int = 10

    def __post_init__(self) -> None:
        self.check_least(count=1, min_n=1, max_n=self.min_n)

    def needs(self, after: int) -> int:
        """Returns the number to choose."""
        del after
        return self.count

    def run(self, state: State, context: Context) -> tuple[State, StepReport]:
        """Choose answers of each source."""

        def keep(part: State) -> tuple[Mask, dict[str, Any]]:
            answers = context.column(part)
            chosen = select(
                answers,
                self.count,
                weights=part.kept_weights(),
                strata=self._strata(part, answers),
                min_n=self.min_n,
                max_n=self.max_n,
                progress=context.progress,
            )
            mask = np.zeros(part.height, dtype=np.bool_)
            mask[chosen.rows] = True
            errors = {"random_error": chosen.random_error, "error": chosen.error}
            return mask, {"answers": len(chosen.rows), **errors}

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
