"""The value of a metric for every sample of a list."""

from __future__ import annotations

from collections.abc import Sequence

from pfgen_rs.llm_jp_eval.metrics.lists import check_texts, without_surrogates
from pfgen_rs.llm_jp_eval.metrics.names import check_metric
from pfgen_rs.llm_jp_eval.metrics.samples import SAMPLE_METRICS
from pfgen_rs.llm_jp_eval.predictions import normalized_gold

__all__ = ["metric"]

_FEW = 256  # samples, for which plain Python takes less time than asking it about code points


def metric(name: str, predictions: Sequence[str], golds: Sequence[str]) -> list[float]:
    """Returns a metric's value (from 0 to 1) for each sample: `exact_match`, `char_f1` or `set_f1`.

    `predictions`: as `prediction` returns them. `golds`: as they stand in the files, not yet normalised. The
    task's figure is `mean` of the values. Empty lists give an empty list.

    Raises `SettingsError` for unknown names and `InputError` for lists of different lengths.
    """
    check_metric(name)
    check_texts(predictions, golds)
    if len(golds) < _FEW:
        return [_plain_value(name, *pair) for pair in zip(predictions, golds, strict=True)]
    # Here, so that a few samples do not load polars.
    from pfgen_rs.llm_jp_eval.metrics.columns import metric_column

    found, expected, wild = without_surrogates(predictions, golds)
    values: list[float] = metric_column(name, found, expected).tolist()
    for row in wild:
        values[row] = _plain_value(name, predictions[row], golds[row])
    return values


def _plain_value(name: str, prediction: str, gold: str) -> float:
    return SAMPLE_METRICS[name](prediction, normalized_gold(gold))
