"""Stores the scores of every response of a run, without texts, in memory or on disk."""

from __future__ import annotations

import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import IO, Any, cast

from pfgen_rs import _native
from pfgen_rs.lazy import Floats, NDArray, np, pl
from pfgen_rs.metrics.settings import Settings, score_names
from pfgen_rs.runs.journal import Journal, Record
from pfgen_rs.scoring.batch import ScoreArrays, sum_again

# Columns besides the scores: line, where it begins in the text, and length. All are exact as floats.
_PLACE = ("line", "start", "length")
_IN_MEMORY = 1 << 17  # responses


def stored_columns(sources: Sequence[str]) -> list[str]:
    """Returns the columns of a run's scores, for a benchmark with these sources."""
    return [*_PLACE, *score_names(sources)]


class Part:
    """The scores of one chunk, sorted by question; its responses to a question keep their order."""

    def __init__(self, rows: int, bounds: dict[str, tuple[int, int]]) -> None:
        self.rows, self.bounds = rows, bounds
        self.matrix: Floats | None = None
        self.record: Record | None = None


class Store:
    """The scores of all runs that are scored together.

    Up to `in_memory` responses are kept in memory; if there are more, all are written to the file opened by
    `open_file`, or to a temporary file. `about` is what scores depend on: matching records left by an
    interrupted run are reused (see `known`).
    """

    def __init__(
        self,
        names: Sequence[str],
        *,
        about: Mapping[str, Any] | None = None,
        open_file: Callable[[], tuple[IO[bytes], Path]] | None = None,
        in_memory: int = _IN_MEMORY,
    ) -> None:
        self.names = list(names)
        self._about = about or {}
        self._open = open_file or _temporary_store
        self._in_memory, self._rows = in_memory, 0
        self._held: list[tuple[str, Part]] = []
        self._journal: Journal | None = None
        self._known: dict[str, Record] = {}

    def resume(self) -> int:
        """Load the records left in the file by an earlier run. Returns the number of responses in them."""
        file, path = self._open()
        self._journal = Journal(file, path, len(self.names))
        self._known = {record.key: record for record in self._journal.records(self._about)}
        return sum(record.rows for record in self._known.values())

    def known(self, key: str, rows: int) -> Part | None:
        """Returns the scores of a chunk that was scored before the interruption, if it was."""
        record = self._known.get(key)
        if record is None or record.rows != rows:
            return None
        part = Part(rows, record.bounds)
        part.record = record
        return part

    @cached_property
    def nothing(self) -> Part:
        """An empty part."""
        part = Part(0, {})
        part.matrix = np.empty((0, len(self.names)))
        return part

    @property
    def resumes(self) -> bool:
        """Whether there are scores from before an interruption."""
        return bool(self._known)

    @property
    def journaled(self) -> bool:
        """Whether scores are on disk already."""
        return self._journal is not None and self._journal.has_records

    def add(
        self, key: Callable[[], str], matrix: Floats, bounds: dict[str, tuple[int, int]]
    ) -> Part:
        """Store a chunk's scores: `matrix` has the columns `names`, and rows in the order of `Part`."""
        part = Part(len(matrix), bounds)
        part.matrix = matrix
        if not part.rows:
            return part
        name = key() if self._open is not _temporary_store else ""
        self._held.append((name, part))
        self._rows += part.rows
        if self._journal is not None or self._rows > self._in_memory:
            self._write()
        return part

    def _write(self) -> None:
        if self._journal is None:
            file, path = self._open()
            self._journal = Journal.new(file, path, len(self.names), self._about)
        for key, part in self._held:
            part.record = self._journal.append(key, cast("Floats", part.matrix), part.bounds)
            part.matrix = None
        self._held.clear()

    def rows(self, part: Part, start: int, stop: int) -> Floats:
        """Returns rows `start` to `stop` of a chunk's scores."""
        matrix = part.matrix  # which another thread may be about to write to the file
        if matrix is not None:
            return matrix[start:stop]
        return cast("Journal", self._journal).read(cast("Record", part.record).offset, start, stop)


def _temporary_store() -> tuple[IO[bytes], Path]:
    return cast("IO[bytes]", tempfile.TemporaryFile(buffering=0)), Path(tempfile.gettempdir())


class _StoreSummedAgain:
    """A store whose totals are recomputed when read."""

    def __init__(
        self, store: Store, sources: Mapping[str, Sequence[str]], settings: Settings
    ) -> None:
        self.names = store.names
        self.store, self._sources, self._settings = store, sources, settings

    def rows(self, part: Part, start: int, stop: int) -> Floats:
        """Returns rows `start` to `stop` of a chunk's scores."""
        matrix = self.store.rows(part, start, stop).copy()
        within = (
            (slice(max(first, start) - start, min(last, stop) - start), self._sources[question])
            for question, (first, last) in part.bounds.items()
            if first < stop and start < last
        )
        sum_again(dict(zip(self.names, matrix.T, strict=True)), within, self._settings)
        return matrix


