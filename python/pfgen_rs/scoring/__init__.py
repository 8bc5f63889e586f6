"""Columns of text in, columns of scores out; and where a score comes from."""
