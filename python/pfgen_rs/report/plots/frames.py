"""Tables for figures: checks, and tables from published results and scored runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import polars as pl

from pfgen_rs.errors import PlotError
from pfgen_rs.metrics.settings import Settings
from pfgen_rs.metrics.signature import has_helpfulness

if TYPE_CHECKING:
    from pfgen_rs.runs.result import Result

__all__ = ["drawable", "question_scores", "responses", "source_scores"]

_QUESTION_SCORES = {"name": pl.String, "question_id": pl.String, "score": pl.Float64}
_SOURCE_SCORES = {
    "name": pl.String,
    "question_id": pl.String,
    "source": pl.String,
    "fluency": pl.Float64,
    "truthfulness": pl.Float64,
    "average": pl.Float64,
}


def drawable(frame: pl.DataFrame, text: Sequence[str], numbers: Sequence[str]) -> pl.DataFrame:
    """Returns the rows whose `numbers` are all finite; these become float64, `text` strings.

    Raises `PlotError` if a column is missing or has the wrong type, and if no rows are left.
    """
    missing = [name for name in (*text, *numbers) if name not in frame.columns]
    if missing:
        raise PlotError(f"missing columns in the table to draw: {', '.join(map(repr, missing))}")
    try:
        cast = frame.with_columns(pl.col(numbers).cast(pl.Float64), pl.col(text).cast(pl.String))
    except pl.exceptions.PolarsError as error:
        raise PlotError(f"a column of the table to draw has the wrong type: {error}") from None
    found = cast.filter(pl.all_horizontal(pl.lit(True), pl.col(numbers).is_finite()))
    if found.is_empty():
        raise PlotError(f"nothing to draw: no run has {', '.join(numbers or text)}")
    return found


def question_scores(results: Mapping[str, Mapping[str, Any]]) -> pl.DataFrame:
    """Returns the score of each run and question, from published results (`result.json`) by name.

    Columns `name`, `question_id`, `score`, with the five digits of `average`.
    """
    rows = (
        (name, question_id, entry["scores"]["average"])
        for name, result in results.items()
        for question_id, entry in result["questions"].items()
    )
    return pl.DataFrame(list(rows), schema=_QUESTION_SCORES, orient="row")


def source_scores(results: Mapping[str, Mapping[str, Any]]) -> pl.DataFrame:
    """Returns the score of each run with the reference answers of one source alone, by question.

    `results`: published results (`result.json`) by name. Columns `name`, `question_id`, `source`, `fluency`,
    `truthfulness`, `average`. A question's published Fluency is the mean over its sources, given as each
    source's share; the share times the number of sources is the Fluency with this source alone. Exact to
    about 1e-5 times the number of sources, since shares are rounded.
    """
    rows = chain.from_iterable(
        _frame_rows_by_source(name, question_id, entry["scores"], settings)
        for name, result in results.items()
        for settings in [Settings(helpfulness=has_helpfulness(result))]
        for question_id, entry in result["questions"].items()
    )
    return pl.DataFrame(list(rows), schema=_SOURCE_SCORES, orient="row")


def _frame_rows_by_source(
    name: str, question_id: str, scores: Mapping[str, Any], settings: Settings
) -> Iterator[tuple[str, str, str, float, float, float]]:
    shares = scores["fluency"]
    for source in shares:
        fluency = shares[source] * len(shares)
        truthfulness = scores["truthfulness"].get(source, 0.0) * len(shares)
        average = settings.average(fluency, truthfulness, scores["helpfulness"])
        yield name, question_id, source, fluency, truthfulness, average


def responses(result: Result) -> pl.DataFrame:
    """Returns a scored run's responses without texts: `question_id`, `length`, metrics and `average`."""
    names = ["question_id", "length", "average", "fluency", "truthfulness", "helpfulness"]
    scores = result.response_scores
    return pl.concat([scores.frame(part).select(names) for part in scores.parts], rechunk=True)
