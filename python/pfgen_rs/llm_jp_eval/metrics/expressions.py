"""Predictions and values as polars expressions; they stream, so memory stays bounded."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from pfgen_rs.llm_jp_eval.metrics.columns import gold_column, metric_column, prediction_column
from pfgen_rs.llm_jp_eval.metrics.names import check_metric
from pfgen_rs.llm_jp_eval.predictions import check_variant

__all__ = ["gold_expression", "metric_expression", "prediction_expression"]

Column = str | pl.Expr


def prediction_expression(
    output: Column, variant: str = "upstream", *, threads: int | None = None
) -> pl.Expr:
    """Returns the `prediction` in each raw output of a column. Missing outputs stay missing.

    `output`: name of a column of text, or an expression. Raises `SettingsError` for unknown variants.
    """
    check_variant(variant)

    def of(columns: Sequence[pl.Series]) -> pl.Series:
        return prediction_column(columns[0], variant, threads=threads)

    return _expression_of_texts(of, [output], pl.String())


def gold_expression(gold: Column, *, threads: int | None = None) -> pl.Expr:
    """Returns `normalized_gold` of a column. Missing ones stay missing."""

    def of(columns: Sequence[pl.Series]) -> pl.Series:
        return gold_column(columns[0], threads=threads)

    return _expression_of_texts(of, [gold], pl.String())


def metric_expression(
    name: str, prediction: Column, gold: Column, *, threads: int | None = None
) -> pl.Expr:
    r"""Returns `metric` of two columns as float64; missing where either is missing.

    `prediction`: as `prediction_expression` gives it. `gold`: as it stands in the files. Raises
    `SettingsError` for unknown names.

    >>> frame = pl.DataFrame({"output": ["東京都。\n\n", "大阪"], "gold": ["東京都", "大阪府"]})
    >>> value = metric_expression("char_f1", prediction_expression("output"), "gold")
    >>> frame.select(value.alias("char_f1")).to_series().to_list()
    [1.0, 0.8]
    """
    check_metric(name)

    def of(columns: Sequence[pl.Series]) -> pl.Series:
        return pl.Series(metric_column(name, *columns, threads=threads))

    return _expression_of_texts(of, [prediction, gold], pl.Float64())


def _expression_of_texts(
    of: Callable[[Sequence[pl.Series]], pl.Series], inputs: list[Column], dtype: pl.DataType
) -> pl.Expr:
    def propagating_nulls(columns: Sequence[pl.Series]) -> pl.Series:
        name = columns[0].name
        columns = [column.cast(pl.String) for column in columns]
        if not any(column.null_count() for column in columns):
            return of(columns).alias(name)
        frame = pl.DataFrame([column.alias(str(i)) for i, column in enumerate(columns)])
        complete = frame.select(pl.all_horizontal(pl.all().is_not_null())).to_series()
        found = of([column.fill_null("") for column in frame]).to_frame(name)
        return found.select(pl.when(complete).then(pl.col(name))).to_series()

    return pl.map_batches(inputs, propagating_nulls, return_dtype=dtype, is_elementwise=True)
