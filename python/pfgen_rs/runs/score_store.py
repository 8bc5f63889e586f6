"""Stores the scores of every response of a run, without texts, in memory or on disk."""

from __future__ import annotations

import json
import os
import struct
import tempfile
import threading
import weakref
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from pfgen_rs import _native
from pfgen_rs.io.atomic import writing_failed
from pfgen_rs.lazy import Floats, NDArray, np, pl
from pfgen_rs.metrics.settings import Settings, score_names, share_name

Piece = tuple[bytes, int, int]
"""Bytes of rows of float64, and which of the rows are meant: from one to another."""
_LONGEST_LINE = 1 << 20
_MAGIC = b"pfg1"
_FRONT = struct.Struct("<4sIQI")  # magic, bytes of the header and of the scores, CRC-32 of both
_WORD = 8  # bytes of a number

Bounds = dict[str, tuple[int, int]]
"""The rows of each question in a chunk: the first, and the one after the last."""


@dataclass
class Part:
    """The scores of one chunk, sorted by question; its responses to a question keep their order.

    `key`: what the chunk is found again by. `content`: its rows, while they are in memory. `offset`: where
    they begin in the journal, once they are there.
    """

    key: str
    rows: int
    bounds: Bounds
    content: bytes | None = None
    offset: int = 0


