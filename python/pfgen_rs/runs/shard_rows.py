"""Stores the rows of a shard's responses, with texts, chunk by chunk: checked when they are read again.

A file of records: a header (the number of the piece of a file that the rows are from, their number, the
length and CRC-32 of what follows, and the header's own CRC-32), and the rows as an Arrow IPC file.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import polars as pl

from pfgen_rs.errors import InputError, unreadable
from pfgen_rs.io.atomic import writing_failed
from pfgen_rs.io.tables import table_errors

__all__ = ["DAMAGED", "RowReader", "RowWriter"]

_MAGIC = b"pfr2"
_FRONT = struct.Struct("<4sIIQI")  # magic, piece, rows, bytes, CRC-32
_CHECK = struct.Struct("<I")  # CRC-32 of what stands before it
DAMAGED = "is damaged or cut short: score this shard again"


class RowWriter:
    """Appends chunks of rows to an open file."""

    def __init__(self, file: IO[bytes], path: Path) -> None:
        self._file, self._path = file, path

    def add(self, piece: int, frame: pl.DataFrame) -> None:
        """Append rows of a piece. Raises `OutputError` if they cannot be written."""
        buffer = io.BytesIO()
        frame.write_ipc(buffer, compression="lz4")
        body = buffer.getbuffer()
        front = _FRONT.pack(_MAGIC, piece, len(frame), len(body), zlib.crc32(body))
        front += _CHECK.pack(zlib.crc32(front))
        try:
            self._file.write(front)
            self._file.write(body)
        except OSError as error:
            raise writing_failed(self._path, error) from error


class RowReader:
    """Reads the chunks of a file that `RowWriter` wrote."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def frames(self, piece: int) -> Iterator[pl.DataFrame]:
        """Yield the chunks of a piece. Raises `InputError` if one is damaged."""
        for file, (owner, rows, size, check) in self._records():
            if owner == piece:
                yield self._frame(file, rows, size, check)

    def heights(self) -> Counter[int]:
        """Returns the number of rows of each piece that has any. Raises `InputError`. Reads headers alone."""
        found = Counter[int]()
        for _, (piece, rows, _, _) in self._records():
            found[piece] += rows
        return +found

    def _records(self) -> Iterator[tuple[IO[bytes], tuple[int, int, int, int]]]:
        """Yield the file, at the rows of each record, and what the header says of them."""
        try:
            with self._path.open("rb") as file:
                while (front := self._front(file)) is not None:
                    end = file.tell() + front[2]
                    yield file, front
                    file.seek(end)
        except OSError as error:
            raise InputError(unreadable(error), path=self._path) from error

    def _front(self, file: IO[bytes]) -> tuple[int, int, int, int] | None:
        front, own_check = file.read(_FRONT.size), file.read(_CHECK.size)
        if not front:
            return None
        if not front.startswith(_MAGIC) or own_check != _CHECK.pack(zlib.crc32(front)):
            raise InputError(DAMAGED, path=self._path)
        _, piece, rows, size, check = _FRONT.unpack(front)
        return piece, rows, size, check

    def _frame(self, file: IO[bytes], rows: int, size: int, check: int) -> pl.DataFrame:
        body = file.read(size)
        if len(body) == size and zlib.crc32(body) == check:
            try:
                frame = pl.read_ipc(io.BytesIO(body))
            except table_errors():
                frame = pl.DataFrame()
            if len(frame) == rows:
                return frame
        raise InputError(DAMAGED, path=self._path)
