"""Bootstrap over questions: all pairs of a question are drawn together.

Pairs are sorted into *classes* that are alike in everything that is counted, and statistics are functions of
sums over classes. A resample is then a weight per question, or, since questions that contain the same
classes are alike, a weight per kind of question. No row is ever drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pfgen_rs.judge.decision_columns import Indices
from pfgen_rs.lazy import Floats, NDArray, np

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
