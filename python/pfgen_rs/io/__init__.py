"""Reads responses and writes results in every supported format, independently of metrics.

Formats: JSON lines, JSON arrays, CSV and TSV (plain or `.gz`, `.xz`, `.zst`), Parquet, and Arrow IPC. Files
are read in chunks of bounded size.

`chunk` says what readers are asked for, above all which keys or columns hold questions and answers
(`Options`), and what they return (`Chunk`). `reading` chooses the reader of a `source`: `lines` and `arrays`
read JSON, `csv` CSV and TSV, `tables` Parquet and Arrow. `formats` recognises files that are none of these,
and outputs of batch APIs.
"""
