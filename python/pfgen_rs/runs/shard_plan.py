"""Divides files of responses among shards, by their names, sizes and numbers of rows alone.

So every shard makes the same plan by itself, and reads nothing but what it scores (and the ends of large
Parquet files, where their numbers of rows stand).
"""

from __future__ import annotations

import hashlib
import heapq
import operator
import os
import re
import stat
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, Self

from pfgen_rs.errors import InputError, SettingsError, unreadable
from pfgen_rs.io import Options, Source
from pfgen_rs.io.patterns import STANDARD_INPUT
from pfgen_rs.io.remote.source import RemoteSource
from pfgen_rs.io.tables import rows_read_together, table_height
from pfgen_rs.runs.naming import output_names, run_name

__all__ = ["Input", "Piece", "Plan", "Shard", "footer_digest", "is_unchanged", "plan_shards"]

_SPLIT = ".parquet"
SPLIT_FROM = 64 << 20
"""Bytes of the largest file that is never split, and of the smallest pieces of others."""
_WHOLE = 2  # files up to this part of a shard's share stay whole
_PIECES = 4  # pieces of a file that is split are at most this part of a share
_TAIL = 8  # bytes at the end of a Parquet file: the length of its footer, and a mark
_MOST = 1_000_000  # shards


class Shard(NamedTuple):
    """Shard `number` (from 1) of `total`."""

    number: int
    total: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `3/7`. Raises `SettingsError` for anything else, and for numbers that are out of range."""
        match = re.fullmatch(r"([0-9]{1,18})/([0-9]{1,18})", text)
        if match is None:
            raise SettingsError(f"invalid shard {text!r}: expected I/N, such as 1/7")
        return cls(int(match[1]), int(match[2])).checked()

    @classmethod
    def of(cls, shard: str | tuple[int, int]) -> Self:
        """Read `"3/7"` or `(3, 7)`. Raises `SettingsError` for anything else."""
        if isinstance(shard, str):
            return cls.parse(shard)
        try:
            number, total = map(operator.index, shard)
        except (TypeError, ValueError):
            raise SettingsError(
                f"invalid shard {shard!r}: expected 'I/N' or (I, N), such as (1, 7)"
            ) from None
        return cls(number, total).checked()

    def checked(self) -> Self:
        """Returns itself. Raises `SettingsError` if there is no such shard."""
        if not 1 <= self.total <= _MOST:
            raise SettingsError(f"invalid number of shards {self.total}: expected 1 to {_MOST:,}")
        if not 1 <= self.number <= self.total:
            raise SettingsError(
                f"invalid shard '{self.number}/{self.total}': expected 1/{self.total} to "
                f"{self.total}/{self.total} (in Slurm: --array=1-{self.total})"
            )
        return self

    def __str__(self) -> str:
        """Say which of how many: `shard 3 of 7`."""
        return f"shard {self.number} of {self.total}"


class Input(NamedTuple):
    """A file: its path as given, its size, the name of its folder of results, and the run's name.

    Of a file that is split, also its number of rows, and the digest of its footer.
    """

    path: str
    size: int
    folder: str
    name: str
    rows: int | None = None
    footer: str | None = None


class Piece(NamedTuple):
    """A file, by its number, or some of its rows: the first one (from 0) and the one after the last."""

    file: int
    rows: tuple[int, int] | None = None


class Plan(NamedTuple):
    """All files, all pieces of them in order, and the numbers of each shard's pieces, ascending."""

    inputs: list[Input]
    pieces: list[Piece]
    shards: list[list[int]]


