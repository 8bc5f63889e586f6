"""Metrics of llm-jp-eval, value for value: of lists, columns and polars expressions, in native code."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from pfgen_rs import InputError, _native
from pfgen_rs.io import code_points
from pfgen_rs.io.source import has_lone_surrogate
from pfgen_rs.lazy import Floats, np, pl
from pfgen_rs.llm_jp_eval import measures, reading
from pfgen_rs.llm_jp_eval.measures import sample_metric, sample_metrics
from pfgen_rs.llm_jp_eval.registry import DEFAULT, find_profile

__all__ = [
    "gold_column",
    "gold_expression",
    "metric",
    "metric_column",
    "metric_expression",
    "output_metric_column",
    "prediction_column",
    "prediction_expression",
    "sample_metric",
    "sample_metrics",
]

Column = str | pl.Expr
CHUNK = 1 << 17  # rows of a column; bounds what is held beside it


def metric(name: str, predictions: Sequence[str], golds: Sequence[str]) -> list[float]:
    """Returns a metric's value (from 0 to 1) for each sample: `exact_match`, `char_f1`, `set_f1` or your own.

    `predictions`: as `predictions` returns them. `golds`: as they stand in the files, not yet normalised. The
    task's figure is `mean` of the values. Empty lists give an empty list. Lone surrogates are characters like
    others. Time grows with the lengths of the texts, of char_f1 with the product of both lengths / 64.

    Raises `SettingsError` for unknown names and `InputError` for lists of different lengths.
    """
    found: list[float] = metric_column(name, predictions, golds).tolist()
    return found


def prediction_column(
    outputs: Any, profile: str = DEFAULT, *, threads: int | None = None
) -> pl.Series:
    """Returns the `prediction` in each raw output, as a column of text.

    `outputs`: a polars Series, another column with Arrow's PyCapsule interface, or a list of texts.
    `threads`: default all cores. Raises `SettingsError` for unknown profiles and `InputError` where a row is
    not text (missing, a number, not valid Unicode).
    """

    def in_context(output: str) -> str:
        return reading.prediction(output, profile)

    strip = reading.native_strip(find_profile(profile).steps(""))
    if strip is None:
        return pl.Series("prediction", map(in_context, _series(outputs)), pl.String)
    return _normalized_column("prediction", outputs, in_context, threads, cut=True, strip=strip)


def gold_column(golds: Any, *, threads: int | None = None) -> pl.Series:
    """Returns `normalized_gold` of each gold answer. `golds`, `threads`, errors: as `prediction_column`."""
    normal = measures.normalized_gold
    return _normalized_column("gold", golds, normal, threads, cut=False, strip=False)


def output_metric_column(
    name: str, outputs: Any, golds: Any, profile: str = DEFAULT, *, threads: int | None = None
) -> Floats:
    """Returns `metric` of the predictions in raw outputs: `metric_column` of `prediction_column` at once."""
    return metric_column(name, outputs, golds, profile=profile, threads=threads)


def metric_column(
    name: str, found: Any, golds: Any, *, profile: str | None = None, threads: int | None = None
) -> Floats:
    """Returns `metric` of two columns: float64, one value a row.

    `found`: predictions, as `prediction_column` returns them, or with a profile, raw outputs. `golds`: as
    they stand in the files. Both: columns as `prediction_column` takes them, or lists. Raises
    `SettingsError` for unknown names and `InputError` for columns of different lengths and rows that
    are not text.
    """
    chosen = measures.find_metric(name)
    strip = None if profile is None else reading.native_strip(find_profile(profile).steps(""))
    sides = [list(x) if isinstance(x, list | tuple) else _series(x) for x in (found, golds)]
    if profile is not None and (strip is None or not chosen.native):
        sides[0] = reading.predictions(list(sides[0]), profile)
        profile = None
    points = code_points.known()
    if not chosen.native:
        preds, expected = map(list, sides)
        measures.check_texts(preds, expected)
        expected = points.normalized_list(
            expected, measures.normalized_gold, cut=False, strip=False
        )
        values = (chosen.column or partial(map, chosen.value))(preds, expected)
        return np.array(list(values), dtype=np.float64)

    def in_context(text: str, gold: str) -> tuple[str, str]:
        read = text if profile is None else reading.prediction(text, profile)
        gold = measures.normalized_gold(gold)
        if name == "char_f1":
            return measures.sorted_tokens(read), measures.sorted_tokens(gold)
        return read, gold

    one, other = (
        side if isinstance(side, list) else _native.Texts(side, threads) for side in sides
    )
    return points.values(name, one, other, in_context, threads, strip=strip)


def _normalized_column(
    name: str, texts: Any, of: Callable[[str], str], threads: int | None, **how: bool
) -> pl.Series:
    points, column = code_points.known(), _series(texts)
    parts = (_native.Texts(column[at : at + CHUNK]) for at in range(0, len(column), CHUNK))
    made = [pl.Series(name, points.normalized(p, of, threads=threads, **how)) for p in parts]
    return pl.concat(made) if made else pl.Series(name, [], pl.String)


def _series(column: Any) -> pl.Series:
    """Returns a column of texts. Raises `InputError` unless it is one."""
    if isinstance(column, str):
        raise InputError("expected a column of texts, found a single text")
    try:
        if isinstance(column, list | tuple):
            measures.check_types(column, "")
            series = pl.Series(column, dtype=pl.String)
        else:
            series = column if isinstance(column, pl.Series) else pl.Series(column)
        if series.dtype in (pl.Categorical, pl.Enum, pl.Null):
            series = series.cast(pl.String)
    except UnicodeEncodeError:
        row = next(row for row, text in enumerate(column) if has_lone_surrogate(text))
        problem = f"row {row} contains a lone surrogate, which is not valid Unicode text"
        raise InputError(problem) from None
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(f"expected a column of texts: {error}") from None
    if series.null_count():
        row = series.is_null().arg_true()[0]
        raise InputError(f"row {row} is null: every row must be text")
    return series


def prediction_expression(
    output: Column, profile: str = DEFAULT, *, threads: int | None = None
) -> pl.Expr:
    """Returns the `prediction` in each raw output of a column. Missing outputs stay missing.

    `output`: name of a column of text, or an expression. Raises `SettingsError` for unknown profiles.
    """
    find_profile(profile)
    made = partial(prediction_column, profile=profile, threads=threads)
    return _expression(made, [output], pl.String())


def gold_expression(gold: Column, *, threads: int | None = None) -> pl.Expr:
    """Returns `normalized_gold` of a column. Missing ones stay missing."""
    return _expression(partial(gold_column, threads=threads), [gold], pl.String())


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
    measures.find_metric(name)
    made = partial(metric_column, name, threads=threads)
    return _expression(made, [prediction, gold], pl.Float64())


def _expression(of: Callable[..., Any], inputs: list[Column], dtype: pl.DataType) -> pl.Expr:
    def propagating_nulls(columns: Sequence[pl.Series]) -> pl.Series:
        name = columns[0].name
        columns = [column.cast(pl.String) for column in columns]
        if not any(column.null_count() for column in columns):
            return pl.Series(name, of(*columns))
        frame = pl.DataFrame([column.alias(str(i)) for i, column in enumerate(columns)])
        complete = frame.select(pl.all_horizontal(pl.all().is_not_null())).to_series()
        found = pl.Series(name, of(*(column.fill_null("") for column in frame)))
        return found.to_frame().select(pl.when(complete).then(pl.col(name))).to_series()

    return pl.map_batches(inputs, propagating_nulls, return_dtype=dtype, is_elementwise=True)
