"""Scoring responses: columns of text in, columns of scores out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs import _native
from pfgen_rs.errors import InputError, UnknownQuestionError
from pfgen_rs.question_set import QuestionSet
from pfgen_rs.questions import Question
from pfgen_rs.sums import left_sum

__all__ = ["Details", "Score", "score", "score_batch", "score_columns", "text_columns"]

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


class Details(NamedTuple):
    """Unrounded values, and the cuts (in characters) at which they are attained.

    By source, before the division by the number of sources.
    """

    fluency: dict[str, float]
    fluency_cut: dict[str, int]
    truthfulness: dict[str, float]
    truthfulness_cut: dict[str, int]
    helpfulness: float
    helpfulness_cut: int


@dataclass(frozen=True)
class Score:
    """The scores of one answer. `to_dict` is the published per-answer object.

    `fluency` and `truthfulness` hold each source's share (its value divided by the number of sources),
    `average` the mean of the three metrics. `signature` makes it reproducible.
    """

    fluency: dict[str, float]
    truthfulness: dict[str, float]
    helpfulness: float
    helpfulness_results: list[list[Any]]
    average: float
    details: Details
    signature: str

    def to_dict(self) -> dict[str, Any]:
        """Keys and values exactly as published for every answer."""
        return {
            "fluency": self.fluency,
            "fluency_discount": 1.0,
            "truthfulness": self.truthfulness,
            "helpfulness": self.helpfulness,
            "helpfulness_results": self.helpfulness_results,
            "average": self.average,
        }

    def __str__(self) -> str:
        """The average and the signature it is worthless without."""
        return f"{self.average} ({self.signature})"


class Scored(NamedTuple):
    """Scores of some responses to one question; arrays of shape (responses, sources) or (responses,)."""

    fluency: Floats
    fluency_cut: NDArray[np.uint32]
    truthfulness: Floats
    truthfulness_cut: NDArray[np.uint32]
    helpfulness: Floats
    helpfulness_cut: NDArray[np.int64]
    ends: Mapping[str, NDArray[np.int64]]


class Totals(NamedTuple):
    """What is reported of the same responses; fluency and truthfulness of shape (responses, sources)."""

    fluency: Floats
    truthfulness: Floats
    helpfulness: Floats
    fluency_total: Floats
    truthfulness_total: Floats
    average: Floats


def score(benchmark: QuestionSet, question: str, answer: str) -> Score:
    """Score one answer to the question with this text or id."""
    found = benchmark.find(question)
    texts = _native.Texts([answer])
    scored = _score_rows(benchmark, found, texts, None, texts.lengths(), None)
    totals = _totals(benchmark, scored)
    by_source = [dict(zip(found.sources, row[0].tolist(), strict=True)) for row in scored[:4]]
    value, cut = scored.helpfulness[0].item(), scored.helpfulness_cut[0].item()
    return Score(
        fluency=dict(zip(found.sources, totals.fluency[0].tolist(), strict=True)),
        truthfulness=dict(zip(found.sources, totals.truthfulness[0].tolist(), strict=True)),
        helpfulness=totals.helpfulness[0].item(),
        helpfulness_results=benchmark.helpfulness(found).missed(scored.ends, value, cut),
        average=totals.average[0].item(),
        details=Details(by_source[0], by_source[1], by_source[2], by_source[3], value, cut),
        signature=benchmark.signature,
    )


def score_batch(
    benchmark: QuestionSet,
    data: Any,
    answers: Any = None,
    *,
    threads: int | None = None,
    chunk_size: int = 65536,
) -> pl.DataFrame:
    """Score many answers; one row each, in the order given.

    `data`: a table with the columns `question` (text or id) and `answer` (polars DataFrame or LazyFrame,
    anything with Arrow's PyCapsule interface such as a pyarrow Table, a pandas DataFrame or a DuckDB
    relation, or a mapping of columns); or the questions, with `answers` beside them (lists or Arrow columns).

    Gives `question_id`, `length` (code points), `fluency`, `truthfulness`, `helpfulness`, `average`, and
    `fluency_S`, `truthfulness_S` for every source S of the benchmark (null where the question lacks it).
    Values do not depend on `threads` (default: all cores) or `chunk_size` (responses between checks for
    Ctrl-C). Raises `InputError` naming the row.
    """
    questions, texts = text_columns(data, answers)
    return score_columns(benchmark, questions, texts, threads=threads, chunk_size=chunk_size)


def score_columns(
    benchmark: QuestionSet,
    questions: pl.Series,
    answers: Any,
    *,
    threads: int | None = None,
    chunk_size: int = 65536,
) -> pl.DataFrame:
    """`score_batch` for a column of questions and a column of answers of the same length."""
    if chunk_size < 1:
        raise InputError("chunk_size must be at least 1")
    texts = _native.Texts(answers)
    if len(texts) != len(questions):
        raise InputError(f"{len(questions)} questions but {len(texts)} answers")
    lengths = texts.lengths()
    groups = _rows_by_question(benchmark, questions)
    benchmark.prepare([question for question, _ in groups])
    columns = _Columns(benchmark.sources, lengths)
    for question, all_rows in groups:
        for start in range(0, len(all_rows), chunk_size):
            rows = all_rows[start : start + chunk_size]
            scored = _score_rows(benchmark, question, texts, rows, lengths[rows], threads)
            columns.put(question, rows, _totals(benchmark, scored))
    return columns.frame()


def _score_rows(
    benchmark: QuestionSet,
    question: Question,
    texts: _native.Texts,
    rows: Rows | None,
    lengths: NDArray[np.int64],
    threads: int | None,
) -> Scored:
    native = benchmark.scorer(question).score(texts, rows, threads)
    helpfulness = benchmark.helpfulness(question)
    ends = helpfulness.pattern_ends(texts, rows, threads)
    return Scored(*native, *helpfulness.evaluate(ends, lengths), ends)


def _totals(benchmark: QuestionSet, scored: Scored) -> Totals:
    """Section 5 of the published semantics: shares, rounding, left-to-right sums."""
    sources = scored.fluency.shape[1]
    fluency, truthfulness = scored.fluency / sources, scored.truthfulness / sources
    if benchmark.settings.variant == "paper":
        means = [left_sum(metric.T) / sources for metric in (scored.fluency, scored.truthfulness)]
        average = left_sum([*means, scored.helpfulness]) / 3
        return Totals(fluency, truthfulness, scored.helpfulness, means[0], means[1], average)
    fluency, truthfulness = _rounded(fluency, 6), _rounded(truthfulness, 6)
    helpfulness = _rounded(scored.helpfulness, 5)
    totals = [left_sum(fluency.T), left_sum(truthfulness.T)]
    average = _rounded((totals[0] + totals[1] + helpfulness) / 3, 5)
    return Totals(fluency, truthfulness, helpfulness, totals[0], totals[1], average)


def _rounded(values: Floats, digits: int) -> Floats:
    return _native.round_half_even(values.ravel(), digits).reshape(values.shape)


def _rows_by_question(benchmark: QuestionSet, questions: pl.Series) -> list[tuple[Question, Rows]]:
    """The questions that occur, each with its rows in order; an unknown one is an error naming its row."""
    if questions.null_count():
        row = questions.is_null().arg_true()[0]
        raise InputError(f"row {row}: the question is null")
    frame = pl.DataFrame({"question": questions.cast(pl.String)}).with_row_index("row")
    grouped = frame.group_by("question", maintain_order=True).agg("row")
    rows: dict[str, list[Rows]] = {}
    for text, indices in grouped.iter_rows():
        try:
            found = benchmark.find(text)
        except UnknownQuestionError as error:
            problem = f"row {indices[0]}: {error.problem}"
            raise UnknownQuestionError(problem, question=text) from None
        rows.setdefault(found.id, []).append(np.array(indices, dtype=np.int64))
    return [(benchmark[key], np.sort(np.concatenate(parts))) for key, parts in rows.items()]


def text_columns(data: Any, answers: Any) -> tuple[pl.Series, Any]:
    """The questions and the answers of whatever `score_batch` takes."""
    if answers is not None:
        return _question_column(data), _as_text(answers)
    if isinstance(data, pl.LazyFrame):
        data = data.select(pl.col("^(question|answer)$")).collect()
    if not isinstance(data, pl.DataFrame):
        data = _table(data)
    for key in ("question", "answer"):
        if key not in data.columns:
            raise InputError(f"the column {key!r} is missing; there are: {', '.join(data.columns)}")
    return data.get_column("question"), _as_text(data.get_column("answer"))


def _question_column(questions: Any) -> pl.Series:
    if isinstance(questions, str):
        raise InputError("a column of questions is wanted, not one text: put it into a list")
    try:
        return pl.Series("question", questions, dtype=pl.String)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(f"the questions are no column of text: {error}") from None


def _as_text(column: Any) -> Any:
    """Categories and columns without any value as text; the native side takes or refuses the rest."""
    if isinstance(column, pl.Series) and column.dtype in (pl.Categorical, pl.Enum, pl.Null):
        return column.cast(pl.String)
    return column


def _table(data: Any) -> pl.DataFrame:
    tabular = isinstance(data, Mapping) or any(
        hasattr(data, name) for name in ("__arrow_c_stream__", "__arrow_c_array__", "__dataframe__")
    )
    if not tabular:
        raise InputError(
            f"responses must be a table with the columns 'question' and 'answer', or two columns; "
            f"not {type(data).__name__}"
        )
    try:
        return pl.DataFrame(data)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(f"the responses are no table of text: {error}") from None


class _Columns:
    """Result columns, filled a question at a time."""

    def __init__(self, sources: Sequence[str], lengths: NDArray[np.int64]) -> None:
        self._ids = np.empty(len(lengths), dtype=object)
        self._lengths = lengths
        names = ["fluency", "truthfulness", "helpfulness", "average"]
        names += [f"{metric}_{source}" for metric in names[:2] for source in sources]
        self._values = {name: np.full(len(lengths), np.nan) for name in names}

    def put(self, question: Question, rows: Rows, totals: Totals) -> None:
        self._ids[rows] = question.id
        self._values["fluency"][rows] = totals.fluency_total
        self._values["truthfulness"][rows] = totals.truthfulness_total
        self._values["helpfulness"][rows] = totals.helpfulness
        self._values["average"][rows] = totals.average
        for i, source in enumerate(question.sources):
            self._values[f"fluency_{source}"][rows] = totals.fluency[:, i]
            self._values[f"truthfulness_{source}"][rows] = totals.truthfulness[:, i]

    def frame(self) -> pl.DataFrame:
        ids = pl.Series("question_id", self._ids.tolist(), dtype=pl.String)
        lengths = pl.Series("length", self._lengths, dtype=pl.Int64)
        values = [pl.Series(name, v, nan_to_null=True) for name, v in self._values.items()]
        return pl.DataFrame([ids, lengths, *values])
