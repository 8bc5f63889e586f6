"""Writes tables incrementally and atomically: they appear complete or not at all."""

from __future__ import annotations

import io
import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pfgen_rs import _native
from pfgen_rs.errors import OutputError
from pfgen_rs.io.ahead import THREADS, Ahead, Pipe
from pfgen_rs.io.atomic import new_file, put_in_place, temporary_copy, write_atomic, writing_failed
from pfgen_rs.io.text import FORMULA, NUMBER, cell_text
from pfgen_rs.lazy import pl

if TYPE_CHECKING:
    from pfgen_rs.io.remote.storage import RemoteTarget


TABLES = (".parquet", ".jsonl", ".csv", ".arrow")
_EVERY = 0.2  # seconds between flushes of written rows to the disk
# Row groups are small compared with everything else in memory. Compression would take much of the time.
_ROW_GROUP = 1 << 13
_UNCOMPRESSED: dict[str, Any] = {"compression": "uncompressed", "statistics": False}


def _is_plain(kind: pl.DataType) -> bool:
    """Whether native code writes this type as Parquet, in less time and memory; polars writes the others."""
    texts = (pl.String, pl.Boolean, pl.Date, pl.Datetime, pl.Float32, pl.Float64)
    signed = (pl.Int8, pl.Int16, pl.Int32, pl.Int64)
    return kind.base_type() in (*texts, *signed, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)


def _flat_table(frame: pl.DataFrame) -> pl.DataFrame:
    """Returns the table with types that CSV lacks as text: lists with spaces, other nested values as JSON."""
    return _base64_for_table_writer(frame).with_columns(
        _column_for_table_writer(column) for column in frame if column.dtype.is_nested()
    )


def _column_for_table_writer(column: pl.Series) -> pl.Series:
    inner = column.dtype.inner if isinstance(column.dtype, pl.List | pl.Array) else None
    if inner is not None and not inner.is_nested() and inner != pl.Binary:
        texts = column.cast(pl.List(inner)).cast(pl.List(pl.String))
        return texts.list.join(" ", ignore_nulls=False)
    values = [
        None if value is None else json.dumps(value, ensure_ascii=False, default=str)
        for value in column.to_list()
    ]
    return pl.Series(column.name, values, dtype=pl.String)


def _base64_for_table_writer(frame: pl.DataFrame) -> pl.DataFrame:
    """Returns the table with binary columns encoded as base64."""
    return frame.with_columns(pl.col(pl.Binary).bin.encode("base64"))


def csv_text(frame: pl.DataFrame, *, raw: bool = False, header: bool = True) -> str:
    """Returns a table as CSV with types that it lacks as text.

    Texts that spreadsheets would run, such as `=HYPERLINK(…)`, are preceded by a quotation mark (') unless
    `raw`.
    """
    flat, text = _flat_table(frame), pl.col(pl.String)
    if not raw:
        runs = text.str.contains(FORMULA) & ~text.str.contains(NUMBER)
        flat = flat.with_columns(pl.when(runs).then("'" + text).otherwise(text).name.keep())
        flat = flat.rename(cell_text)
    return flat.write_csv(include_header=header)


