"""Names of metrics."""

from __future__ import annotations

from pfgen_rs.errors import SettingsError

__all__ = ["CORRELATIONS", "METRICS", "check_correlation", "check_metric"]

METRICS = ("exact_match", "char_f1", "set_f1")
"""Metrics that every sample has a value of."""

CORRELATIONS = ("pearson", "spearman")
"""Figures of all samples of a task together."""


def check_metric(name: str) -> None:
    """Raises `SettingsError` unless every sample has a value of this metric."""
    if name in CORRELATIONS:
        raise SettingsError(f"{name} is a figure of all samples together: use correlation()")
    if name not in METRICS:
        raise SettingsError(f"unknown metric {name!r}: expected one of {', '.join(METRICS)}")


def check_correlation(name: str) -> None:
    """Raises `SettingsError` unless this is the name of a correlation."""
    if name not in CORRELATIONS:
        known = ", ".join(CORRELATIONS)
        raise SettingsError(f"unknown correlation {name!r}: expected one of {known}")
