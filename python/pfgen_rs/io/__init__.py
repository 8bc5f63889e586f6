"""Reads responses and writes results in every supported format, independently of metrics.

Formats: JSON lines, JSON arrays, CSV and TSV (plain or `.gz`, `.xz`, `.zst`), Parquet, and Arrow IPC. Files
are read in chunks of bounded size.
"""