class TableWriter:
    """Writes a table as `.parquet`, `.jsonl`, `.csv` or `.arrow`, batch by batch.

    `raw`: whether CSV has texts that spreadsheets would run as they are; see `csv_text`.
    Call `finish` after the last row, then `commit` to put the file in place; `discard`, at any time, removes
    a file that is not in place. Rows are written in a separate thread, a few batches behind. A table for
    object storage is written to a temporary file, which `commit` uploads.
    """

    def __init__(
        self, path: str | os.PathLike[str] | RemoteTarget, schema: pl.Schema, *, raw: bool = False
    ) -> None:
        is_local = isinstance(path, str | os.PathLike)
        self._remote = None if is_local else cast("RemoteTarget", path)
        self._path = str(path) if self._remote is None else self._remote.shown
        self._schema, self._raw = schema, raw
        suffix = Path(self._path).suffix.lower()
        if suffix not in TABLES:
            raise OutputError(f"{self._path}: unknown format: expected one of {', '.join(TABLES)}")
        if is_local:
            self._temporary, self._file = new_file(Path(self._path))
        else:
            with self._failing():
                self._file = temporary_copy(suffix)
            self._temporary = Path(self._file.name)
        self._frames = Pipe[pl.DataFrame]()
        write = self._writer(suffix)
        self._writing = Ahead(lambda: self._written(write, suffix))
        self._ended = threading.Event()
        self._syncing = threading.Thread(target=self._sync, name=THREADS, daemon=True)
        self._syncing.start()

    def write(self, frame: pl.DataFrame) -> None:
        """Add rows. Raises `OutputError` if earlier ones could not be written."""
        if not self._frames.put(frame):
            self._wait()

    def finish(self) -> None:
        """Wait until all rows are written."""
        self._frames.end()
        self._wait()
        self._end_syncing()
        with self._failing():
            self._file.flush()
            os.fsync(self._file.fileno())

    def commit(self) -> None:
        """Put the file in its place."""
        with self._failing():
            if self._remote is None:
                put_in_place(self._temporary, self._path, self._file)
            else:
                self._remote.put(self._temporary)
            self._file.close()

    def discard(self) -> None:
        """Stop writing, and remove the file unless it is in place."""
        self._frames.stop()
        self._writing.close()
        self._end_syncing(_EVERY)
        with suppress(OSError):  # data that a full disk rejected is discarded anyway
            self._file.close()
        self._temporary.unlink(missing_ok=True)

    def _sync(self) -> None:
        """Write rows to the disk as they come, so that `finish` need not wait for all of them."""
        sync = getattr(os, "fdatasync", os.fsync)
        with suppress(OSError):  # which `finish` meets again
            while not self._ended.wait(_EVERY):
                sync(self._file.fileno())

    def _end_syncing(self, patience: float | None = None) -> None:
        self._ended.set()
        self._syncing.join(patience)

    def _wait(self) -> None:
        with self._failing():
            for _ in self._writing:
                pass

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except OutputError:
            raise
        except OSError as error:
            raise writing_failed(self._path, error) from error
        except pl.exceptions.PolarsError as error:
            raise OutputError(f"{self._path}: cannot be written: {error}") from error

    def _written(self, write: Callable[[str], None], suffix: str) -> Iterator[None]:
        try:
            write(suffix)
        finally:
            self._frames.stop()  # so that `write` does not wait for a thread that has ended
        yield

    def _writer(self, suffix: str) -> Callable[[str], None]:
        if suffix in (".jsonl", ".csv"):
            return self._append
        are_plain = all(map(_is_plain, self._schema.dtypes()))
        return self._write_plainly if suffix == ".parquet" and are_plain else self._sink

    def _append(self, suffix: str) -> None:
        first = True
        for frame in self._frames:
            if suffix == ".csv":
                self._file.write(csv_text(frame, raw=self._raw, header=first).encode())
            else:
                _base64_for_table_writer(frame).write_ndjson(self._file)
            first = False

    def _write_plainly(self, _suffix: str) -> None:
        file = _native.ParquetFile(self._temporary, self._schema, _ROW_GROUP)
        for frame in self._frames:
            file.write(frame)
            del frame  # before the next one comes
        file.finish()

    def _sink(self, suffix: str) -> None:
        def source(*_: object) -> Iterator[pl.DataFrame]:
            return self._frames

        rows = pl.io.plugins.register_io_source(source, schema=self._schema)
        if suffix == ".parquet":
            rows.sink_parquet(
                self._temporary, engine="streaming", row_group_size=_ROW_GROUP, **_UNCOMPRESSED
            )
        else:
            rows.sink_ipc(self._temporary, engine="streaming")


def write_parquet(
    path: str | os.PathLike[str], frame: pl.DataFrame, about: Mapping[str, str] | None = None
) -> None:
    """Write a small table, with `about` in the file's metadata. Raises `OutputError` on failure."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, metadata=dict(about or {}))
    write_atomic(Path(path), buffer.getvalue())
