"""Reads Parquet and Arrow IPC with polars, in slices of bounded size."""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from pfgen_rs import _native
from pfgen_rs.errors import InputError
from pfgen_rs.io.chunk import RUN_ADVICE, Chunk, Kept, Options
from pfgen_rs.io.layouts import PLAIN
from pfgen_rs.io.lines import TOKENS, missing
from pfgen_rs.io.source import Source
from pfgen_rs.lazy import np, pl

_CHUNKS_AT_ONCE = 4  # every slice decodes its page or batch again


def _scanned(source: Source, path: str) -> pl.LazyFrame:
    scan = pl.scan_parquet if source.suffix == ".parquet" else pl.scan_ipc
    return scan(path, glob=False, hive_partitioning=False)


def table_errors() -> tuple[type[BaseException], ...]:
    """Returns what reading a table raises, a damaged one above all.

    polars panics on some damaged files, and its PanicException is not an Exception. It also prints.
    """
    return pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError


class _Panics:
    """Keeps what polars prints when it panics off standard error, since an error says it.

    What else is printed while a table is read appears when that ends.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._readers = 0
        self._panicked = False
        self._shown: int | None = None

    def collected(self, query: pl.LazyFrame, **how: Any) -> pl.DataFrame:
        """Collect a query."""
        self._begin()
        try:
            frame: pl.DataFrame = query.collect(**how)
            return frame
        except pl.exceptions.PanicException:
            self._panicked = True
            raise
        finally:
            self._end()

    def _begin(self) -> None:
        with self._lock:
            self._readers += 1
            if self._readers == 1:
                self._panicked = False
                self._text = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `_end`
                self._shown = None
                with suppress(OSError):  # closed
                    self._shown = os.dup(2)
                    os.dup2(self._text.fileno(), 2)

    def _end(self) -> None:
        with self._lock:
            self._readers -= 1
            if self._readers:
                return
            with self._text as text:
                if self._shown is None:
                    return
                os.dup2(self._shown, 2)
                os.close(self._shown)
                text.seek(0)
                if not self._panicked and (rest := text.read()):
                    os.write(2, rest)


_collected = _Panics().collected


def table_chunks(source: Source, options: Options) -> Iterator[Chunk]:
    """Read the responses of a file in order; bad rows are errors, or become problems if skipped."""
    path = source.file()
    size = source.size or 0
    with _readable_table(source):
        scan, height = _opened_table(source, path, options)
        first = 1
        for frame in _table_slices(scan, height, options.rows, source.check):
            first += frame.height
            read = size * (first - 1) // height
            yield _table_chunk(source.path, frame, first - frame.height, options, read)


def _opened_table(source: Source, path: str, options: Options) -> tuple[pl.LazyFrame, int]:
    """Returns the columns as text (answers may be lists of numbers), and the number of rows."""
    scan = _scanned(source, path)
    schema = scan.collect_schema()
    check_columns(schema, options)
    question, answer = (pl.col(key) for key in options.fields)
    columns = [
        question.cast(pl.String).alias("question"),
        # Numbers that are too large become null, which is rejected like any other bad id.
        answer.cast(pl.List(pl.Int64) if options.tokens else pl.String, strict=False).alias(
            "answer"
        ),
    ]
    for i, key in enumerate(options.more_fields):
        if key in schema and schema[key] != pl.Null:
            if not schema[key].is_temporal():  # times are converted to text
                check_text_column(schema, key)
            columns.append(pl.col(key).cast(pl.String).alias(str(i)))
        else:
            columns.append(pl.lit(None, dtype=pl.String).alias(str(i)))
    columns += [
        _kept_columns(schema, kept).alias(f"kept {i}") for i, kept in enumerate(options.keep)
    ]
    return scan.select(columns), _collected(scan.select(pl.len())).item()


def table_rows(source: Source, rows: int) -> Iterator[pl.DataFrame]:
    """Yield whole rows in order."""
    with _readable_table(source):
        scan = _scanned(source, source.file())
        height = _collected(scan.select(pl.len())).item()
        yield from _table_slices(scan, height, rows, source.check)


def first_row(source: Source) -> dict[str, Any]:
    """Returns the first row of a file; empty if it has none."""
    with _readable_table(source):
        frame = _collected(_scanned(source, source.file()).head(1))
    return frame.row(0, named=True) if frame.height else {}


def _kept_columns(schema: pl.Schema, kept: Kept) -> pl.Expr:
    if kept.key not in schema or schema[kept.key] == pl.Null:
        return pl.lit(None, dtype=kept.kind)
    kind = schema[kept.key]
    if kept.kind == pl.String and (kind.is_nested() or kind == pl.Binary):
        raise InputError(f"the column {kept.key!r} must be text or numbers, not {kind}")
    return pl.col(kept.key).cast(kept.kind)


def table_schema(source: Source) -> dict[str, pl.DataType]:
    """Returns the columns of a file and their types."""
    with _readable_table(source):
        return dict(_scanned(source, source.schema_file()).collect_schema())


def _table_slices(
    scan: pl.LazyFrame, height: int, rows: int, check: Callable[[], None]
) -> Iterator[pl.DataFrame]:
    """Yield rows in order. polars' own batches run far ahead of their consumer and fill memory."""
    step = rows * _CHUNKS_AT_ONCE
    for begin in range(0, height, step):
        frame = _collected(scan.slice(begin, step))
        check()
        for at in range(0, frame.height, rows):
            yield frame[at : at + rows]