def plan_shards(sources: Sequence[Source], count: int, options: Options) -> Plan:
    """Divide files among `count` shards so that they have about equally many bytes.

    Parquet files that are large, compared with a shard's share and absolutely, are split into pieces: ranges
    of rows that end where a chunk of the whole file would end. Files behind URLs stay whole. Raises
    `InputError` for files that cannot be read, and for pipes.
    """
    places = [source.path for source in sources]
    sizes = [_size_to_divide(source) for source in sources]
    share = sum(sizes) / count
    inputs = []
    for source, size, folder in zip(sources, sizes, output_names(places), strict=True):
        found = Input(source.path, size, folder, run_name(source.path))
        can_split = source.suffix == _SPLIT and not isinstance(source, RemoteSource)
        if can_split and size > max(SPLIT_FROM, share / _WHOLE):
            found = found._replace(rows=table_height(source), footer=footer_digest(source))
        inputs.append(found)
    step = rows_read_together(options)
    pieces = [
        piece
        for number, file in enumerate(inputs)
        for piece in _pieces_of_file(number, file, share, step)
    ]
    weights = [_weight_of_piece(inputs[piece.file], piece) for piece in pieces]
    return Plan(inputs, pieces, _dealt(weights, count))


def _size_to_divide(source: Source) -> int:
    if source.path == STANDARD_INPUT:
        raise InputError(
            "standard input cannot be divided into shards: name files", path=source.path
        )
    if isinstance(source, RemoteSource):
        return _size_of_remote(source)
    try:
        found = Path(source.path).stat()
    except (OSError, ValueError) as error:
        raise InputError(unreadable(error), path=source.path) from error
    if not stat.S_ISREG(found.st_mode):
        raise InputError(
            "not a regular file: only files can be divided into shards", path=source.path
        )
    return found.st_size


def _size_of_remote(source: RemoteSource) -> int:
    if source.size is None:  # it was not listed
        source.open().close()
        source.release()
    if source.size is None:
        raise InputError("the server does not say its size: copy the file first", path=source.path)
    return source.size


def footer_digest(source: Source) -> str:
    """Returns a digest of the end of a Parquet file, which says where everything is in it."""
    with source.open() as raw:
        raw.seek(-min(_TAIL, raw.size or 0), os.SEEK_END)
        tail = raw.read(_TAIL)
        length = min(int.from_bytes(tail[:4], "little") + _TAIL, raw.size or 0)
        raw.seek(-length, os.SEEK_END)
        return hashlib.sha256(raw.read(length)).hexdigest()


def is_unchanged(file: Input) -> bool:
    """Whether a file that was split is the same as when it was scored, as far as its size and end say.

    Raises `InputError` if it cannot be read.
    """
    source = Source(file.path)
    return footer_digest(source) == file.footer and source.size == file.size


def _pieces_of_file(number: int, file: Input, share: float, step: int) -> list[Piece]:
    """Returns the pieces of a file; `step`: the rows of which they have a multiple, except the last."""
    if file.rows is None:
        return [Piece(number)]
    steps = -(-file.rows // step)
    wanted = -(-file.size // max(SPLIT_FROM, share / _PIECES))
    count = int(max(1, min(wanted, steps)))
    if count == 1:
        return [Piece(number)]
    ends = [min(steps * i // count * step, file.rows) for i in range(count + 1)]
    return [Piece(number, rows) for rows in pairwise(ends)]


def _weight_of_piece(file: Input, piece: Piece) -> int:
    if piece.rows is None or not file.rows:
        return file.size
    first, end = piece.rows
    return file.size * (end - first) // file.rows


def _dealt(weights: Sequence[int], count: int) -> list[list[int]]:
    """Deal pieces to shards: the heaviest ones first, each to the shard that has least so far.

    So no shard has more than its share and the heaviest piece together.
    """
    shards: list[list[int]] = [[] for _ in range(count)]
    loads = [(0, 0, shard) for shard in range(count)]
    for piece in sorted(range(len(weights)), key=lambda piece: (-weights[piece], piece)):
        load, pieces, shard = heapq.heappop(loads)
        shards[shard].append(piece)
        heapq.heappush(loads, (load + weights[piece], pieces + 1, shard))
    return [sorted(shard) for shard in shards]
