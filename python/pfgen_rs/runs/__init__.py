"""Whole runs: files scored piece by piece and resumed, their scores kept, aggregated and written."""
