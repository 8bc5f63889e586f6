"""Detecting processes in which polars would hang because they were forked from one that used it."""

from __future__ import annotations

import io
import os
import threading

import polars as pl

from pfgen_rs.errors import PfgenError

__all__ = ["check_polars"]

_PATIENCE = 10.0  # seconds to wait for work that takes less than a millisecond
_forked = False


def _after_fork() -> None:
    global _forked
    _forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def check_polars() -> None:
    """Raise `PfgenError` if polars would hang because its threads are not copied when a process forks.

    Does nothing in processes that were not forked.
    """
    if not _forked:
        return
    trial = threading.Thread(target=_use_polars_after_fork, daemon=True)
    trial.start()
    trial.join(_PATIENCE)
    if trial.is_alive():
        raise PfgenError(
            "polars hangs in this process because it was forked from one that had used polars: start it with "
            "`spawn` or `forkserver`, or use polars and evaluate only in the forked process"
        )


def _use_polars_after_fork() -> None:
    pl.DataFrame({"a": [1, 2]}).write_parquet(io.BytesIO())
