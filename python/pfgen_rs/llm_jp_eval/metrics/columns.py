"""Predictions and values of whole columns, in native code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs import _native
from pfgen_rs.errors import InputError
from pfgen_rs.llm_jp_eval import predictions
from pfgen_rs.llm_jp_eval.metrics.code_points import code_points
from pfgen_rs.llm_jp_eval.metrics.lists import check_column_of_texts
from pfgen_rs.llm_jp_eval.metrics.names import check_metric
from pfgen_rs.llm_jp_eval.metrics.samples import SAMPLE_METRICS

__all__ = ["gold_column", "metric_column", "output_metric_column", "prediction_column"]

Floats = NDArray[np.float64]
CHUNK = 1 << 17  # rows; bounds what is held beside the columns


def prediction_column(
    outputs: Any, variant: str = "upstream", *, threads: int | None = None
) -> pl.Series:
    """Returns the `prediction` in each raw output, as a column of text.

    `outputs`: a polars Series, another column with Arrow's PyCapsule interface, or a list of texts.
    `threads`: default all cores. Raises `SettingsError` for unknown variants and `InputError` where a row is
    not text (missing, a number, not valid Unicode).
    """
    predictions.check_variant(variant)

    def in_context(output: str) -> str:
        return predictions.prediction(output, variant)

    strip = variant == "swallow"
    return _normalized_column("prediction", outputs, in_context, True, strip, threads)


def gold_column(golds: Any, *, threads: int | None = None) -> pl.Series:
    """Returns `normalized_gold` of each gold answer. `golds`, `threads`, errors: as `prediction_column`."""
    in_context = predictions.normalized_gold
    return _normalized_column("gold", golds, in_context, False, False, threads)


def metric_column(name: str, found: Any, golds: Any, *, threads: int | None = None) -> Floats:
    """Returns `metric` of two columns: float64, one value a row.

    `found`: predictions, as `prediction_column` returns them. `golds`: as they stand in the files. Both:
    columns as `prediction_column` takes them. Raises `SettingsError` for unknown names and `InputError` for
    columns of different lengths and rows that are not text.
    """
    check_metric(name)
    plain = SAMPLE_METRICS[name]

    def in_context(text: str, gold: str) -> float:
        return plain(text, predictions.normalized_gold(gold))

    return _values_of_columns(name, found, golds, in_context, None, threads)


def output_metric_column(
    name: str, outputs: Any, golds: Any, variant: str = "upstream", *, threads: int | None = None
) -> Floats:
    """Returns `metric` of the predictions in raw outputs: `metric_column` of `prediction_column` at once."""
    check_metric(name)
    predictions.check_variant(variant)
    plain = SAMPLE_METRICS[name]

    def in_context(output: str, gold: str) -> float:
        return plain(predictions.prediction(output, variant), predictions.normalized_gold(gold))

    return _values_of_columns(name, outputs, golds, in_context, variant == "swallow", threads)


def _values_of_columns(
    name: str,
    texts: Any,
    golds: Any,
    in_context: Callable[[str, str], float],
    strip: bool | None,
    threads: int | None,
) -> Floats:
    if len(texts) != len(golds):
        raise InputError(f"{len(texts)} predictions but {len(golds)} golds")
    pairs = zip(_chunks_of_column(texts), _chunks_of_column(golds), strict=True)
    points = code_points()
    parts = [points.values(name, *pair, in_context, strip=strip, threads=threads) for pair in pairs]
    return np.concatenate(parts) if parts else np.empty(0)


def _normalized_column(
    name: str,
    texts: Any,
    in_context: Callable[[str], str],
    cut: bool,
    strip: bool,
    threads: int | None,
) -> pl.Series:
    points = code_points()
    parts = [
        pl.Series(name, points.normalized(part, in_context, cut=cut, strip=strip, threads=threads))
        for part in _chunks_of_column(texts)
    ]
    return pl.concat(parts) if parts else pl.Series(name, [], pl.String)


def _chunks_of_column(column: Any) -> Iterator[_native.Texts]:
    if isinstance(column, str):
        raise InputError("expected a column of texts, found a single text")
    if isinstance(column, list | tuple):
        check_column_of_texts(column)
    else:
        column = _series_of_texts(column)
    for at in range(0, len(column), CHUNK):
        yield _native.Texts(column[at : at + CHUNK])


def _series_of_texts(column: Any) -> pl.Series:
    try:
        series = column if isinstance(column, pl.Series) else pl.Series(column)
        if series.dtype in (pl.Categorical, pl.Enum, pl.Null):
            series = series.cast(pl.String)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(f"expected a column of texts: {error}") from None
    if series.null_count():
        row = series.is_null().arg_true()[0]
        raise InputError(f"row {row} is null: every row must be text")
    return series
