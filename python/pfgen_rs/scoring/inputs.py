"""Converts responses in memory, in any supported form, to a column of questions and one of answers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from pfgen_rs.errors import InputError
from pfgen_rs.io.chunk import ADVICE, RUN_ADVICE
from pfgen_rs.io.cleaning import Clean, Mode, clean_column, cleaning_mode
from pfgen_rs.io.lines import missing
from pfgen_rs.io.reading import MOST_RUNS, too_many_runs
from pfgen_rs.io.text import shortened
from pfgen_rs.lazy import NDArray, pl
from pfgen_rs.metrics.units import Answer
from pfgen_rs.questions.question import Question


class ArrowStream(Protocol):
    """A column or table with Arrow's PyCapsule interface, e.g. of pyarrow, pandas, polars or DuckDB."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class ArrowArray(Protocol):
    """A contiguous column with Arrow's PyCapsule interface."""

    def __arrow_c_array__(
        self, requested_schema: object | None = None
    ) -> tuple[object, object]: ...


class DataSet(Protocol):
    """A Hugging Face dataset."""

    @property
    def column_names(self) -> Any:
        """Their names."""

    def with_format(self, kind: str | None, /) -> Any:
        """Returns it with another type of rows."""


Table: TypeAlias = (
    "pl.DataFrame | pl.LazyFrame | Mapping[str, Any] | ArrowStream | DataSet | "
    "Iterable[Mapping[str, Any]]"
)
"""Columns by name, or dicts."""

_Arrow: TypeAlias = "pl.Series | ArrowStream | ArrowArray | NDArray[Any]"
QuestionColumn: TypeAlias = "Sequence[str | Question] | _Arrow"
"""Texts or ids."""

AnswerColumn: TypeAlias = "Sequence[Answer] | _Arrow"
"""Texts or, if the unit is `token`, lists of ids."""

FIELDS = ("question", "answer")
_ARROW = ("__arrow_c_stream__", "__arrow_c_array__", "__dataframe__")
_EXPECTED = (
    "expected a table (DataFrame, Arrow table, Dataset, mapping of columns), a list of dicts, or a list of "
    "questions and one of answers"
)


def text_columns(
    data: Any,
    answers: Any = None,
    fields: tuple[str, str] = FIELDS,
    clean: Clean = False,
) -> tuple[pl.Series, Any]:
    """Returns the questions as text, and the answers, cleaned if requested.

    `data`: a table with the columns `fields`, a list of dicts with these keys, or the questions if `answers`
    are passed separately. Raises `InputError` for anything else.
    """
    questions, texts = _data_columns(data, answers, fields)
    mode = cleaning_mode(clean)
    return questions, texts if mode is None else _cleaned_answer(texts, mode)


def _cleaned_answer(answers: Any, mode: Mode) -> pl.Series:
    try:
        return clean_column(pl.Series("answer", answers), mode)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(f"invalid answers: expected text: {_error_line(error)}") from None


def _data_columns(data: Any, answers: Any, fields: tuple[str, str]) -> tuple[pl.Series, Any]:
    if answers is not None:
        return _question_column(data), _column_as_text(answers)
    if _is_hugging_face_dataset(data):
        data = _columns_of_dataset(data, fields)
    if isinstance(data, pl.LazyFrame):
        data = _selected_columns(data, fields).collect()
    if not _is_tabular(data):
        return _columns_of_records(data, fields)
    frame = data if isinstance(data, pl.DataFrame) else _frame(data)
    for key, advice in zip(fields, ADVICE, strict=True):
        _check_column(key, frame.columns, advice)
    questions, texts = (frame.get_column(key) for key in fields)
    return questions.alias("question"), _column_as_text(texts)


def table(data: Any) -> pl.DataFrame | pl.LazyFrame:
    """Returns a table with all columns of any `data` of `text_columns` except a pair of columns."""
    if isinstance(data, pl.DataFrame | pl.LazyFrame):
        return data
    if _is_hugging_face_dataset(data):
        data = _columns_of_dataset(data)
    return _frame(data if _is_tabular(data) else list(data))


def rows(data: Any) -> Iterable[Mapping[str, Any]]:
    """Returns the rows of any `data` of `table` as dicts; those of a list are not converted."""
    if data is None or isinstance(data, str | bytes | os.PathLike):
        hint = "" if data is None else ": read the file first"
        raise InputError(f"expected a table or a list of dicts, not {type(data).__name__}{hint}")
    if not isinstance(data, list):
        return table(data).lazy().collect().iter_rows(named=True)
    for row, record in enumerate(data):
        if not isinstance(record, Mapping):
            raise InputError(f"row {row}: expected a dict, not {type(record).__name__}")
    return data


