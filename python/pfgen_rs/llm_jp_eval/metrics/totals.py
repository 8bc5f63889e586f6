"""Figures of all samples of a task: the exactly rounded mean of values, and correlations of numbers."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.llm_jp_eval.metrics.columns import check_texts
from pfgen_rs.llm_jp_eval.metrics.samples import CORRELATIONS, normalized_gold
from pfgen_rs.stats.correlation import pearson_values, spearman_values

Floats = NDArray[np.float64]

_NO_NUMBER = -2.0
_NEITHER_DIGIT_NOR_POINT = re.compile("[^0-9.]+")
_FEW = 64  # values, for which `statistics.mean` is as fast
_MANTISSA = 53
_LOWER = 26  # bits of a mantissa that are summed apart, so that int64 has room for 2^36 values


def mean(values: Sequence[float] | NDArray[np.float64]) -> float:
    """Returns the mean of float64 values exactly as `statistics.mean`: computed exactly, then rounded once.

    Raises `InputError` without values.
    """
    if not len(values):
        raise InputError("no values: a mean needs at least one sample")
    if len(values) <= _FEW:
        return float(statistics.mean(map(float, values)))
    column = np.asarray(values, dtype=np.float64)
    if not np.isfinite(column).all():
        return float(statistics.mean(column.tolist()))
    total, scale = _exact_sum(column)
    return (total << scale) / len(column) if scale >= 0 else total / (len(column) << -scale)


def _exact_sum(column: NDArray[np.float64]) -> tuple[int, int]:
    """Returns the sum of finite values as an integer and the power of two that it is multiplied by."""
    fractions, exponents = np.frexp(column)
    mantissas = np.ldexp(fractions, _MANTISSA).astype(np.int64)
    lowest = int(exponents.min())
    total = 0
    for exponent in np.unique(exponents).tolist():
        some = mantissas[exponents == exponent]
        upper, lower = int((some >> _LOWER).sum()), int((some & ((1 << _LOWER) - 1)).sum())
        total += ((upper << _LOWER) + lower) << (exponent - lowest)
    return total, lowest - _MANTISSA


def correlation(name: str, predictions: Sequence[str], golds: Sequence[str]) -> float:
    """Returns `pearson` or `spearman` (average ranks for ties) of predicted and gold numbers.

    `predictions`: as `prediction` returns them, read by `parse_float`. `golds`: numbers as they stand in the
    files. As in the reference it is 0.0 where one side is constant or the correlation is not a number; for
    fewer than two samples, where the reference fails, it is 0.0 as well. Otherwise within 1e-12 of scipy's.

    Raises `SettingsError` for unknown names, `InputError` for lists of different lengths and for golds that
    are not numbers.
    """
    if name not in CORRELATIONS:
        known = ", ".join(CORRELATIONS)
        raise SettingsError(f"unknown correlation {name!r}: expected one of {known}")
    check_texts(predictions, golds)
    found = np.array([parse_float(text) for text in predictions], dtype=np.float64)
    expected = np.array([_gold_number(row, text) for row, text in enumerate(golds)], np.float64)
    if name == "spearman":
        found, expected = _ranks(found), _ranks(expected)
    return _pearson(found, expected)


def correlation_values(name: str, predictions: Iterable[str], golds: Sequence[float]) -> Floats:
    """Returns the jackknife's pseudo-values (`stats.jackknife`), whose mean is the correlation.

    NaN where a number is too large or none, or there is a single sample.
    """
    found = np.array([parse_float(text) for text in predictions], dtype=np.float64)
    expected = np.array(golds, dtype=np.float64)
    if len(expected) < 2 or not np.isfinite([found, expected]).all():
        return np.full(len(expected), np.nan)
    return (pearson_values if name == "pearson" else spearman_values)(found, expected)


def parse_float(text: str) -> float:
    """Returns the number that the ASCII digits and points of a prediction form; -2.0 where they form none.

    All other characters are ignored, so `-3` is 3.0, `3/5` is 35.0 and `4.0〜5.0` is -2.0.
    """
    try:
        return float(_NEITHER_DIGIT_NOR_POINT.sub("", text))
    except ValueError:
        return _NO_NUMBER


def _gold_number(row: int, text: str) -> float:
    try:
        return float(normalized_gold(text))
    except ValueError:
        raise InputError(f"gold {row}: expected a number, found {text!r}") from None


def _pearson(x: Floats, y: Floats) -> float:
    if len(x) < 2 or (x == x[0]).all() or (y == y[0]).all():
        return 0.0
    with np.errstate(all="ignore"):
        found = float(_unit_deviations(x) @ _unit_deviations(y))
    return 0.0 if math.isnan(found) else max(-1.0, min(1.0, found))


def _unit_deviations(values: Floats) -> Floats:
    """Returns deviations from the mean, scaled to a length of 1."""
    deviations = values - values.mean()
    deviations /= np.abs(deviations).max()  # squares of large numbers would be infinite
    return np.asarray(deviations / np.sqrt(deviations @ deviations))


def _ranks(values: Floats) -> Floats:
    _, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[codes.ravel()])
