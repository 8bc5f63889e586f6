"""Converts responses in memory, in any supported form, to a column of questions and one of answers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol, TypeAlias

from pfgen_rs import _native
from pfgen_rs.errors import InputError
from pfgen_rs.io.chunk import ADVICE, RUN_ADVICE, Options
from pfgen_rs.io.cleaning import (
    Mode,
    clean_column,
    cleaning_mode,
    column_without_thoughts,
    thoughtful_rows,
)
from pfgen_rs.io.converted import has_nested, resolved, schema_record
from pfgen_rs.io.layouts import PLAIN, ReadAs, exchanges, is_plain
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

_DEFAULT = Options()
_ARROW = ("__arrow_c_stream__", "__arrow_c_array__", "__dataframe__")
_EXPECTED = (
    "expected a table (DataFrame, Arrow table, Dataset, mapping of columns), a list of dicts, or a list of "
    "questions and one of answers"
)


class Responses(NamedTuple):
    """A column of questions and one of answers; `read_as`: where they were."""

    questions: pl.Series
    answers: Any
    read_as: ReadAs


def text_columns(data: Any, answers: Any = None, options: Options = _DEFAULT) -> Responses:
    """Returns the questions as text, and the answers, cleaned and without reasoning as options say.

    `data`: a table, a list of dicts, or the questions if `answers` are passed separately. Questions and
    answers are recognised as in files. Raises `InputError` for anything else.
    """
    return prepared(_data_columns(data, answers, options), options)


def prepared(found: Responses, options: Options) -> Responses:
    """Returns responses whose answers are without reasoning, and clean, as options say."""
    if replace(options, read_as=found.read_as).strips_reasoning:
        found = _reasoned(found)
    mode = cleaning_mode(options.clean)
    return found if mode is None else found._replace(answers=_cleaned_answer(found.answers, mode))


def _reasoned(found: Responses) -> Responses:
    column = _texts(found.answers)
    if not (rows := thoughtful_rows(_native.Texts(column, 1))):
        return found
    read_as = replace(found.read_as, reasoned=found.read_as.reasoned + len(rows))
    return Responses(found.questions, column_without_thoughts(column, rows), read_as)


def _cleaned_answer(answers: Any, mode: Mode) -> pl.Series:
    return clean_column(_texts(answers), mode)


def _texts(answers: Any) -> pl.Series:
    try:
        return pl.Series("answer", answers, dtype=pl.String)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(f"invalid answers: expected text: {_error_line(error)}") from None


def _data_columns(data: Any, answers: Any, options: Options) -> Responses:
    if answers is not None:
        return Responses(_question_column(data), _column_as_text(answers), PLAIN)
    if _is_hugging_face_dataset(data):
        data, options = _columns_of_dataset(data, options)
    if not isinstance(data, pl.LazyFrame) and not _is_tabular(data):
        return _columns_of_records(data, options)
    frame = data if isinstance(data, pl.DataFrame | pl.LazyFrame) else _frame(data)
    schema = frame.collect_schema()
    first = [] if is_plain(schema) else frame.lazy().head(1).collect().to_dicts()
    options = resolved(options, schema_record(schema, *first))
    if has_nested(schema, options):
        return _columns_of_records(frame.lazy().collect().iter_rows(named=True), options)
    for key, advice in zip(options.fields, ADVICE, strict=True):
        _check_column(key, schema, advice)
    chosen = frame.lazy().select(list(dict.fromkeys(options.fields))).collect()
    questions, texts = (chosen.get_column(key) for key in options.fields)
    read_as = options.read_as or PLAIN
    return Responses(questions.alias("question"), _column_as_text(texts), read_as)


def table(data: Any) -> pl.DataFrame | pl.LazyFrame:
    """Returns a table with all columns of any `data` of `text_columns` except a pair of columns."""
    if isinstance(data, pl.DataFrame | pl.LazyFrame):
        return data
    if _is_hugging_face_dataset(data):
        data, _ = _columns_of_dataset(data, None)
    return _frame(data if _is_tabular(data) else list(data))


def rows(data: Any) -> Iterable[Mapping[str, Any]]:
    """Returns the rows of any `data` of `table` as dicts; those of a list are not converted."""
    if data is None or isinstance(data, str | bytes | os.PathLike):
        raise InputError(f"expected a table, or dicts, not {type(data).__name__}: read files first")
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


def _columns_of_dataset(data: Any, options: Options | None) -> tuple[Any, Any]:
    """Returns the columns that are read, all without options; and options that say which they are."""
    if isinstance(data, Mapping):
        splits = ", ".join(map(repr, data))
        raise InputError(f"expected one dataset, found several: choose one of {splits}: data[…]")
    if not hasattr(data, "__len__"):  # a streamed dataset yields one dict per row
        return data, options
    if options is not None:
        first = data.with_format(None)[0] if len(data) else dict.fromkeys(data.column_names, "…")
        options = resolved(options, first)
        roots = dict.fromkeys(
            name if name in first else name.split(".")[0] for name in options.fields
        )
        for root, advice in zip(roots, ADVICE, strict=False):
            _check_column(root, data.column_names, advice)
        data = data.select_columns(list(roots))
    return data.with_format("arrow")[:], options


def _columns_of_records(data: Any, options: Options) -> Responses:
    """Returns the columns of a list (or iterator) of dicts."""
    if isinstance(data, str | bytes | os.PathLike) or not isinstance(data, Iterable):
        advice = "; use score_file for files" if isinstance(data, str | os.PathLike) else ""
        raise InputError(f"{_EXPECTED}; found {type(data).__name__}{advice}")
    columns: tuple[list[Any], list[Any]] = [], []
    reasoned = 0
    for row, record in enumerate(data):
        if not isinstance(record, Mapping):
            raise InputError(f"{_EXPECTED}; found {type(record).__name__} in row {row}")
        try:
            options = resolved(options, record)
            found = _exchange(record, options)
        except InputError as error:
            raise InputError(f"row {row}: {error.problem}") from None
        for column, value in zip(columns, found, strict=False):
            column.append(value)
        reasoned += bool(found[2:] and found[2])
    questions, answers = columns
    read_as = replace(options.read_as or PLAIN, reasoned=reasoned)
    return Responses(_question_column(questions), answers, read_as)


def _exchange(record: Mapping[str, Any], options: Options) -> Sequence[Any]:
    """Returns question and answer of a record, and whether reasoning was left out."""
    read_as = options.read_as or PLAIN
    if read_as.is_plain or options.tokens:
        for key, advice in zip(options.fields, ADVICE, strict=True):
            if key not in record:
                raise missing("key", key, record, advice)
        return [record[key] for key in options.fields]
    found = list(exchanges(record, read_as, None))
    if len(found) != 1:
        raise InputError(f"has {len(found)} answers: expected one in each row")
    return found[0]


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