def split_table(data: Any, key: str) -> dict[str, pl.DataFrame]:
    """Split a table by the values of a column, as text, in the order of their first rows."""
    frame = table(data).lazy().collect()
    _check_column(key, frame.columns, RUN_ADVICE)
    names = frame.get_column(key).cast(pl.String)
    lacking = (names.fill_null("") == "").arg_true()
    if len(lacking):
        raise InputError(f"row {lacking[0]}: missing value of {key!r}, which names the run")
    if names.n_unique() > MOST_RUNS:
        raise InputError(too_many_runs(key))
    parts = frame.with_columns(names).partition_by(key, as_dict=True, maintain_order=True)
    return {str(name): part for (name,), part in parts.items()}


def as_paths(source: Any) -> list[str] | None:
    """Returns the paths if `source` is a path or a list of paths; else `None`."""
    if isinstance(source, str | os.PathLike):
        return [os.fspath(source)]
    if not isinstance(source, list | tuple) or not source:
        return None
    if all(isinstance(item, str | os.PathLike) for item in source):
        return [os.fspath(item) for item in source]
    return None


def _check_column(key: str, found: Iterable[str], advice: str) -> None:
    if key not in found:
        raise missing("column", key, found, advice)


def _selected_columns(frame: pl.LazyFrame, fields: Sequence[str]) -> pl.LazyFrame:
    """Select only question and answer, so that nothing else is computed."""
    found = frame.collect_schema().names()
    for key, advice in zip(fields, ADVICE, strict=True):
        _check_column(key, found, advice)
    return frame.select(list(dict.fromkeys(fields)))


def _is_tabular(data: Any) -> bool:
    return isinstance(data, pl.DataFrame | Mapping) or any(hasattr(data, name) for name in _ARROW)


def _frame(data: Any) -> pl.DataFrame:
    if isinstance(data, Mapping):
        data = {name: asked_texts(column) for name, column in data.items()}
    try:
        return pl.DataFrame(data)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(f"invalid table of responses: {_error_line(error)}") from None


def _is_hugging_face_dataset(data: Any) -> bool:
    """Whether this is a Hugging Face dataset, which has none of the common interfaces."""
    return type(data).__module__.partition(".")[0] == "datasets"


def _columns_of_dataset(data: Any, fields: Sequence[str] = ()) -> Any:
    if isinstance(data, Mapping):
        splits = ", ".join(map(repr, data))
        raise InputError(f"expected one dataset, found several: choose one of {splits}: data[…]")
    if not hasattr(data, "__len__"):  # a streamed dataset yields one dict per row
        return data
    for key, advice in zip(fields, ADVICE, strict=False):
        _check_column(key, data.column_names, advice)
    chosen = data.select_columns(list(dict.fromkeys(fields))) if fields else data
    return chosen.with_format("arrow")[:]


def _columns_of_records(data: Any, fields: Sequence[str]) -> tuple[pl.Series, Any]:
    """Returns the columns of a list (or iterator) of dicts."""
    if isinstance(data, str | bytes | os.PathLike) or not isinstance(data, Iterable):
        advice = "; use score_file for files" if isinstance(data, str | os.PathLike) else ""
        raise InputError(f"{_EXPECTED}; found {type(data).__name__}{advice}")
    columns: tuple[list[Any], list[Any]] = [], []
    for row, record in enumerate(data):
        if not isinstance(record, Mapping):
            raise InputError(f"{_EXPECTED}; found {type(record).__name__} in row {row}")
        for column, key, advice in zip(columns, fields, ADVICE, strict=True):
            if key not in record:
                problem = missing("key", key, record, advice).problem
                raise InputError(f"row {row}: {problem}")
            column.append(record[key])
    questions, answers = columns
    return _question_column(questions), answers


def _question_column(questions: Any) -> pl.Series:
    if isinstance(questions, str | Question):
        raise InputError("invalid questions: expected a list or column, not one question")
    try:
        return pl.Series("question", asked_texts(questions), dtype=pl.String)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(f"invalid questions: expected text: {_error_line(error)}") from None


def asked_texts(questions: Any) -> Any:
    """Returns a column of questions with `Question` objects replaced by their texts."""
    if isinstance(questions, list | tuple) and Question in set(map(type, questions)):
        return [each.text if isinstance(each, Question) else each for each in questions]
    return questions


def _error_line(error: Exception) -> str:
    """Returns the first line of another library's message; the rest is about that library."""
    return shortened((str(error).splitlines() or [type(error).__name__])[0], 200)


def _column_as_text(column: Any) -> Any:
    """Convert categorical and all-null columns to text; native code checks the others."""
    if isinstance(column, pl.Series) and column.dtype in (pl.Categorical, pl.Enum, pl.Null):
        return column.cast(pl.String)
    return column
