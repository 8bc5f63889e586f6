"""The value of a metric for every sample of a list."""

from __future__ import annotations

from collections.abc import Sequence

from pfgen_rs.errors import SettingsError
from pfgen_rs.llm_jp_eval.metrics.correlations import CORRELATIONS
from pfgen_rs.llm_jp_eval.metrics.lists import check_texts
from pfgen_rs.llm_jp_eval.metrics.samples import SAMPLE_METRICS
from pfgen_rs.llm_jp_eval.predictions import normalized_gold

__all__ = ["METRICS", "check_metric", "metric"]

METRICS = tuple(SAMPLE_METRICS)
"""Names of the metrics that every sample has a value of."""


def metric(name: str, predictions: Sequence[str], golds: Sequence[str]) -> list[float]:
    """Returns a metric's value (from 0 to 1) for each sample: `exact_match`, `char_f1` or `set_f1`.

    `predictions`: as `prediction` returns them. `golds`: as they stand in the files, not yet normalised. The
    task's figure is `mean` of the values. Empty lists give an empty list.

    Raises `SettingsError` for unknown names and `InputError` for lists of different lengths.
    """
    check_metric(name)
    check_texts(predictions, golds)
    value = SAMPLE_METRICS[name]
    return [
        value(text, normalized_gold(gold)) for text, gold in zip(predictions, golds, strict=True)
    ]


def check_metric(name: str) -> None:
    """Raises `SettingsError` unless every sample has a value of this metric."""
    if name in CORRELATIONS:
        raise SettingsError(f"{name} is a figure of all samples together: use correlation()")
    if name not in METRICS:
        raise SettingsError(f"unknown metric {name!r}: expected one of {', '.join(METRICS)}")
