"""Results of runs from scores that were computed before, by whichever engine, on whichever machines."""

from __future__ import annotations

import logging
import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pfgen_rs import _native
from pfgen_rs.benchmark import Benchmark, log_notes, resolve
from pfgen_rs.errors import InputError
from pfgen_rs.io.chunk import Options
from pfgen_rs.io.cleaning import MODES, Mode, clean_column, count_unclean
from pfgen_rs.io.lines import missing
from pfgen_rs.io.run_files import Paths, expand
from pfgen_rs.io.source import TABLE_SUFFIXES, opened_sources, storage_for
from pfgen_rs.io.tables import table_columns
from pfgen_rs.io.text import counted
from pfgen_rs.lazy import NDArray, np, pl
from pfgen_rs.metrics.settings import Chosen, score_names, share_names
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.runs.in_memory import MemoryResponses, NoTexts, result_in_memory
from pfgen_rs.runs.result import Responses, Result
from pfgen_rs.scoring.inputs import Table, as_paths, split_table, table

_LOG = logging.getLogger(__name__)
_LONGEST = 2**32 - 1
_LARGEST = 1e9  # far more than any score
_NO_TEXTS = (pl.Binary, pl.Object)


def results_from_scores(
    scores: Paths | Table,
    benchmark: Benchmark | str | os.PathLike[str] | None = None,
    *,
    settings: Chosen = None,
    run_field: str | None = None,
    order_field: str | None = None,
    question_field: str = "question",
    answer_field: str = "answer",
    storage_options: Mapping[str, Any] | None = None,
) -> list[Result]:
    """Summarise rows with scores as runs: the results that `score_runs` gives for the same answers.

    `scores`: Parquet or Arrow files (paths, globs, URLs; see `score_file`), or a table in any form that
    `score_batch` takes, with the columns that `scan`, `pfgen-rs score --per-response` or
    `integrations.arrow.scorer` make: `question_id`, `length`, metrics, shares and `signature`. Rows with a
    `problem` or without scores are left out; a warning is logged, and they are in `problems` of the first
    result.

    `run_field`: the column that names the run of each row, such as `model` or `file`; without it all rows are
    one run. `order_field`: a column of integers by which the answers of a run are ordered, for rows that an
    engine has shuffled: published sums depend on the order. Without it, rows are in the order given.

    Some 150 bytes a row must fit into memory, and the texts, if the rows have questions and answers: samples
    in `result.json`, and `Result.frame`, need them. Leave these columns out where figures are enough.

    Raises `InputError` for rows scored with another benchmark, other settings or another version, for values
    that are no scores, for a place in `order_field` that two rows of a run have, and for no scores at all.

    >>> import pfgen_rs
    >>> [result] = results_from_scores(pfgen_rs.scan(pfgen_rs.sample_runs()["faithful"], "mini"), "mini")
    >>> result.score
    0.8256
    """
    reader = _Reader(
        resolve(benchmark, settings), run_field, order_field, (question_field, answer_field)
    )
    for frame, path in reader.tables(scores, storage_options):
        try:
            reader.add(frame, path)
        except InputError as error:
            raise InputError(error.problem, path=path) from None
    results = reader.results()
    for result in results:
        log_notes(result)
    return results


