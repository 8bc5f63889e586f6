"""Metrics that files of other versions name, a file a family; each registers itself when it is imported."""
