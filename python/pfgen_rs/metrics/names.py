"""Names of metrics, as used in columns, options and keys of `result.json`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Literal, get_args

from pfgen_rs.errors import SettingsError

__all__ = [
    "BY_SOURCE",
    "COLUMNS",
    "METRICS",
    "PARTS",
    "Metric",
    "check_metric",
    "score_names",
    "share_name",
    "share_names",
]

Metric = Literal["average", "fluency", "truthfulness", "helpfulness"]
METRICS: tuple[str, ...] = get_args(Metric)
"""All metrics by name; `average` is the score."""
PARTS = METRICS[1:]
"""The metrics whose mean is `average`."""
BY_SOURCE = PARTS[:2]
"""The metrics that are sums of one share per source of reference answers."""
COLUMNS = (*PARTS, METRICS[0])
"""All metrics in the column order of score tables."""


def share_name(metric: str, source: str) -> str:
    """Returns the name of a source's share of a metric, such as `fluency_P`."""
    return f"{metric}_{source}"


def share_names(sources: Iterable[str]) -> list[str]:
    """Returns the names of the sources' shares of Fluency, then of Truthfulness."""
    named = list(sources)
    return [share_name(metric, source) for metric in BY_SOURCE for source in named]


def score_names(sources: Iterable[str]) -> list[str]:
    """Returns the names of score columns, in the order in which native code returns them."""
    return [*COLUMNS, *share_names(sources)]


def check_metric(metric: str, known: Collection[str] = METRICS) -> None:
    """Raise `SettingsError` for an unknown metric."""
    if metric not in known:
        raise SettingsError(f"unknown metric {metric!r}: expected one of {', '.join(known)}")