class Journal:
    """An open file of records whose rows have `width` numbers each."""

    def __init__(self, file: IO[bytes], path: Path, width: int) -> None:
        self._file, self._path, self._size = file, path, width * _WORD
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

    def append(self, part: Part) -> None:
        """Move a chunk's scores to the end of the file. Raises `OutputError` if they cannot be written."""
        header = {"key": part.key, "rows": part.rows, "bounds": part.bounds}
        head, rows = json.dumps(header).encode(), cast("bytes", part.content)
        self._write(_FRONT.pack(_MAGIC, len(head), len(rows), zlib.crc32(rows, zlib.crc32(head))))
        self._write(head)
        part.offset = self._end
        self._write(rows)
        self.has_records, part.content = True, None

    def _write(self, content: bytes) -> None:
        try:
            with self._lock:
                self._file.seek(self._end)
                rest = memoryview(content)
                while rest:  # a nearly full disk accepts a part before it reports an error
                    rest = rest[self._file.write(rest) :]
        except OSError as error:
            raise writing_failed(self._path, error) from error
        self._end += len(content)

    def read(self, offset: int, start: int, stop: int) -> bytes:
        """Read rows `start` to `stop` of the record whose scores begin at `offset`."""
        place, size = offset + start * self._size, (stop - start) * self._size
        if hasattr(os, "pread"):
            rows = os.pread(self._file.fileno(), size, place)
        else:
            with self._lock:
                self._file.seek(place)
                rows = self._file.read(size)
        if len(rows) != size:
            raise writing_failed(self._path, OSError("it was truncated while in use"))
        return rows

    def records(self, about: Mapping[str, Any]) -> Iterator[Part]:
        """Yield the scores that an earlier process left in the file, if they match `about`.

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
        while (part := self._next(size)) is not None:
            self.has_records = True
            yield part
        self._file.truncate(self._end)

    def _next(self, size: int) -> Part | None:
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
        part = _part(header, end - body_size)
        if part is None or part.rows * self._size != body_size:
            return None
        self._end = end
        return part


def _part(header: bytes, offset: int) -> Part | None:
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
    whole = joined and numbers == sorted(numbers)
    return Part(key, rows, bounds, offset=offset) if whole else None


# Columns besides the scores: line, where it begins in the text, and length. All are exact as floats.
_PLACE = ("line", "start", "length")
_IN_MEMORY = 1 << 17  # responses


def stored_columns(sources: Sequence[str]) -> list[str]:
    """Returns the columns of a run's scores, for a benchmark with these sources."""
    return [*_PLACE, *score_names(sources)]


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
        self._held: list[Part] = []
        self._journal: Journal | None = None
        self._known: dict[str, Part] = {}

    def resume(self) -> int:
        """Load the records left in the file by an earlier run. Returns the number of responses in them."""
        file, path = self._open()
        self._journal = Journal(file, path, len(self.names))
        self._known = {part.key: part for part in self._journal.records(self._about)}
        return sum(part.rows for part in self._known.values())

    def known(self, key: str, rows: int) -> Part | None:
        """Returns the scores of a chunk that was scored before the interruption, if it was."""
        part = self._known.get(key)
        return part if part is not None and part.rows == rows else None

    @property
    def resumes(self) -> bool:
        """Whether there are scores from before an interruption."""
        return bool(self._known)

    @property
    def journaled(self) -> bool:
        """Whether scores are on disk already."""
        return self._journal is not None and self._journal.has_records

    def add(self, key: Callable[[], str], content: bytes, bounds: Bounds) -> Part:
        """Store a chunk's scores: `content` has rows of the columns `names`, in the order of `Part`."""
        name = key() if content and self._open is not _temporary_store else ""
        part = Part(name, len(content) // (_WORD * len(self.names)), bounds, content)
        if not part.rows:
            return part
        self._held.append(part)
        self._rows += part.rows
        if self._journal is not None or self._rows > self._in_memory:
            self._write()
        return part

    def _write(self) -> None:
        if self._journal is None:
            file, path = self._open()
            self._journal = Journal.new(file, path, len(self.names), self._about)
        for part in self._held:
            self._journal.append(part)
        self._held.clear()

    def piece(self, part: Part, start: int, stop: int) -> Piece:
        """Returns rows `start` to `stop` of a chunk's scores."""
        content = part.content  # which another thread may be about to write to the file
        if content is not None:
            return content, start, stop
        journal = cast("Journal", self._journal)
        return journal.read(part.offset, start, stop), 0, stop - start


def _temporary_store() -> tuple[IO[bytes], Path]:
    return cast("IO[bytes]", tempfile.TemporaryFile(buffering=0)), Path(tempfile.gettempdir())


class _StoreSummedAgain:
    """A store whose totals are recomputed when read."""

    def __init__(
        self, store: Store, sources: Mapping[str, Sequence[str]], settings: Settings
    ) -> None:
        self.names = store.names
        self.store, self._settings = store, settings
        shares = [name for name in store.names if name.startswith(share_name("fluency", ""))]
        self._places = {
            question: [shares.index(share_name("fluency", source)) for source in own]
            for question, own in sources.items()
        }

    def piece(self, part: Part, start: int, stop: int) -> Piece:
        """Returns rows `start` to `stop` of a chunk's scores."""
        content, first, last = self.store.piece(part, start, stop)
        width, settings = len(self.names), self._settings
        rows = content[first * width * _WORD : last * width * _WORD]
        within = [
            (max(first, start) - start, min(last, stop) - start, self._places[question])
            for question, (first, last) in part.bounds.items()
            if first < stop and start < last
        ]
        again = _native.sum_again(rows, width, within, settings.native, settings.compensated)
        return again, 0, stop - start


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
        width = len(self.names)
        parts = [
            (part.bounds, part.rows, zlib.compress(_matrix(self._whole(part), width).T.tobytes()))
            for part in self.parts
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

    def _whole(self, part: Part) -> Piece:
        return self._store.piece(part, 0, part.rows)

    def contents(self) -> Iterator[bytes]:
        """Yield the rows of each chunk."""
        for content, start, stop in map(self._whole, self.parts):
            size = _WORD * len(self.names)
            yield (
                content
                if stop - start == len(content) // size
                else content[start * size : stop * size]
            )

    def counts(self) -> dict[str, int]:
        """Returns the number of responses to each question, by id; omits questions without any."""
        found: dict[str, int] = {}
        for part in self.parts:
            for question, (start, stop) in part.bounds.items():
                found[question] = found.get(question, 0) + stop - start
        return dict(sorted(found.items()))

    def pieces(self, question: str) -> list[Piece]:
        """Returns the responses to a question, in the file's order."""
        return [
            self._store.piece(part, *part.bounds[question])
            for part in self.parts
            if question in part.bounds
        ]

    def rows(self, question: str) -> Floats:
        """Returns all columns of the responses to a question, a row each, in the file's order."""
        width = len(self.names)
        return np.concatenate([_matrix(piece, width) for piece in self.pieces(question)])

    def of_question(self, question: str, names: Sequence[str]) -> dict[str, Floats]:
        """Returns columns of the responses to a question, in the file's order."""
        rows = self.rows(question)
        return {name: rows[:, self.names.index(name)] for name in names}

    def column(self, name: str, *, in_order: bool) -> Iterator[Floats]:
        """Yield a column of all responses chunk by chunk, each in the file's order or in any order."""
        line, wanted = (self.names.index(key) for key in ("line", name))
        for part in self.parts:
            matrix = _matrix(self._whole(part), len(self.names))
            yield (
                matrix[_stable_order(matrix[:, line]), wanted] if in_order else matrix[:, wanted]
            )

    def frame(self, part: Part) -> pl.DataFrame:
        """Returns a chunk as a table in the file's order: `line`, `question_id`, `length` and the scores."""
        matrix = _matrix(self._whole(part), len(self.names))
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
    for bounds, rows, content in parts:
        columns = np.frombuffer(zlib.decompress(content)).reshape(len(names), rows)
        scores.parts.append(Part("", rows, bounds, columns.T.tobytes()))
    return scores


def _matrix(piece: Piece, width: int) -> Floats:
    """Returns rows as an array, which shares their memory."""
    content, start, stop = piece
    return np.frombuffer(content, dtype="<f8").reshape(-1, width)[start:stop]


def in_file_order(lines: NDArray[np.int64], scores: pl.DataFrame) -> pl.DataFrame:
    """Returns a chunk's lines and scores in the form of `ResponseScores.frame`."""
    return pl.DataFrame([pl.Series("line", lines), *scores.get_columns()])


def chunk_rows(
    ids: Sequence[str], codes: _native.Codes, places: _native.Places, scores: _native.Scored
) -> tuple[bytes, Bounds]:
    """Returns a chunk's scores for `Store.add`: sorted by question, with each question's rows.

    `ids`: those of all questions. `codes`: the number of each response's question.
    """
    rows, bounds = _native.sorted_rows(codes, places, scores)
    return rows, {ids[number]: (start, stop) for number, start, stop in bounds}


def _stable_order(numbers: NDArray[Any]) -> NDArray[np.intp]:
    """Returns the stable order of integers; takes linear time if their range is small."""
    if not len(numbers):
        return np.empty(0, np.intp)
    above = numbers - numbers.min()
    return np.argsort(above.astype(np.min_scalar_type(int(above.max()))), kind="stable")
