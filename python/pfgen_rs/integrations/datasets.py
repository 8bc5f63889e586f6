"""Adds scores as columns of a Hugging Face dataset: `ds.map(scorer(…), batched=True)`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs import _native
from pfgen_rs.benchmark import Benchmark, resolve
from pfgen_rs.errors import InputError
from pfgen_rs.metrics.settings import COLUMNS, check_metric, score_names
from pfgen_rs.scoring import batch

Columns = dict[str, NDArray[np.float64]]


def scorer(
    benchmark: Benchmark | str | os.PathLike[str] | None = None,
    *,
    question_field: str = "question",
    answer_field: str = "answer",
    metrics: str | Sequence[str] = COLUMNS,
    threads: int | None = 1,
) -> DatasetScorer:
    """Returns a function for `datasets.Dataset.map(…, batched=True)` that adds a float64 column per metric.

    `benchmark`: a `Benchmark`, or any argument of `load_benchmark`. Questions are texts or ids. `metrics`:
    one or more of `fluency`, `truthfulness`, `helpfulness`, `average`, and `fluency_S` and `truthfulness_S`
    for a source S. `threads`: number of threads per process (`None`: all cores); 1 suits `num_proc`.

    Builds all scorers now. Raises `SettingsError` for an unknown metric, and the same errors as
    `load_benchmark`.
    """
    chosen = (metrics,) if isinstance(metrics, str) else tuple(metrics)
    return DatasetScorer(resolve(benchmark, None), question_field, answer_field, chosen, threads)


class DatasetScorer:
    """Scores batches of a dataset in any format; created by `scorer`.

    Works in forked processes, and can be pickled for others. The pickle contains the benchmark's contents,
    its settings and the scoring version; `datasets` uses its digest as a cache key, so cached results are
    found in another process, and recomputed after any of these change.

    Raises `InputError` for a column that is missing or not text, naming the row of the batch, or
    `UnknownQuestionError`.
    """

    def __init__(
        self,
        benchmark: Benchmark,
        question_field: str,
        answer_field: str,
        metrics: tuple[str, ...],
        threads: int | None,
    ) -> None:
        known = score_names(benchmark.sources)
        for metric in metrics:
            check_metric(metric, known)
        self.benchmark = benchmark.prepare()
        self.question_field = question_field
        self.answer_field = answer_field
        self.metrics = metrics
        self.threads = threads
        self._places = {metric: known.index(metric) for metric in metrics}

    def __call__(self, batch: Any) -> Any:
        """Returns the new columns of a batch or, if the batch is a table, the table with them added."""
        questions = _column(batch, self.question_field)
        answers = _column(batch, self.answer_field)
        return _with_columns(batch, self._scores(questions, answers))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the constructor's arguments and everything else that results depend on."""
        bench = self.benchmark
        # Without the folder, because scores do not depend on its name.
        benchmark = (list(bench), bench.metadata_hash, bench.settings)
        chosen = (self.question_field, self.answer_field, self.metrics, self.threads)
        return _scorer_again, (bench.signature, benchmark, chosen)

    def __repr__(self) -> str:
        """Show the metrics and the signature."""
        return f"DatasetScorer({', '.join(self.metrics)}; {self.benchmark.signature!r})"

    def _scores(self, questions: Any, answers: Any) -> Columns:
        # Does not use polars, because its threads do not survive a fork.
        with _column_errors(self.question_field):
            numbers = batch.numbers_of(self.benchmark, _native.Texts(questions, self.threads))
        with _column_errors(self.answer_field):
            column = self.benchmark.coder.column(answers, self.threads)
        found = batch.score_arrays(self.benchmark, numbers, column, threads=self.threads)
        return {metric: found.columns[place] for metric, place in self._places.items()}


def _scorer_again(
    signature: str, benchmark: tuple[Any, ...], chosen: tuple[Any, ...]
) -> DatasetScorer:
    del signature
    return DatasetScorer(Benchmark(*benchmark), *chosen)


@contextmanager
def _column_errors(column: str) -> Iterator[None]:
    """Add the name of the batch's column to errors."""
    try:
        yield
    except InputError as error:
        problem = f"column {column!r} of the batch: {error.problem}"
        raise type(error)(problem, question=error.question) from None


def _column(batch: Any, name: str) -> Any:
    names = _column_names(batch)
    if name not in names:
        raise InputError(f"missing column {name!r}: found {', '.join(names)}")
    column = batch[name]
    if isinstance(column, str):
        raise InputError("the scorer requires batches: call map with batched=True")
    return column if hasattr(column, "__arrow_c_stream__") else _column_list(column)


def _column_names(batch: Any) -> list[str]:
    if isinstance(batch, Mapping):
        return list(batch)
    # pyarrow's `columns` attribute has the columns themselves rather than their names.
    return list(batch.column_names if hasattr(batch, "column_names") else batch.columns)


def _column_list(column: Any) -> Any:
    return column.tolist() if isinstance(column, np.ndarray) else list(column)


def _with_columns(batch: Any, columns: Columns) -> Any:
    """Returns only the new columns for a mapping, which `map` updates; else the whole table."""
    if isinstance(batch, Mapping):
        return columns
    if isinstance(batch, pl.DataFrame):
        return batch.with_columns(pl.Series(name, values) for name, values in columns.items())
    if hasattr(batch, "assign"):  # pandas
        return batch.assign(**columns)
    names = [name for name in batch.column_names if name not in columns]
    kept = batch.select(names)
    for name, values in columns.items():
        kept = kept.append_column(name, [values])
    return kept
