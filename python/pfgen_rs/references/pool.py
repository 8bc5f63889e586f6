"""The candidates of one question: in batches, on disk in parts of bounded size, and which of them remain.

A pool may be larger than memory, so it is read in pieces, as often as needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from pfgen_rs import _native
from pfgen_rs.errors import BuildError, InputError
from pfgen_rs.io.atomic import writing_failed
from pfgen_rs.lazy import NDArray, np, pl

Batches = Callable[[], Iterable[pl.Series]]
"""Each call iterates over all answers from the start, as text columns; row numbers continue across them."""

Answers = pl.Series | Sequence[str] | Batches

BatchProgress = Callable[[int, int], None]
"""Called with the amount done and the total amount (0 while unknown)."""

PART = 1 << 16  # rows
COLUMNS = ("answer", "source", "model")
Mask = NDArray[np.bool_]


def as_batches(answers: Answers) -> Batches:
    """Convert a column, a list of `str`, or batches to batches.

    Raises `InputError` for anything else.
    """
    if callable(answers):
        return answers
    if isinstance(answers, str) or not isinstance(answers, Iterable):
        name = type(answers).__name__
        raise InputError(f"expected a column, a list or batches of answers, not {name}")
    try:
        kind = None if isinstance(answers, pl.Series) else pl.String
        column = pl.Series("answer", answers, kind)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(f"expected a column of text: {error}") from None
    return lambda: (column[start : start + PART] for start in range(0, len(column), PART))


def batch_texts(
    batches: Batches, *, threads: int | None = None
) -> Iterator[tuple[int, _native.Texts]]:
    """Read all answers once, yielding the number of each batch's first row and its texts.

    Raises `InputError`, naming the row, if a value is not text.
    """
    first = 0
    for batch in batches():
        if batch.null_count():
            row = first + int(batch.is_null().arg_max() or 0)
            raise InputError(f"row {row} is null: expected text")
        yield first, _native.Texts(batch, threads)
        first += len(batch)


class Pool:
    """A folder of Arrow files (parts) with the columns `COLUMNS`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def parts(self) -> list[Path]:
        """The parts in order."""
        return sorted(self.folder.glob("*.arrow"))

    def frames(self, *columns: str) -> Iterator[pl.DataFrame]:
        """Iterate over the rows in order, one part at a time.

        Raises `BuildError` for a damaged part.
        """
        for part in self.parts:
            try:
                yield pl.scan_ipc(part, glob=False).select(columns).collect()
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
                raise damaged(part) from error


def damaged(path: Path) -> BuildError:
    """Returns the error to raise for unusable files of an earlier build."""
    return BuildError(
        f"{path}: the saved state of the build is damaged: remove {path.parent} to make it anew"
    )


class PoolWriter:
    """Collects rows of a new pool, and writes a part whenever there are enough."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._frames: list[pl.DataFrame] = []
        self._parts = 0
        self.waiting = 0
        self.rows = 0

    def add(self, frame: pl.DataFrame) -> None:
        """Add rows with the columns `COLUMNS`."""
        self._frames.append(frame)
        self.waiting += int(frame.estimated_size())
        self.rows += frame.height
        if sum(frame.height for frame in self._frames) >= PART:
            self.flush()

    def flush(self) -> None:
        """Write the buffered rows."""
        if not self._frames:
            return
        whole = pl.concat(self._frames)
        self._frames, self.waiting = [], 0
        for at in range(0, whole.height, PART):
            path = self._folder / f"{self._parts:06}.arrow"
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
                whole[at : at + PART].write_ipc(path, compression="lz4")
            except OSError as error:
                raise writing_failed(path, error) from error
            self._parts += 1


@dataclass(frozen=True)
class State:
    """What remains of a pool after the steps so far.

    `kept`: bool, one per row of the pool. `weights`: uint32, one per row of the pool: the number of equal
    candidates that a row represents, or `None` if each represents only itself.
    """

    pool: Pool
    kept: Mask
    weights: NDArray[np.uint32] | None = None

    @property
    def height(self) -> int:
        """The number of remaining answers."""
        return int(np.count_nonzero(self.kept))

    def frames(self, *columns: str) -> Iterator[pl.DataFrame]:
        """Iterate over the remaining rows in order, one part at a time."""
        at = 0
        for frame in self.pool.frames(*columns):
            kept = self.kept[at : at + frame.height]
            at += frame.height
            yield frame.filter(pl.Series(kept))

    def batches(self, column: str) -> Callable[[], Iterator[pl.Series]]:
        """Returns a column of the remaining rows as batches, as expected by the filters."""
        return lambda: (frame.get_column(column) for frame in self.frames(column))

    def narrowed(self, mask: Mask) -> Self:
        """Returns the state with only those remaining rows for which `mask` is true."""
        kept = self.kept.copy()
        kept[self.kept] = mask
        return replace(self, kept=kept)

    def kept_weights(self) -> NDArray[np.uint32] | None:
        """Returns the weights of the remaining rows."""
        return None if self.weights is None else self.weights[self.kept]

    def models(self) -> dict[str, int]:
        """Returns the number of remaining rows by model; empty if no row names a model."""
        counts: dict[str, int] = {}
        for frame in self.frames("model"):
            for name, count in frame.get_column("model").value_counts().iter_rows():
                counts[name] = counts.get(name, 0) + count
        return dict(sorted(counts.items())) if set(counts) - {""} else {}

    def by_source(self) -> dict[str, Mask]:
        """Returns for each source, sorted by name, a mask of its remaining rows."""
        columns = [frame.get_column("source") for frame in self.frames("source")]
        sources = pl.concat(columns) if columns else pl.Series(dtype=pl.String)
        names = sorted(sources.unique().to_list())
        return {name: (sources == name).to_numpy() for name in names}
