"""Exact intervals of shares, and the bootstrap over questions: all pairs of a question are drawn together.

For the bootstrap, pairs are sorted into *classes* that are alike in everything that is counted, and
statistics are functions of sums over classes. A resample is then a weight per question, or, since questions
that contain the same classes are alike, a weight per kind of question. No row is ever drawn.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pfgen_rs import InputError, PfgenError, extras
from pfgen_rs.lazy import Floats, NDArray, np
from pfgen_rs.stats.checks import MOST_FREEDOM, check_level, two_sided_quantile
from pfgen_rs.stats.shares import wilson

Indices = NDArray["np.int64"]
_NO_SPREAD = 1e-18


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval: `low` to `high`, which hold the true value with probability `level`."""

    low: float
    high: float
    level: float


@dataclass(frozen=True, slots=True)
class Share:
    """`count` of `n`, with the exact interval of the share.

    `value` is NaN, and the interval 0 to 1, if n is 0.
    """

    count: int
    n: int
    interval: Interval

    @property
    def value(self) -> float:
        """The share: count/n."""
        return self.count / self.n if self.n else math.nan

    def to_dict(self) -> dict[str, Any]:
        """Returns JSON types: `count`, `n`, `share` (null if n is 0), `low`, `high`, `level`."""
        return {
            "count": self.count,
            "n": self.n,
            "share": self.value if self.n else None,
            "low": self.interval.low,
            "high": self.interval.high,
            "level": self.interval.level,
        }


def share_of(count: int, n: int, level: float = 0.95) -> Share:
    """Returns the share `count` of `n` with its exact interval."""
    return Share(int(count), int(n), clopper_pearson(count, n, level))


def clopper_pearson(count: int, n: int, level: float = 0.95) -> Interval:
    """Returns the exact interval of a binomial share, 0 to 1 if n is 0.

    Source: C. J. Clopper & E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case
    of the binomial", Biometrika 26 (1934). Needs scipy (extra `judge`). Raises `InputError` unless
    0 ≤ count ≤ n, and `SettingsError` for an invalid level.

    >>> clopper_pearson(0, 3).low
    0.0
    """
    check_level(level)
    if not 0 <= count <= n:
        raise InputError(f"invalid count {count} of {n}: expected 0 to {n}")
    try:
        from scipy.special import betaincinv  # type: ignore[import-untyped]
    except ImportError as error:
        raise extras.missing("scipy", "judge", error, PfgenError) from error
    tail = (1 - level) / 2
    low = float(betaincinv(count, n - count + 1, tail)) if count else 0.0
    high = float(betaincinv(count + 1, n - count, 1 - tail)) if count < n else 1.0
    return Interval(low, high, level)


def fewest_questions(level: float) -> int:
    """Returns how many questions it takes to tell two models apart at a level.

    With fewer, one of two equal models wins on all of them but one, or on all, with a probability above
    1 - level: 2·(n + 1)/2ⁿ. Bootstraps take that for a difference.

    >>> fewest_questions(0.95)
    9
    """
    return next(n for n in itertools.count(1) if 2 * (n + 1) / 2**n <= 1 - level)


def bootstrap_bounds(
    values: Floats, resampled: Floats, level: float, questions: int | NDArray[np.integer[Any]]
) -> tuple[Floats, Floats]:
    """Returns bounds of each of `values`, of which `resampled` are resamples (shape (resamples, …)).

    `questions`: how many each value depends on. Percentiles, which are further out the fewer questions there
    are (the "expanded percentile interval": T. C. Hesterberg, "What teachers should know about the
    bootstrap", The American Statistician 69 (2015)), or Student's interval with the spread of the resamples,
    whichever bound is further out. Resamples without a value (NaN) are left out; without any value bounds are
    NaN.
    """
    numbers = np.broadcast_to(questions, resampled.shape[1:])
    filled = ~np.isnan(resampled).all(axis=0)
    bounds = np.full((2, *resampled.shape[1:]), np.nan)
    for number in np.unique(numbers[filled]).tolist():
        chosen, reach = filled & (numbers == number), _student_reach(level, number)
        drawn, tail = resampled[:, chosen], expanded_tail(level, number)
        low, high = np.nanquantile(drawn, [tail, 1 - tail], axis=0)
        apart, middle = reach * np.nanstd(drawn, axis=0), np.asarray(values)[chosen]
        bounds[:, chosen] = np.fmin(low, middle - apart), np.fmax(high, middle + apart)
    return bounds[0, ...], bounds[1, ...]


