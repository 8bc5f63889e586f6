"""What Ray's workers run: nothing here is imported that starts threads before their number is set."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable
from functools import lru_cache
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from pfgen_rs.errors import InputError

if TYPE_CHECKING:
    from pfgen_rs.integrations.arrow import ArrowScorer
    from pfgen_rs.runs.partial import Partial

__all__ = ["ROWS", "FiguresTask", "ScoringTask", "in_worker", "merged_task", "partials_of"]

ROWS = 1 << 16
"""Rows to score at once, which bounds the memory of a task beside its block."""
_PARTIAL = "partial"


class ScoringTask:
    """Adds scores to Arrow tables; `pickled` is an `ArrowScorer`."""

    def __init__(self, pickled: bytes) -> None:
        self.pickled = pickled

    def __call__(self, table: Any) -> Any:
        """Returns the table with scores."""
        import pyarrow as pa  # type: ignore[import-untyped]

        score = in_worker(self.pickled)
        batches = score(iter(table.to_batches(max_chunksize=ROWS)))
        return pa.Table.from_batches(batches, score.schema(table.schema))


class FiguresTask:
    """Makes a partial result of Arrow tables, which are scored unless they have scores."""

    def __init__(self, pickled: bytes, by: str | None, order: str | None) -> None:
        self.pickled, self.by, self.order = pickled, by, order

    def __call__(self, table: Any) -> Any:
        """Returns a table of one row, a partial result as bytes."""
        import pyarrow as pa

        return pa.table({_PARTIAL: pa.array([self.partial(table).to_bytes()], pa.binary())})

    def partial(self, table: Any) -> Partial:
        """Returns the partial result of a table. Raises `InputError` if a column is missing."""
        self._check_columns(table)
        score = in_worker(self.pickled)
        from pfgen_rs.runs.partial import Partial

        found = Partial(score.benchmark, by=self.by, order=self.order, clean=score.clean or False)
        is_scored = {"question_id", "signature"} <= set(table.column_names)
        if not is_scored:
            asked = [score.question_field, score.answer_field, self.by, self.order]
            present = [name for name in dict.fromkeys(asked) if name in table.column_names]
            table = table.select(present)
        for batch in table.to_batches(max_chunksize=ROWS):
            found.update(batch if is_scored else score(batch))
        return found

    def _check_columns(self, table: Any) -> None:
        """Raise `InputError` for a column that is missing, with those that the files have."""
        # Scores stand behind what the files have, and begin with this column.
        own = list(takewhile("question_id".__ne__, table.column_names)) or table.column_names
        for name in (self.by, self.order):
            if table.num_rows and name is not None and name not in table.column_names:
                raise InputError(f"missing column {name!r}: found {', '.join(own)}")


def merged_task(pickled: bytes, *tables: Any) -> Any:
    """Returns a table with the merged partial results of tables of them."""
    score = in_worker(pickled)
    import pyarrow as pa

    from pfgen_rs.distributed import merged

    parts = partials_of(tables)
    whole = [merged(parts, score.benchmark).to_bytes()] if parts else []
    return pa.table({_PARTIAL: pa.array(whole, pa.large_binary())})


def partials_of(tables: Iterable[Any]) -> list[bytes]:
    """Returns the partial results in tables; one of no rows has no columns."""
    found = (table.column(_PARTIAL) for table in tables if _PARTIAL in table.column_names)
    return [part.as_py() for column in found for part in column]


@lru_cache(maxsize=4)
def in_worker(pickled: bytes) -> ArrowScorer:
    """Returns the scorer; polars, which it imports, gets one thread where it is not loaded yet.

    As many workers run side by side as there are cores, and each would otherwise start as many threads.
    """
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    found: ArrowScorer = pickle.loads(pickled)  # noqa: S301 - made by the process that sent the task
    return found