class _Reader:
    """Reads tables of scored rows, checks them, and summarises their runs."""

    def __init__(
        self,
        benchmark: QuestionSet,
        run_field: str | None,
        order_field: str | None,
        texts: tuple[str, str],
    ) -> None:
        self._benchmark, self._texts = benchmark, texts
        self._run, self._order = run_field, order_field
        self._scores = ["length", *score_names(benchmark.sources)]
        self._places = [name for name in (run_field, order_field) if name is not None]
        self._frames: list[pl.DataFrame] = []
        self._problems: list[InputError] = []
        self._modes: dict[str, Mode | None] = {}
        needed = [*self._places, "question_id", "signature", *self._scores]
        self._needed = list(dict.fromkeys(needed))

    def tables(
        self, scores: Any, storage_options: Mapping[str, Any] | None
    ) -> Iterator[tuple[pl.DataFrame, str | None]]:
        """Yield the columns in use of each table, with the file that it is from."""
        used = {*self._needed, *self._texts, "problem"}
        paths = as_paths(scores)
        if paths is None:
            frame = table(scores).lazy()
            names = frame.collect_schema().names()
            yield frame.select([name for name in names if name in used]).collect(), None
            return
        storage = storage_for(paths, storage_options)
        for source in opened_sources(expand(paths, storage), storage):
            if not source.is_table:
                known = f"scores are read from {', '.join(TABLE_SUFFIXES)}"
                advice = "pass the rows of other files as a DataFrame"
                raise InputError(f"{known}: {advice}", path=source.path)
            yield table_columns(source, used), source.path

    def add(self, frame: pl.DataFrame, path: str | None) -> None:
        """Add a table. Raises `InputError` for what cannot be scores of the benchmark."""
        for name in self._needed:
            if name not in frame.columns:
                raise missing("column", name, frame.columns, None)
        texts = ("question_id", "signature", "problem", self._run, self._texts[0])
        kinds: dict[str | None, Any] = {**dict.fromkeys(texts, pl.String), self._order: pl.Int64}
        frame = frame.with_columns(
            _cast(frame, name, kinds[name]) for name in frame.columns if name in kinds
        )
        reasons = self._reasons(frame)
        rows = (reasons.is_not_null().arg_true() + 1).to_list()
        self._problems += [
            InputError(reason, path=path, line=row, item="row")
            for row, reason in zip(rows, reasons.drop_nulls(), strict=True)
        ]
        frame = frame.filter(reasons.is_null())
        self._check_signatures(frame.get_column("signature").unique().to_list())
        numbers = self._numbers(frame)
        frame = frame.with_columns(self._values(frame, name, numbers) for name in self._scores)
        self._frames.append(frame.drop("signature", "problem", strict=False))

    def _reasons(self, frame: pl.DataFrame) -> pl.Series:
        """Returns why each row cannot be part of a run, or null."""
        reasons = [pl.col("problem")] if "problem" in frame.columns else []
        checked = [("question_id", "no scores"), *((name, f"no {name!r}") for name in self._places)]
        reasons += [pl.when(pl.col(name).is_null()).then(pl.lit(why)) for name, why in checked]
        return frame.select(pl.coalesce(reasons).alias("reason")).to_series()

    def _check_signatures(self, signatures: Sequence[str | None]) -> None:
        """Raise `InputError` unless rows were scored as here; keep the modes of cleaning that they state."""
        expected = {self._benchmark._signed(clean=mode): mode for mode in (None, *MODES)}
        for whole in signatures:
            parts = (whole or "").split("|")
            # Without the number of questions that the run has answered.
            name = "|".join(part for part in parts if not part.startswith("questions:"))
            if name not in expected:
                raise InputError(f"rows were scored as {whole}, not as {next(iter(expected))}")
            self._modes[name] = expected[name]
        if len(self._modes) > 1:
            raise InputError(f"rows were scored in several ways: {' and '.join(self._modes)}")

    def _numbers(self, frame: pl.DataFrame) -> NDArray[np.uint32]:
        """Returns the numbers of the rows' questions."""
        known = {id_: number for number, id_ in enumerate(self._benchmark.ids)}
        ids = frame.get_column("question_id")
        numbers = ids.replace_strict(known, default=None, return_dtype=pl.UInt32)
        if numbers.null_count():
            other = ids.filter(numbers.is_null())[0]
            raise InputError(f"question_id {other!r} is none of the benchmark's")
        return numbers.to_numpy()

    def _values(self, frame: pl.DataFrame, name: str, numbers: NDArray[np.uint32]) -> pl.Series:
        """Returns a column of scores; those of sources that a question lacks are NaN."""
        column = frame.get_column(name)
        if not column.dtype.is_numeric() and column.dtype != pl.Null:
            raise InputError(f"the column {name!r} must have numbers, not {column.dtype}")
        series = column.cast(pl.Float64).fill_null(math.nan)
        values = series.to_numpy()
        kind, possible = "a score", np.abs(values) <= _LARGEST
        if name == "length":
            kind = f"an integer from 0 to {_LONGEST}"
            possible = (values >= 0) & (values <= _LONGEST) & (values == np.floor(values))
        elif name in share_names(self._benchmark.sources):
            lacks = [name not in share_names(q.sources) for q in self._benchmark._in_order]
            possible |= np.isnan(values) & np.array(lacks)[numbers]
        if not possible.all():
            row = int(np.flatnonzero(~possible)[0])
            id_ = self._benchmark.ids[int(numbers[row])]
            raise InputError(f"a row of {id_} has {values[row]:.15g} in {name!r}: expected {kind}")
        return series

    def results(self) -> list[Result]:
        """Returns the results of the runs, the first of which has the problems of all rows."""
        rows = pl.concat(self._frames, how="diagonal")
        first = str(self._problems[0]) if self._problems else ""
        if not rows.height:
            raise InputError(": ".join(filter(None, ["no rows with scores", first])))
        if first:
            left_out = counted(len(self._problems), "row")
            _LOG.warning("%s without scores left out, such as %s", left_out, first)
        runs = {None: rows} if self._run is None else split_table(rows, self._run)
        results = [self._result(run, of_run) for run, of_run in runs.items()]
        results[0].problems.extend(self._problems)
        return results

    def _result(self, run: str | None, rows: pl.DataFrame) -> Result:
        if self._order is not None:
            rows = rows.sort(self._order)
            places = rows.get_column(self._order)
            if (again := places.filter(places.is_duplicated())).len():
                of_run = "" if run is None else f" of run {run!r}"
                raise InputError(f"two rows{of_run} have {again[0]} in {self._order!r}")
        length, *values = (rows.get_column(name).to_numpy() for name in self._scores)
        scores = _native.Scored(length.astype(np.uint32), values)
        [mode] = self._modes.values()
        responses, unclean = self._responses(rows, mode)
        return result_in_memory(
            self._benchmark,
            _native.Codes(self._numbers(rows)),
            scores,
            responses,
            config=None if self._run is None else {self._run: run},
            clean=mode,
            run=run,
            unclean=unclean,
        )

    def _responses(self, rows: pl.DataFrame, mode: Mode | None) -> tuple[Responses, Counter[str]]:
        """Returns the texts, if all rows have them, and the number of unclean answers by reason."""
        if not all(name in rows.columns and not rows[name].null_count() for name in self._texts):
            return NoTexts(), Counter()
        questions, answers = (rows.get_column(name) for name in self._texts)
        options = Options(tokens=self._benchmark.settings.unit == "token")
        answers = answers.cast(options.answer_type)
        if options.tokens:
            return MemoryResponses(questions, answers), Counter()
        answers = answers if mode is None else clean_column(answers, mode)
        return MemoryResponses(questions, answers), count_unclean(_native.Texts(answers), None)


def _cast(frame: pl.DataFrame, name: str, kind: type[pl.String | pl.Int64]) -> pl.Series:
    column = frame.get_column(name)
    if kind == pl.String:
        what, fits = "texts", not column.dtype.is_nested() and column.dtype not in _NO_TEXTS
    else:
        what, fits = "integers", column.dtype.is_integer() or column.dtype == pl.Null
    if not fits:
        raise InputError(f"the column {name!r} must have {what}, not {column.dtype}")
    try:
        return column.cast(kind)
    except pl.exceptions.InvalidOperationError:
        raise InputError(f"the column {name!r} has integers of more than 63 bits") from None