def expanded_tail(level: float, questions: int) -> float:
    """Returns the share of resamples beyond each bound: 0 for a single question."""
    return math.erfc(_student_reach(level, questions) / math.sqrt(2)) / 2 if questions > 1 else 0.0


def _student_reach(level: float, questions: int) -> float:
    """Returns how many standard errors of resamples, which are too small, an interval reaches."""
    if questions < 2:
        return 0.0
    freedom = min(questions - 1, MOST_FREEDOM)
    return two_sided_quantile(level, freedom) * math.sqrt(questions / (questions - 1))


def share_bounds(
    values: Floats,
    resampled: Floats,
    level: float,
    questions: int | NDArray[np.integer[Any]],
    lowest: float = 0.0,
) -> tuple[Floats, Floats]:
    """Returns bounds of statistics between `lowest` and 1, which have a width even if all questions agree.

    Arguments as for `bootstrap_bounds`. The bounds contain Wilson's, for as many questions as make the spread
    of the resamples, or all questions if there is no spread or they are fewer than `fewest_questions`.
    """
    low, high = bootstrap_bounds(values, resampled, level, questions)
    drawn = np.where(np.isnan(low), 0.0, resampled)
    return widened_bounds(values, (low, high), np.nanvar(drawn, axis=0), level, questions, lowest)


def widened_bounds(
    values: Floats,
    bounds: tuple[Floats, Floats],
    variances: Floats,
    level: float,
    questions: int | NDArray[np.integer[Any]],
    lowest: float = 0.0,
) -> tuple[Floats, Floats]:
    """Returns bounds of statistics between `lowest` and 1 that contain Wilson's, as for `share_bounds`.

    `variances`: of the values. Unknown bounds (NaN) stay unknown.
    """
    low, high = np.array(np.maximum(bounds[0], lowest)), np.array(np.minimum(bounds[1], 1.0))
    shares, width = (np.asarray(values) - lowest) / (1 - lowest), 1 - lowest
    numbers, few = np.broadcast_to(questions, shares.shape), fewest_questions(level)
    known = ~np.isnan(shares) & ~np.isnan(low)
    for place in map(tuple, np.argwhere(known).tolist()):
        share, number = min(max(float(shares[place]), 0.0), 1.0), int(numbers[place])
        spread = float(np.asarray(variances)[place]) / width**2
        size = share * (1 - share) / spread if spread > _NO_SPREAD else number
        size = max(1, round(min(size, number) if number < few else size))
        below, above = wilson(share * size, size, level)
        low[place] = min(low[place], lowest + width * below)
        high[place] = max(high[place], lowest + width * above)
    return low, high


# Resamples of questions


RESAMPLES = 1000
_AT_ONCE = 1 << 20  # weights in a block
_ROWS = 64  # of a block, since products with fewer rows are slow
_EXACT_32 = 1 << 24  # integers below are exact in float32
_FINE = 1 << 30  # parts of 1 to which real numbers are rounded
_LARGE = 1 << 24  # numbers in a table
_WIDE = 1 << 22  # keys up to which a table of all keys is cheaper than sorting
_WORTH = 4  # questions a kind from which kinds are drawn instead of questions


