"""Stores the scores of every response of a run, without texts, in memory or on disk."""

from __future__ import annotations

import json
import os
import struct
import sys
import tempfile
import threading
import weakref
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeAlias, cast

from pfgen_rs import _native
from pfgen_rs.io.atomic import writing_failed
from pfgen_rs.lazy import Floats, NDArray, np, pl
from pfgen_rs.metrics.settings import Settings, score_names
from pfgen_rs.scoring.batch import ScoreArrays, sum_again

Matrix: TypeAlias = "NDArray[np.float64]"
_LONGEST_LINE = 1 << 20
_MAGIC = b"pfg1"
_FRONT = struct.Struct("<4sIQI")  # magic, bytes of the header and of the scores, CRC-32 of both


class Record(NamedTuple):
    """A chunk's scores: its key, number of rows, each question's rows, and the offset of the scores."""

    key: str
    rows: int
    bounds: dict[str, tuple[int, int]]
    offset: int


class Journal:
    """An open file of records with `width` scores per row."""

    def __init__(self, file: IO[bytes], path: Path, width: int) -> None:
        self._file, self._path, self._width = file, path, width
        self._end = 0
        self.has_records = False
        self._lock = threading.Lock()
        # The file stays open as long as anything refers to its scores.
        weakref.finalize(self, file.close)

    @classmethod
    def new(cls, file: IO[bytes], path: Path, width: int, about: Mapping[str, Any]) -> Journal:
        """Start a new file. `path` is for messages."""
        journal = cls(file, path, width)
        journal._write(json.dumps(about, sort_keys=True).encode() + b"\n")
        return journal

    def append(self, key: str, matrix: Matrix, bounds: dict[str, tuple[int, int]]) -> Record:
        """Append a chunk's scores. Raises `OutputError` if they cannot be written."""
        header = json.dumps({"key": key, "rows": len(matrix), "bounds": bounds}).encode()
        body = np.ascontiguousarray(matrix, dtype="<f8").data.cast("B")
        check = zlib.crc32(body, zlib.crc32(header))
        front = _FRONT.pack(_MAGIC, len(header), len(body), check)
        offset = self._end + len(front) + len(header)
        self._write(front + header)
        self._write(body)
        self.has_records = True
        return Record(key, len(matrix), bounds, offset)

    def _write(self, content: bytes | memoryview) -> None:
        try:
            with self._lock:
                self._file.seek(self._end)
                rest = memoryview(content)
                while rest:  # a nearly full disk accepts a part before it reports an error
                    rest = rest[self._file.write(rest) :]
        except OSError as error:
            raise writing_failed(self._path, error) from error
        self._end += len(content)

    def read(self, offset: int, start: int, stop: int) -> Matrix:
        """Read rows `start` to `stop` of the record whose scores begin at `offset`."""
        matrix = np.empty((stop - start, self._width))
        place = offset + start * self._width * matrix.itemsize
        if hasattr(os, "preadv"):
            content = os.preadv(self._file.fileno(), [matrix.data], place)
        else:
            with self._lock:
                self._file.seek(place)
                content = cast("Any", self._file).readinto(matrix.data)
        if content != matrix.nbytes:
            raise writing_failed(self._path, OSError("it was truncated while in use"))
        if sys.byteorder != "little":
            matrix.byteswap(inplace=True)
        return matrix

    def records(self, about: Mapping[str, Any]) -> Iterator[Record]:
        """Yield the records that an earlier process left in the file, if they match `about`.

        Stops at the first incomplete one and truncates the file there, so that new records follow the last
        complete one.
        """
        size = self._file.seek(0, 2)
        self._file.seek(0)
        line = self._file.readline(_LONGEST_LINE)
        if line != json.dumps(about, sort_keys=True).encode() + b"\n":
            self._file.truncate(0)
            self._write(json.dumps(about, sort_keys=True).encode() + b"\n")
            return
        self._end = len(line)
        while (record := self._next(size)) is not None:
            self.has_records = True
            yield record
        self._file.truncate(self._end)

    def _next(self, size: int) -> Record | None:
        self._file.seek(self._end)
        front = self._file.read(_FRONT.size)
        if len(front) < _FRONT.size:
            return None
        magic, header_size, body_size, check = _FRONT.unpack(front)
        end = self._end + _FRONT.size + header_size + body_size
        if magic != _MAGIC or end > size:
            return None
        header = self._file.read(header_size)
        if zlib.crc32(self._file.read(body_size), zlib.crc32(header)) != check:
            return None
        record = _record(header, end - body_size)
        if record is None or record.rows * self._width * np.dtype("<f8").itemsize != body_size:
            return None
        self._end = end
        return record


def _record(header: bytes, offset: int) -> Record | None:
    """Returns what a header says; `None` unless each row is that of exactly one question."""
    try:
        found = json.loads(header)
        key, rows = found["key"], found["rows"]
        bounds = {question: (first, last) for question, (first, last) in found["bounds"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    numbers = [0, *(number for pair in bounds.values() for number in pair), rows]
    if not isinstance(key, str) or any(type(number) is not int for number in numbers):
        return None
    joined = all(one == other for one, other in zip(numbers[::2], numbers[1::2], strict=True))
    return Record(key, rows, bounds, offset) if joined and numbers == sorted(numbers) else None


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
