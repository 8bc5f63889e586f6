"""Scores as part of a polars query: computed in batches when it is collected or sunk."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from polars.io.plugins import register_io_source

from pfgen_rs.benchmark import Benchmark, resolve
from pfgen_rs.errors import InputError
from pfgen_rs.io.chunk import Chunk, Options
from pfgen_rs.io.cleaning import Clean, Mode, Think, cleaning_mode
from pfgen_rs.io.converted import resolved, schema_record
from pfgen_rs.io.layouts import PLAIN, ReadAs
from pfgen_rs.io.reading import Keep, Reading, kept_columns, read_ahead
from pfgen_rs.io.run_files import expand_runs
from pfgen_rs.io.source import Source, opened_sources, storage_for
from pfgen_rs.io.tables import check_columns
from pfgen_rs.lazy import pl
from pfgen_rs.runs import outputs
from pfgen_rs.runs.responses import with_texts
from pfgen_rs.runs.score_store import stored_columns
from pfgen_rs.runs.streaming import Known
from pfgen_rs.scoring import batch
from pfgen_rs.scoring.inputs import Responses, as_paths, prepared, table

if TYPE_CHECKING:
    from pfgen_rs.metrics.settings import Chosen

_LOG = logging.getLogger(__name__)
_TEXTS = {"file": pl.String(), "line": pl.Int64(), "question": pl.String(), "answer": pl.String()}


def scan(
    source: Any,
    benchmark: Benchmark | str | os.PathLike[str] | None = None,
    *,
    settings: Chosen = None,
    question_field: str | None = None,
    answer_field: str | None = None,
    layout: str | None = None,
    requests: str | os.PathLike[str] | None = None,
    think: Think | None = None,
    skip_bad_lines: bool = False,
    strict: bool = False,
    replace_invalid: bool = False,
    clean: Clean = False,
    keep: Keep = "all",
    threads: int | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> pl.LazyFrame:
    """Returns responses with their scores as a lazy table.

    `source`: a file as `score_file` takes it, a folder of runs, a glob, or a list of them; the table has the
    columns `file`, `line`, `question_id`, `question`, `answer`, `length`, the metrics, each source's share,
    other columns of the files, and `signature`. Or a LazyFrame, a DataFrame, or another table as
    `score_batch` takes it: it keeps its columns, and `question_id`, `length`, the metrics, shares and
    `signature` are appended (`InputError` where it has one of that name).

    `keep`: which other columns of files are there: `"all"` that have a name, `"none"`, or these names. Those
    of tables keep their types, also nested ones, but categories and columns of nulls become text; values of
    JSON are text (nested ones as JSON), `"all"` being the keys in the first 256 KiB of each file. A name that
    the table already has gets the prefix `input_`. A query reads only those that it uses.

    Files may be URLs, also globs, read with `storage_options` as by `score_file`.

    Names and types of the columns of files are read now; nothing else is before the query runs, and nothing
    is scored. Memory stays bounded where it streams, as with `sink_parquet` or
    `collect(engine="streaming")`. Filters on file, line, texts and other columns are applied before scoring,
    and nothing is scored for a query that uses no scores. `signature` is the benchmark's: whether all
    questions have answers is not known before the end.

    `clean`: answers are cleaned before they are scored, and the signature says so, as for `score_file`; the
    column of a file has the cleaned ones, that of a table stays.

    Columns that cannot be read, or kept together, raise `InputError` now (`keep="none"` reads none), and what
    else cannot be used when the query runs; with `skip_bad_lines` it is left out.
    `strict`, `replace_invalid`: as for `score_file`.

    >>> import pfgen_rs
    >>> rows = scan(pfgen_rs.sample_runs()["faithful"], "mini")
    >>> rows.sort("average").select("question_id", "average").head(1).collect().row(0)
    ('Q09', 0.41548)
    """
    scorer = _ScanScorer(resolve(benchmark, settings), threads)
    tokens = scorer.benchmark.settings.unit == "token"
    options = Options(
        question_field,
        answer_field,
        skip_bad_lines,
        layout=layout,
        requests=None if requests is None else os.fspath(requests),
        think=think,
        tokens=tokens,
        clean=clean,
        strict=strict,
        replace_invalid=replace_invalid,
    )
    patterns = as_paths(source)
    if patterns is None:
        return _frame_for_scanning(table(source).lazy(), scorer, options)
    storage = storage_for(patterns, storage_options)
    files = opened_sources(expand_runs(patterns, storage), storage)
    scanned = _ScannedFiles(files, scorer, options, keep)
    return register_io_source(scanned.batches, schema=scanned.schema)


class _ScannedFiles:
    """Files as a table, of which a query reads what it uses."""

    def __init__(
        self, files: list[Source], scorer: _ScanScorer, options: Options, keep: Keep
    ) -> None:
        self._files, self._scorer, self._options = files, scorer, options
        kinds = {**_TEXTS, "answer": options.answer_type, **scorer.schema}
        self._kept = kept_columns(files, options, keep, kinds)
        kept = {each.name: each.kind for each in self._kept}
        order = ["file", "line", "question_id", "question", "answer"]
        *names, last = dict.fromkeys([*order, *kinds])
        self.schema = {name: (kinds | kept)[name] for name in (*names, *kept, last)}

    def batches(
        self, columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, _: int | None
    ) -> Iterator[pl.DataFrame]:
        """Yield these columns of the rows that a predicate selects among the first `rows`, chunk by chunk."""
        wanted = list(self.schema) if columns is None else columns
        query = _ScanQuery(wanted, predicate, self._scorer)
        used = tuple(each for each in self._kept if each.name in query.used)
        with read_ahead(self._files, replace(self._options, keep=used)) as readings:
            for reading in readings:
                for chunk, frame in self._texts(reading):
                    frame = frame if rows is None else frame.head(rows)
                    yield query.answer(frame, reading.clean, chunk.read_as)
                    if rows is not None and not (rows := rows - frame.height):
                        return

    def _texts(self, reading: Reading) -> Iterator[tuple[Chunk, pl.DataFrame]]:
        path = reading.source.path
        known = Known(self._scorer.benchmark, path, self._options.skip_bad_lines)
        for chunk in reading:
            if chunk.cut_short is not None:
                _LOG.warning("%s", chunk.cut_short)
            found = known.of(chunk)[0]
            lines = pl.DataFrame([pl.Series("line", found.lines)])
            frame = with_texts(lines, found.questions, found.answers, found.kept)
            yield chunk, outputs.with_place(frame, path, "").drop("signature")


class _ScanScorer:
    """Appends score columns to tables with questions and answers."""

    def __init__(self, benchmark: Benchmark, threads: int | None) -> None:
        self.benchmark, self._threads = benchmark, threads
        metrics = dict.fromkeys(stored_columns(benchmark.sources)[3:], pl.Float64())
        self.schema: dict[str, pl.DataType] = {
            "question_id": pl.String(),
            "length": pl.Int64(),
            **metrics,
            "signature": pl.String(),
        }

    def append(
        self,
        frame: pl.DataFrame,
        fields: tuple[str, str],
        read_as: ReadAs,
        clean: Mode | None,
        raw: Options | None = None,
    ) -> pl.DataFrame:
        """The table with score columns behind its own, scored a bounded number of rows at a time.

        `clean`: the mode as which answers were cleaned, or are now if they are still `raw`.
        """
        rows = Options().rows
        pieces = [
            self._scores(frame[at : at + rows], fields, read_as, raw)
            for at in range(0, max(len(frame), 1), rows)
        ]
        name = self.benchmark._signed(clean=clean)
        scores = pl.concat(pieces).with_columns(signature=pl.lit(name, dtype=pl.String))
        return frame.hstack(scores.select(list(self.schema)))

    def _scores(
        self, frame: pl.DataFrame, fields: tuple[str, str], read_as: ReadAs, raw: Options | None
    ) -> pl.DataFrame:
        columns = [frame.get_column(field) for field in fields]
        # Categories become text; lists of token ids stay.
        question, answer = (c if c.dtype.is_nested() else c.cast(pl.String) for c in columns)
        found = Responses(question, answer, read_as)
        if raw is not None:
            found = prepared(found, raw)
        return batch.score_responses(self.benchmark, found, threads=self._threads)


class _ScanQuery:
    """What is asked of a table of texts: which columns, of which rows."""

    def __init__(self, columns: list[str], predicate: pl.Expr | None, scorer: _ScanScorer) -> None:
        self._columns, self._predicate, self._scorer = columns, predicate, scorer
        roots = set() if predicate is None else set(predicate.meta.root_names())
        self._filter_first = roots.isdisjoint(scorer.schema)
        self.used = roots | set(columns)
        scored = set(columns) if self._filter_first else self.used
        self._scored = not scored.isdisjoint(scorer.schema)

    def answer(self, frame: pl.DataFrame, clean: Mode | None, read_as: ReadAs) -> pl.DataFrame:
        """The answer for these rows, whose answers were cleaned as in this mode, if they were."""
        if self._predicate is not None and self._filter_first:
            frame = frame.filter(self._predicate)
        if self._scored:
            frame = self._scorer.append(frame, ("question", "answer"), read_as, clean)
        if self._predicate is not None and not self._filter_first:
            frame = frame.filter(self._predicate)
        return frame.select(self._columns)


def _frame_for_scanning(frame: pl.LazyFrame, scorer: _ScanScorer, options: Options) -> pl.LazyFrame:
    schema = frame.collect_schema()
    options = resolved(options, schema_record(schema))
    check_columns(schema, options)
    taken = [name for name in scorer.schema if name in schema]
    if taken:
        raise InputError(f"the table has columns of its own called {', '.join(taken)}: rename them")
    known = [name for question in scorer.benchmark for name in (question.text, question.id)]
    mode = cleaning_mode(options.clean)

    def scored(batch: pl.DataFrame) -> pl.DataFrame:
        if options.skip_bad_lines:
            question, answer = (pl.col(key) for key in options.fields)
            usable = question.cast(pl.String).is_in(known) & answer.is_not_null()
            batch = batch.filter(usable)
        return scorer.append(batch, options.fields, options.read_as or PLAIN, mode, options)

    return frame.map_batches(scored, schema={**schema, **scorer.schema}, streamable=True)