def classes_of(columns: Sequence[NDArray[np.integer[Any]]]) -> tuple[Indices, Indices]:
    """Returns the class of each row, and a row of each class; rows of a class have equal values.

    `columns`: integers of at least 0, one array a column. Time O(rows · columns), plus sorting if values
    are many.
    """
    key, size = np.zeros(len(columns[0]), dtype=np.int64), 1
    for column in columns:
        values = int(column.max(initial=0)) + 1
        if size * values > _WIDE:
            key, _ = _numbered(key, size)
            size = int(key.max(initial=0)) + 1
        key, size = key * values + column, size * values
    return _numbered(key, size)


class Questions:
    """Questions as sets of classes, ready to be drawn.

    `groups`: question of each pair (0 to questions - 1, each at least once). `classes`: class of each pair.
    """

    def __init__(self, groups: Indices, classes: Indices) -> None:
        self.number = int(groups.max(initial=-1)) + 1
        span = int(classes.max(initial=0)) + 1
        key = np.sort(groups * span + classes)
        self._classes = key % span
        self._lengths = np.bincount(groups, minlength=self.number)
        self._starts = np.cumsum(self._lengths) - self._lengths
        self._copies: Indices | None = None
        self._merge_kinds(span)

    def sums(self, table: Indices) -> Indices:
        """Returns sums of the rows of `table` over each kind of question: shape (kinds, columns).

        `table`: integers of at least 0, shape (classes, columns).
        """
        kinds = np.empty((len(self._starts), table.shape[1]), dtype=np.int64)
        for i, column in enumerate(table.T):
            kinds[:, i] = np.add.reduceat(column[self._classes], self._starts)
        return kinds

    def table(self, classes: int) -> Floats | None:
        """Returns how many pairs of each class a kind has, shape (kinds, classes); `None` if it is large."""
        kinds = len(self._starts)
        if kinds * classes > _LARGE:
            return None
        rows = np.repeat(np.arange(kinds), self._lengths)
        flat = np.bincount(rows * classes + self._classes, minlength=kinds * classes)
        return flat.reshape(kinds, classes).astype(np.float64)

    def counts(self, weights: NDArray[np.floating[Any]], classes: int) -> Indices:
        """Returns how many pairs of each class there are if kinds of questions have these weights."""
        each = np.repeat(weights, self._lengths)
        return np.bincount(self._classes, weights=each, minlength=classes).astype(np.int64)

    def weights(
        self, resamples: int, seed: int, kind: type[np.floating[Any]] = np.float64
    ) -> Iterator[NDArray[np.floating[Any]]]:
        """Yields how often each kind of question is drawn: blocks of shape (resamples, kinds)."""
        random, kinds = np.random.default_rng(seed), len(self._starts)
        rows = min(resamples, max(_ROWS, _AT_ONCE // max(kinds, 1)))
        for start in range(0, resamples, rows):
            block = np.empty((min(rows, resamples - start), kinds), dtype=kind)
            for row in block:
                if self._copies is not None:
                    row[:] = random.multinomial(self.number, self._copies / self.number)
                else:
                    row[:] = np.bincount(random.integers(0, kinds, kinds), minlength=kinds)
            yield block

    def _merge_kinds(self, span: int) -> None:
        """Keep one question of each kind, if questions of a kind are many."""
        if self.number < _WORTH:
            return
        marks = np.random.default_rng(0).integers(0, 1 << 63, span, dtype=np.uint64)
        digests = np.add.reduceat(marks[self._classes], self._starts)
        _, firsts, kinds, copies = np.unique(
            digests, return_index=True, return_inverse=True, return_counts=True
        )
        if len(firsts) * _WORTH > self.number or not self._are_alike(firsts[kinds]):
            return
        kept = np.zeros(self.number, dtype=bool)
        kept[firsts] = True
        order = np.argsort(firsts)
        self._classes = self._classes[np.repeat(kept, self._lengths)]
        self._lengths = self._lengths[kept]
        self._starts = np.cumsum(self._lengths) - self._lengths
        self._copies = copies[order]

    def _are_alike(self, models: Indices) -> bool:
        """Whether each question has the classes of its model, which digests alone do not prove."""
        if not np.array_equal(self._lengths, self._lengths[models]):
            return False
        shifts = np.repeat(self._starts[models] - self._starts, self._lengths)
        places = np.arange(len(self._classes)) + shifts
        return bool(np.array_equal(self._classes, self._classes[places]))


def resampled_counts(questions: Questions, classes: int, resamples: int, seed: int) -> Indices:
    """Returns how many pairs of each class are in each resample: shape (resamples, classes)."""
    drawn = questions.weights(resamples, seed)
    table = questions.table(classes)
    if table is None:
        return np.stack([questions.counts(row, classes) for block in drawn for row in block])
    return np.concatenate([(block @ table).astype(np.int64) for block in drawn])


def resampled_values(sums: Floats, resamples: int, seed: int) -> Floats:
    """Returns sums over each resample: float64, shape (resamples, columns).

    `sums`: those of each question, shape (questions, columns). They are rounded to multiples of 2⁻³⁰, so that
    the result does not depend on the number of threads of a matrix product.
    """
    number = len(sums)
    drawn = Questions(np.arange(number), np.arange(number)).weights(resamples, seed)
    rounded = np.round(sums * _FINE) / _FINE
    return np.concatenate([block @ rounded for block in drawn])


def resampled_sums(questions: Questions, table: Indices, resamples: int, seed: int) -> Floats:
    """Returns sums of the rows of `table` over each resample: float64, shape (resamples, columns).

    `table`: what each class counts, shape (classes, columns): integers of at least 0, so that sums are exact
    and do not depend on the number of threads of a matrix product.
    """
    kinds = questions.sums(table)
    exact = int(kinds.max(initial=0)) * questions.number < _EXACT_32
    kind: type[np.floating[Any]] = np.float32 if exact else np.float64
    narrow = kinds.astype(kind)
    blocks = [block @ narrow for block in questions.weights(resamples, seed, kind)]
    return np.concatenate(blocks).astype(np.float64)


def _numbered(key: Indices, size: int) -> tuple[Indices, Indices]:
    """Returns keys numbered without gaps, and a place of each number."""
    if size > _WIDE:
        _, places, numbers = np.unique(key, return_index=True, return_inverse=True)
        return numbers.astype(np.int64), places.astype(np.int64)
    present = np.zeros(size, dtype=bool)
    present[key] = True
    numbers = (np.cumsum(present) - 1)[key]
    places = np.empty(np.count_nonzero(present), dtype=np.int64)
    places[numbers] = np.arange(len(key))
    return numbers, places


Sums = dict[str, Floats]
"""Sums by name."""


def summed(
    counted: dict[str, NDArray[Any]],
    classes: Indices,
    questions: Indices,
    resamples: int,
    seed: int,
) -> tuple[Sums, Sums]:
    """Returns sums over all pairs, and over each resample with resamples as first axis.

    `counted`: what each class counts, integers of shape (classes, …), by name. `classes`, `questions`: class
    and question of each pair.
    """
    number = next(iter(counted.values())).shape[0]
    flat = {name: each.reshape(number, -1).astype(np.int64) for name, each in counted.items()}
    table = np.concatenate(list(flat.values()), axis=1)
    total = np.bincount(classes, minlength=number) @ table
    drawn = resampled_sums(Questions(questions, classes), table, resamples, seed)
    ends = np.cumsum([each.shape[1] for each in flat.values()])[:-1]
    observed, resampled = np.split(total, ends), np.split(drawn, ends, axis=1)
    shapes = [each.shape[1:] for each in counted.values()]
    return (
        {n: x.reshape(shape) for n, x, shape in zip(counted, observed, shapes, strict=True)},
        {
            name: each.reshape(len(drawn), *shape)
            for name, each, shape in zip(counted, resampled, shapes, strict=True)
        },
    )
