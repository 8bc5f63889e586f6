"""Tables as Parquet, put in place whole."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from pfgen_rs.io.writing import write_atomic

__all__ = ["write_parquet"]


def write_parquet(
    path: str | os.PathLike[str], frame: pl.DataFrame, about: Mapping[str, str] | None = None
) -> None:
    """Write a small table, with `about` among the file's metadata; `OutputError` where that fails."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, metadata=dict(about or {}))
    write_atomic(Path(path), buffer.getvalue())