def _table_chunk(path: str, frame: pl.DataFrame, first: int, options: Options, read: int) -> Chunk:
    rows = np.arange(first, first + frame.height, dtype=np.int64)
    needed = pl.any_horizontal(pl.col("question", "answer").is_null())
    lacking = frame.select(needed).to_series().to_numpy()
    problems = [
        InputError("question or answer is null", path=path, line=row, item="row")
        for row in rows[lacking].tolist()
    ]
    if options.tokens:
        wrong = _rows_without_tokens(frame.get_column("answer")).to_numpy() & ~lacking
        problems += [
            InputError(TOKENS, path=path, line=row, item="row") for row in rows[wrong].tolist()
        ]
        problems.sort(key=lambda problem: problem.line or 0)
        lacking |= wrong
    if problems and not options.skip_bad_lines:
        raise problems[0]

    def identity() -> str:
        digest = hashlib.sha1(usedforsecurity=False)
        for column in frame.select("question", "answer"):
            if column.dtype == pl.String:
                digest.update(column.str.len_bytes().to_numpy().tobytes())
                digest.update(column.str.join("").item().encode())
            else:
                digest.update(column.list.len().to_numpy().tobytes())
                digest.update(column.explode().to_numpy().tobytes())
        return f"{digest.hexdigest()}:{first}"

    count = len(options.more_fields)
    question, answer, *more = frame.get_columns()
    kept = pl.DataFrame(
        [more[count + i].alias(column.name) for i, column in enumerate(options.keep)]
    )
    chunk = Chunk(
        question,
        answer,
        _native.Places(rows),
        identity=identity,
        read=read,
        more=tuple(more[:count]),
        item="row",
        kept=kept,
        read_as=options.read_as or PLAIN,
    )
    if problems:
        chunk.problems.extend(problems)
        chunk = chunk.where(~lacking)
    if not options.tokens:
        return chunk
    return replace(chunk, answered=chunk.answers.cast(options.answer_type))


def _rows_without_tokens(answers: pl.Series) -> pl.Series:
    """Whether each list contains anything that is not a token id."""
    token = pl.element()
    wrong = token.is_null() | (token < 0) | (token > _native.LARGEST_TOKEN)
    return answers.list.eval(wrong).list.any().fill_null(value=False)


def check_columns(schema: pl.Schema, options: Options) -> None:
    """Raise `InputError` unless the columns of questions and answers exist and have the right types."""
    question, key = options.fields
    check_text_column(schema, question, options.advice[0])
    if options.run is not None and options.run.key not in schema:
        raise missing("column", options.run.key, schema, RUN_ADVICE)
    if not options.tokens:
        check_text_column(schema, key, options.advice[1])
        return
    kind = _column_type(schema, key, options.advice[1])
    inner = kind.inner if isinstance(kind, pl.List | pl.Array) else None
    if inner is None or not (inner.is_integer() or inner == pl.Null):
        raise InputError(f"the column {key!r} must be lists of token ids, not {kind}")


def check_text_column(schema: pl.Schema, key: str, advice: str | None = None) -> None:
    """Raise `InputError` unless there is a text column with this name.

    `advice`: what to do if it is missing.
    """
    kind = _column_type(schema, key, advice)
    if kind not in (pl.String, pl.Categorical, pl.Enum):
        choice = f"; {advice}" if advice else ""
        raise InputError(f"the column {key!r} must be text, not {kind}{choice}")


def _column_type(schema: pl.Schema, key: str, advice: str | None) -> pl.DataType:
    if key not in schema:
        raise missing("column", key, schema, advice)
    return schema[key]


def table_columns(source: Source, names: Collection[str]) -> pl.DataFrame:
    """Returns those of the columns that the file has, with all rows."""
    with _readable_table(source):
        scan = _scanned(source, source.file())
        frame = _collected(scan.select([name for name in scan.collect_schema() if name in names]))
        source.check()
    source.release()
    return frame


def table_records(source: Source, lines: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yield all columns of the rows with these numbers (from 1), which must be ascending."""
    with _readable_table(source):
        source.open().close()  # raises if the file has changed
        scan = _scanned(source, source.file())
        name = "row"
        while name in scan.collect_schema():
            name += "_"
        wanted = pl.Series([line - 1 for line in lines], dtype=pl.UInt32)
        found = scan.with_row_index(name).filter(pl.col(name).is_in(wanted.implode()))
        frame = _collected(found.sort(name).drop(name), engine="streaming")
        source.check()
    source.release()
    yield from frame.iter_rows(named=True)


@contextmanager
def _readable_table(source: Source) -> Iterator[None]:
    """Add the file's name to errors raised by polars."""
    try:
        if source.size == 0:
            raise InputError("the file is empty", path=source.path)
        yield
    except InputError:
        raise
    except table_errors() as error:
        reason = str(error).split("\n\n")[0]  # the rest is advice on polars' own options
        problem = (
            f"cannot be read as {source.suffix}: {reason}; if its format is another one, rename it"
        )
        raise InputError(problem, path=source.path) from None
