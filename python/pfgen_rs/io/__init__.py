"""Reading responses and writing results, in every format; independent of metrics.

Formats: JSON lines, JSON arrays, CSV and TSV (plain or `.gz`, `.xz`, `.zst`), Parquet, Arrow IPC; read in
chunks of bounded size.
"""

from pfgen_rs.io.ahead import THREADS, Ahead, interruptibly
from pfgen_rs.io.chunk import Chunk, Options
from pfgen_rs.io.csv import csv_records
from pfgen_rs.io.lines import line_records
from pfgen_rs.io.reading import Reading, read_ahead
from pfgen_rs.io.source import DELIMITED, Source
from pfgen_rs.io.tables import check_columns, is_table, table_records
from pfgen_rs.io.writing import TABLES, TableWriter, remove_unfinished, write_atomic, writing_failed

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
