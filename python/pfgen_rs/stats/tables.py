"""The tables of a comparison: differences by question and by category."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs.stats.sample import Sample
from pfgen_rs.stats.student import MOST_FREEDOM, two_sided_quantile

__all__ = ["by_category", "by_question"]

Floats = NDArray[np.float64]
_TEXTS = {"a": pl.String, "b": pl.String, "metric": pl.String}
_MEANS = {"mean_a": pl.Float64, "mean_b": pl.Float64, "difference": pl.Float64}
_BOUNDS = {"low": pl.Float64, "high": pl.Float64}
_ROUNDING = 1e-9  # of equal variances, the degrees of freedom are a whole number
_FEWEST = 4  # questions; with fewer, an interval is wider than anything that scores can be


def by_question(
    samples: Sequence[Sample],
    pairs: Sequence[tuple[int, int]],
    metrics: Sequence[str],
    level: float,
) -> pl.DataFrame:
    """Returns one row per pair, metric and question, in this order.

    Columns: `a`, `b`, `metric`, `question_id`, `category`, `mean_a`, `mean_b`, `difference`, and `low` and
    `high`, the interval of the difference for trial noise (B. L. Welch, "The generalization of
    'Student's' problem", Biometrika 34 (1947), degrees of freedom rounded down); null if a run answers the
    question only once. There is no correction for the number of questions.
    """
    rows: list[tuple[Any, ...]] = []
    for metric in metrics:
        moments = [_question_moments_for_table(sample, metric) for sample in samples]
        for i, j in pairs:
            rows += _question_table_rows(
                samples[i], samples[j], metric, moments[i], moments[j], level
            )
    schema = {**_TEXTS, "question_id": pl.String, "category": pl.String, **_MEANS, **_BOUNDS}
    return pl.DataFrame(rows, schema=schema, orient="row")


def by_category(
    samples: Sequence[Sample],
    pairs: Sequence[tuple[int, int]],
    metrics: Sequence[str],
    level: float,
) -> pl.DataFrame:
    """Returns one row per pair, metric and category, in this order.

    Columns: `a`, `b`, `metric`, `category`, `questions` (their number), `mean_a`, `mean_b`, `difference`, and
    `low` and `high`, the interval of Student's t over the questions of the category; null for fewer than four
    questions. There is no correction for the number of categories.
    """
    first = samples[0]
    categories = np.array(
        [first.categories[question] for question in first.questions], dtype=object
    )
    names = sorted({name for name in categories if name is not None})
    rows: list[tuple[Any, ...]] = []
    for metric, (i, j) in product(metrics, pairs):
        a, b = samples[i].means(metric), samples[j].means(metric)
        for name in names:
            mine = categories == name
            place = (samples[i].name, samples[j].name, metric, name, int(mine.sum()))
            rows.append((*place, *_category_table_row(a[mine], b[mine], level)))
    schema = {**_TEXTS, "category": pl.String, "questions": pl.Int64, **_MEANS, **_BOUNDS}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _category_table_row(a: Floats, b: Floats, level: float) -> tuple[float | None, ...]:
    differences = a - b
    mean, number = float(differences.mean()), len(a)
    bounds: tuple[float | None, float | None] = (None, None)
    if number >= _FEWEST:
        se = float(differences.std(ddof=1)) / np.sqrt(number)
        reach = float(two_sided_quantile(level, number - 1) * se)
        bounds = mean - reach, mean + reach
    return float(a.mean()), float(b.mean()), mean, *bounds


def _question_moments_for_table(sample: Sample, metric: str) -> list[tuple[float, float, int]]:
    """Returns mean, variance of the mean, and number of responses of each question."""
    means, counts = sample.means(metric), sample.counts
    variances = sample.variances(metric) / counts
    return list(zip(means.tolist(), variances.tolist(), counts.tolist(), strict=True))


def _question_table_rows(
    a: Sample,
    b: Sample,
    metric: str,
    of_a: list[tuple[float, float, int]],
    of_b: list[tuple[float, float, int]],
    level: float,
) -> list[tuple[Any, ...]]:
    rows = []
    for question, (mean_a, var_a, n_a), (mean_b, var_b, n_b) in zip(
        a.questions, of_a, of_b, strict=True
    ):
        difference = mean_a - mean_b
        low = high = None
        if n_a > 1 and n_b > 1:
            freedom = _welch_freedom_in_table(var_a, n_a, var_b, n_b)
            reach = two_sided_quantile(level, freedom) * (var_a + var_b) ** 0.5
            low, high = difference - reach, difference + reach
        place = (a.name, b.name, metric, question, a.categories[question])
        rows.append((*place, mean_a, mean_b, difference, low, high))
    return rows


def _welch_freedom_in_table(var_a: float, n_a: int, var_b: float, n_b: int) -> int:
    """Returns the degrees of freedom of the difference of two means with these variances, rounded down."""
    below = var_a**2 / (n_a - 1) + var_b**2 / (n_b - 1)
    if below == 0.0:
        return 1
    return max(1, min(int((var_a + var_b) ** 2 / below + _ROUNDING), MOST_FREEDOM))
