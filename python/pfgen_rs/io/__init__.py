"""Reads responses and writes results in every supported format, independently of metrics.

Formats: JSON lines, JSON arrays, CSV and TSV (plain or `.gz`, `.xz`, `.zst`), Parquet, and Arrow IPC. Files
are read in chunks of bounded size.
"""

from typing import TYPE_CHECKING

__all__ = [
    "DELIMITED",
    "TABLES",
    "THREADS",
    "Ahead",
    "Chunk",
    "Options",
    "Reading",
    "Source",
    "TableWriter",
    "begun",
    "check_columns",
    "csv_records",
    "interruptibly",
    "is_table",
    "line_records",
    "read_ahead",
    "remove_unfinished",
    "table_records",
    "write_atomic",
    "writing_failed",
]

if TYPE_CHECKING:
    from pfgen_rs.io.ahead import THREADS, Ahead, begun, interruptibly
    from pfgen_rs.io.atomic import remove_unfinished, write_atomic, writing_failed
    from pfgen_rs.io.chunk import Chunk, Options
    from pfgen_rs.io.csv import csv_records
    from pfgen_rs.io.lines import line_records
    from pfgen_rs.io.reading import Reading, read_ahead
    from pfgen_rs.io.source import DELIMITED, Source
    from pfgen_rs.io.table_writer import TABLES, TableWriter
    from pfgen_rs.io.tables import check_columns, is_table, table_records
else:  # lazy, so that parts without polars and numpy do not import them
    from pfgen_rs import lazy

    __getattr__, __dir__ = lazy.exports(
        __name__,
        {
            "ahead": ("THREADS", "Ahead", "begun", "interruptibly"),
            "atomic": ("remove_unfinished", "write_atomic", "writing_failed"),
            "chunk": ("Chunk", "Options"),
            "csv": ("csv_records",),
            "lines": ("line_records",),
            "reading": ("Reading", "read_ahead"),
            "source": ("DELIMITED", "Source"),
            "table_writer": ("TABLES", "TableWriter"),
            "tables": ("check_columns", "is_table", "table_records"),
        },
    )
