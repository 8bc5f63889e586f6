"""Checkouts of pfgen-bench: runs and their results, which of them are stale, and rescoring those."""
