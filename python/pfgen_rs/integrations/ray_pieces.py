"""Parquet files of one machine, or of a folder that all machines share, in pieces for Ray's tasks.

Ray's own reader starts up to 32 processes that read the footers of the files, before the first task can
begin: for a few files most of what Ray adds to scoring them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from pfgen_rs.errors import InputError, unreadable
from pfgen_rs.io.remote.urls import is_url

__all__ = ["Piece", "ReadingTask", "pieces_of"]

_MOST_FILES = 256  # whose footers are read here
_MOST_BYTES = 128 << 20  # of a piece, uncompressed, unless one row group has more
_READERS = 16


class Piece(NamedTuple):
    """Row groups `first` to `stop`, exclusively, of a file."""

    path: str
    first: int
    stop: int


class ReadingTask:
    """Reads the pieces that the rows of a table name; yields tables of at most `rows` rows."""

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def __call__(self, table: Any) -> Iterator[Any]:
        """Yield the pieces' rows in order. Raises `InputError` for a file that cannot be read."""
        import pyarrow as pa  # type: ignore[import-untyped]
        from pyarrow import parquet

        for row in table.to_pylist():
            piece = Piece(**row)
            groups = range(piece.first, piece.stop)
            try:
                with parquet.ParquetFile(piece.path) as file:
                    for batch in file.iter_batches(self.rows, groups, use_threads=False):
                        yield pa.Table.from_batches([batch])
            except (OSError, pa.ArrowException) as error:
                problem = " ".join(unreadable(error).rstrip(".").split())
                raise InputError(problem, path=piece.path) from None


def pieces_of(paths: Sequence[str]) -> list[Piece] | None:
    """Returns the pieces of files, and of folders of them, that have the same columns.

    `None` for what Ray's reader knows more about: URLs, many files, columns that differ or stand in the names
    of folders, files that are not to be read or cannot be.
    """
    import pyarrow as pa
    from pyarrow import parquet

    files = _plain_files(paths)
    if not files or len(files) > _MOST_FILES:
        return None
    try:
        with ThreadPoolExecutor(_READERS) as pool:
            footers = list(pool.map(parquet.read_metadata, files))
        columns = [footer.schema.to_arrow_schema() for footer in footers]
    except (OSError, pa.ArrowException):
        return None
    if any(not schema.equals(columns[0]) for schema in columns):
        return None
    return [
        piece for path, footer in zip(files, footers, strict=True) for piece in _cut(path, footer)
    ] or None


def _plain_files(paths: Sequence[str]) -> list[str] | None:
    """Returns the files, in order; `None` unless all are local and plainly named."""
    found: list[str] = []
    for path in paths:
        if is_url(path):
            return None
        folder = Path(path)
        below = sorted(folder.rglob("*.parquet")) if folder.is_dir() else [folder]
        if any(_is_hidden(file.relative_to(folder)) for file in below):
            return None
        found += map(str, below)
    return None if any("=" in path or not path.endswith(".parquet") for path in found) else found


def _is_hidden(path: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts)


def _cut(path: str, footer: Any) -> Iterator[Piece]:
    """Yield pieces of as many row groups as make up `_MOST_BYTES`, at least one; none without rows."""
    if not footer.num_rows:
        return
    first = size = 0
    for group in range(footer.num_row_groups):
        more = footer.row_group(group).total_byte_size
        if group > first and size + more > _MOST_BYTES:
            yield Piece(path, first, group)
            first, size = group, 0
        size += more
    yield Piece(path, first, footer.num_row_groups)
