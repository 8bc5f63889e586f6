"""A checkout of pfgen-bench: its runs and their results, what of them is stale, and scoring that again."""
