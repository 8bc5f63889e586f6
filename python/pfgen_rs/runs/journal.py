"""Keeps scores of finished chunks on disk: append-only, and verified when read again.

A file begins with a line of JSON that states what its scores depend on. Records follow: a header (JSON:
key, rows, where each question's rows are) and the scores, little-endian float64, row by row. A truncated
or damaged record ends the file: everything after it is ignored.
"""

from __future__ import annotations

import json
import os
import struct
import sys
import threading
import weakref
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeAlias, cast

from pfgen_rs.io.atomic import writing_failed
from pfgen_rs.lazy import NDArray, np

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
