"""Pools whose order does not depend on that of the candidates, made in bounded memory."""

import shutil
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from pfgen_rs import _native
from pfgen_rs.io.atomic import writing_failed
from pfgen_rs.lazy import pl
from pfgen_rs.metrics import units
from pfgen_rs.references.steps import COLUMNS, PART, PoolWriter, owned

_KEYS = ("first", "second")
_LEAST = 1 << 16  # bytes


class SortedPool:
    """Collects the rows of a pool, and writes them by the digests (XXH3) of their texts, then of the rest.

    Rows that have to leave memory become sorted runs on disk, of which `finish` merges one range of digests
    at a time.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._frames: list[pl.DataFrame] = []
        self._runs: list[tuple[int, int, Path]] = []  # first and last digest of a file
        self._size = 0
        self.waiting = 0
        self.rows = 0

    def add(self, frame: pl.DataFrame) -> None:
        """Add rows with the columns `COLUMNS`."""
        texts = frame.get_column("answer")
        if texts.dtype != pl.String:  # tokens
            texts = units.coder("token").encode(texts)
        others = frame.select(pl.format("{}\n{}", "source", "model")).to_series()
        keys = [
            pl.Series(name, _native.text_digests(_native.Texts(column), 0, None)[:, 0])
            for name, column in zip(_KEYS, (texts, others), strict=True)
        ]
        self._frames.append(owned(frame.select(COLUMNS)).with_columns(keys))
        self.waiting += int(self._frames[-1].estimated_size())
        self.rows += frame.height

    def spill(self) -> None:
        """Write the rows in memory as a sorted run."""
        whole = _sorted(self._frames)
        self._size += self.waiting
        self._frames, self.waiting = [], 0
        for at in range(0, whole.height, PART):
            part = whole[at : at + PART]
            path = self._folder / "runs" / f"{len(self._runs):06}.arrow"
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                part.write_ipc(path, compression="lz4")
            except OSError as error:
                raise writing_failed(path, error) from error
            self._runs.append((part["first"][0], part["first"][-1], path))

    def finish(self, memory: int) -> None:
        """Write the pool, sorting about `memory` bytes at a time."""
        writer = PoolWriter(self._folder)
        if self._runs and self._frames:
            self.spill()
        if self._frames:
            writer.add(_sorted(self._frames).select(COLUMNS))
            self._frames, self.waiting = [], 0
        ranges = 1 + self._size // max(memory, _LEAST)
        for low, high in pairwise((at << 64) // ranges for at in range(ranges + 1)):
            inside = pl.col("first").is_between(pl.lit(low, pl.UInt64), pl.lit(high - 1, pl.UInt64))
            files = [path for first, last, path in self._runs if first < high and last >= low]
            frames = (pl.read_ipc(path).filter(inside) for path in files)
            if files:
                writer.add(_sorted(owned(frame) for frame in frames).select(COLUMNS))
        writer.flush()
        shutil.rmtree(self._folder / "runs", ignore_errors=True)


def _sorted(frames: Iterable[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(list(frames)).sort(_KEYS)