class ResponseScores:
    """The scores of one run, chunk by chunk."""

    def __init__(self, store: Store) -> None:
        self._store: Store | _StoreSummedAgain = store
        self.parts: list[Part] = []

    def summed_again(
        self, sources: Mapping[str, Sequence[str]], settings: Settings
    ) -> ResponseScores:
        """Returns the same scores with totals as in `settings`; `sources`: by question, in file order."""
        store = self._store
        found = copy(self)
        found._store = _StoreSummedAgain(
            store if isinstance(store, Store) else store.store, sources, settings
        )
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle all scores, compressed."""
        parts = [
            (part.bounds, rows.shape, zlib.compress(np.ascontiguousarray(rows.T).tobytes()))
            for part, rows in self.stored()
        ]
        return _response_scores_again, (self.names, parts)

    @property
    def names(self) -> list[str]:
        """Names of the columns: line, start and length of a response, and its scores."""
        return self._store.names

    @property
    def height(self) -> int:
        """Number of responses."""
        return sum(part.rows for part in self.parts)

    def stored(self) -> Iterator[tuple[Part, Floats]]:
        """Yield all parts, each with its scores in the part's order."""
        for part in self.parts:
            yield part, self._store.rows(part, 0, part.rows)

    def counts(self) -> dict[str, int]:
        """Returns the number of responses to each question, by id; omits questions without any."""
        found: dict[str, int] = {}
        for part in self.parts:
            for question, (start, stop) in part.bounds.items():
                found[question] = found.get(question, 0) + stop - start
        return dict(sorted(found.items()))

    def rows(self, question: str) -> Floats:
        """Returns all columns of the responses to a question, a row each, in the file's order."""
        pieces = [
            self._store.rows(part, *part.bounds[question])
            for part in self.parts
            if question in part.bounds
        ]
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

    def of_question(self, question: str, names: Sequence[str]) -> dict[str, Floats]:
        """Returns columns of the responses to a question, in the file's order."""
        rows = self.rows(question)
        return {name: rows[:, self.names.index(name)] for name in names}

    def column(self, name: str, *, in_order: bool) -> Iterator[Floats]:
        """Yield a column of all responses chunk by chunk, each in the file's order or in any order."""
        line, wanted = (self.names.index(key) for key in ("line", name))
        for part in self.parts:
            matrix = self._store.rows(part, 0, part.rows)
            yield (
                matrix[_stable_order(matrix[:, line]), wanted] if in_order else matrix[:, wanted]
            )

    def frame(self, part: Part) -> pl.DataFrame:
        """Returns a chunk as a table in the file's order: `line`, `question_id`, `length` and the scores."""
        matrix = self._store.rows(part, 0, part.rows)
        order = _stable_order(matrix[:, 0])
        matrix = matrix[order]
        ids, ends = list(part.bounds), [stop for _, stop in part.bounds.values()]
        numbers = np.searchsorted(np.array(ends, dtype=np.int64), order, side="right")
        names = pl.Series(ids, dtype=pl.String)
        columns = {name: matrix[:, i] for i, name in enumerate(self.names)}
        return pl.DataFrame(
            [
                pl.Series("line", columns["line"].astype(np.int64)),
                names.gather(numbers).alias("question_id"),
                pl.Series("length", columns["length"].astype(np.int64)),
                *(
                    pl.Series(name, values, nan_to_null=True)
                    for name, values in columns.items()
                    if name not in _PLACE
                ),
            ]
        )


def _response_scores_again(names: Sequence[str], parts: Sequence[Any]) -> ResponseScores:
    scores = ResponseScores(Store(names))
    for bounds, (rows, columns), content in parts:
        part = Part(rows, bounds)
        values = np.frombuffer(zlib.decompress(content)).reshape(columns, rows)
        part.matrix = np.ascontiguousarray(values.T)
        scores.parts.append(part)
    return scores


def in_file_order(lines: NDArray[np.int64], scores: pl.DataFrame) -> pl.DataFrame:
    """Returns a chunk's lines and scores in the form of `ResponseScores.frame`."""
    return pl.DataFrame([pl.Series("line", lines), *scores.get_columns()])


def chunk_matrix(
    ids: Sequence[str],
    numbers: NDArray[np.uint32],
    lines: NDArray[np.int64],
    starts: NDArray[np.int64] | None,
    scores: ScoreArrays,
) -> tuple[Floats, dict[str, tuple[int, int]]]:
    """Returns a chunk's scores for `Store.add`: sorted by question, with each question's rows.

    `ids`: those of all questions. `numbers`: the number of each response's question.
    """
    matrix, bounds = _native.rows_by_number(numbers, lines, starts, *scores)
    return matrix, {ids[number]: (start, stop) for number, start, stop in bounds}


def _stable_order(numbers: NDArray[Any]) -> NDArray[np.intp]:
    """Returns the stable order of integers; takes linear time if their range is small."""
    if not len(numbers):
        return np.empty(0, np.intp)
    above = numbers - numbers.min()
    return np.argsort(above.astype(np.min_scalar_type(int(above.max()))), kind="stable")
