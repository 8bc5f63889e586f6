"""Figures of runs from parts of their rows, on any machine and in any order: merged, and sent as bytes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs.errors import InputError
from pfgen_rs.io.cleaning import MODES, Clean, cleaning_mode
from pfgen_rs.metrics.names import share_names
from pfgen_rs.metrics.signature import signature
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.runs.aggregate import summarise
from pfgen_rs.runs.exact_sums import Cell, exact_cells, limits, summarise_exactly, summed_columns
from pfgen_rs.runs.figures import Evaluation, RunFigures
from pfgen_rs.runs.partial_bytes import (
    Rows,
    damaged,
    opened,
    read_cells,
    read_left_out,
    read_rows,
    sealed,
)
from pfgen_rs.runs.score_store import ResponseScores, Store, chunk_matrix
from pfgen_rs.scoring.batch import ScoreArrays
from pfgen_rs.scoring.columns import Table, table

__all__ = ["Partial"]

_PLACE = ("line", "start", "length")
_REASON = "pfgen_rs reason"  # no column of the user's


class Partial:
    """What is known of runs from the rows seen so far.

    `by`: the column that names the run of each row; without it all rows are one run. `order`: a column of
    integers, different for each row of a run, by which its answers are ordered; figures are then those of
    `Benchmark.evaluate` for the rows in this order, to the last digit. Memory and bytes are about 100 bytes
    a row with, and without `order` about 100 kB (15 kB as bytes) a run, however many rows it has: sums are
    exact then, the same in every order, and figures as `RunFigures` says. `clean`: as the rows were scored.

    Results depend neither on how rows are split nor on the order of merging, and neither do bytes.
    """

    def __init__(
        self,
        benchmark: QuestionSet,
        *,
        by: str | None = None,
        order: str | None = None,
        clean: Clean = False,
    ) -> None:
        self.benchmark, self.by, self.order = benchmark, by, order
        self.clean = cleaning_mode(clean)
        if _REASON in (by, order):
            raise InputError(f"a column called {_REASON!r} is made here: name the column otherwise")
        self.left_out: dict[str | None, Counter[str]] = {}
        self._columns = summed_columns(benchmark.sources)
        self._cells: dict[str | None, dict[int, Cell]] = {}
        self._rows: dict[str | None, list[Rows]] = {}

    @property
    def about(self) -> dict[str, Any]:
        """What partial results must have in common to be merged."""
        return {
            "set": self.benchmark.metadata_hash,
            "signature": self._signature,
            "by": self.by,
            "order": self.order,
            "clean": self.clean,
        }

    @property
    def height(self) -> int:
        """Number of rows with scores."""
        cells = (cell.answers for cells in self._cells.values() for cell in cells.values())
        return sum(cells) + sum(len(part.places) for rows in self._rows.values() for part in rows)

    def update(self, data: Table) -> None:
        """Add rows with scores, as `scan`, `score_batch` or `integrations.arrow.scorer` make them.

        `data`: a table in any form that `score_batch` takes, with the columns `question_id`, `length`, the
        metrics, shares and `signature`, and those called `by` and `order`. Rows with a `problem`, or without
        scores, run or place, are counted in `left_out`.

        Raises `InputError`, and adds nothing, for rows scored with another benchmark, other settings or
        another version, and for scores that are missing or no numbers. Linear in the number of rows.
        """
        frame = self._asked(table(_without_texts(data, [*self._needed, "problem"])))
        left_out = frame.filter(pl.col(_REASON).is_not_null())
        frame = frame.filter(pl.col(_REASON).is_null())
        if frame.height:
            self._add(frame)
        counts = left_out.group_by(self._run.alias("run"), _REASON).len()
        for run, reason, count in counts.iter_rows():
            self.left_out.setdefault(run, Counter())[reason] += count

    def merge(self, other: Partial) -> None:
        """Add the rows of another partial result, which stays as it is.

        Raises `InputError` if it is of another benchmark, or of other settings, columns or versions.
        """
        _check_same_about(self.about, other.about)
        for run, counts in other.left_out.items():
            self.left_out.setdefault(run, Counter()).update(counts)
        for run, cells in other._cells.items():
            self._add_cells(run, cells)
        for run, rows in other._rows.items():
            self._rows.setdefault(run, []).extend(rows)

    def results(self) -> Evaluation:
        """Returns the figures of all runs with answers, and what was left out.

        Raises `InputError` if two rows of a run have the same place in `order`.
        """
        runs = dict(self._exact_results()) if self.order is None else dict(self._ordered_results())
        return Evaluation(runs, self.left_out)

    def to_bytes(self) -> bytes:
        """Returns the partial result as bytes, the same for the same rows, with a checksum."""
        together = {run: _in_order_of_places(rows) for run, rows in self._rows.items()}
        return sealed(self.about, self.left_out, self._cells, together)

    @classmethod
    def from_bytes(cls, data: bytes, benchmark: QuestionSet) -> Partial:
        """Returns what `to_bytes` made.

        Raises `InputError` for bytes that are damaged, of another format, benchmark, version or settings.
        """
        header, content = opened(data)
        about = header["about"]
        by, order, clean = (about.get(name) for name in ("by", "order", "clean"))
        if not all(value is None or type(value) is str for value in (by, order, clean)):
            raise damaged("it does not say of what it is")
        if clean is not None and clean not in MODES:
            raise damaged(f"unknown mode {clean!r}")
        made = cls(benchmark, by=by, order=order, clean=clean or False)
        _check_same_about(made.about, about)
        if made.about != about:
            raise damaged("it does not say of what it is")
        made._read(header, content)
        return made

    @cached_property
    def _needed(self) -> list[str]:
        """The columns that rows must have."""
        places = [name for name in (self.by, self.order) if name is not None]
        return list(dict.fromkeys([*places, "question_id", "signature", *self._columns]))

    @cached_property
    def _lacking(self) -> dict[str, NDArray[np.bool_]]:
        """Of each share: which questions have no such source, by their numbers."""
        own = [set(share_names(question.sources)) for question in self.benchmark.in_order]
        shares = share_names(self.benchmark.sources)
        return {name: np.array([name not in names for names in own]) for name in shares}

    @property
    def _signature(self) -> str:
        return signature(self.benchmark.metadata_hash, self.benchmark.settings, clean=self.clean)

    @property
    def _run(self) -> pl.Expr:
        return pl.lit(None, pl.String) if self.by is None else pl.col(self.by).cast(pl.String)

    def _asked(self, data: pl.DataFrame | pl.LazyFrame) -> pl.DataFrame:
        """Returns the columns in use, and why a row cannot be, if it cannot."""
        schema = data.collect_schema()
        missing = [name for name in self._needed if name not in schema]
        if missing:
            raise InputError(f"missing column {missing[0]!r}: found {', '.join(schema.names())}")
        self._check_types(data, schema)
        reasons = [pl.col("problem").cast(pl.String)] if "problem" in schema else []
        places = [name for name in (self.by, self.order) if name is not None]
        checked = [("question_id", "no scores"), *((name, f"{name!r} is null") for name in places)]
        reasons += [pl.when(pl.col(name).is_null()).then(pl.lit(text)) for name, text in checked]
        return data.lazy().select(*self._needed, pl.coalesce(reasons).alias(_REASON)).collect()

    def _check_types(self, data: pl.DataFrame | pl.LazyFrame, schema: pl.Schema) -> None:
        """Raise `InputError` for places that are no integers, and values that have no text."""
        if self.order is not None and not (
            schema[self.order].is_integer() or not len(data.lazy().head(1).collect())
        ):
            raise InputError(f"column {self.order!r} must have integers, not {schema[self.order]}")
        for name in (self.by, "question_id", "signature", "problem"):
            if name is not None and name in schema and not _has_texts(schema[name]):
                raise InputError(f"column {name!r} must have texts, not {schema[name]}")

    def _add(self, frame: pl.DataFrame) -> None:
        """Add rows that all have scores."""
        _check_signatures(frame.get_column("signature"), self._signature)
        numbers = self._numbers(frame.get_column("question_id").cast(pl.String))
        columns = {name: _as_floats(frame.get_column(name)) for name in self._columns}
        self._check_values(numbers, columns)
        runs = frame.select(self._run.alias("run")).to_series()
        names = runs.unique(maintain_order=True)
        codes = (
            runs.cast(pl.Enum(names)).to_physical().to_numpy()
            if self.by
            else np.zeros(len(runs), int)
        )
        if self.order is None:
            self._add_sums(names.to_list(), codes, numbers, columns)
            return
        places = _as_places(frame.get_column(self.order))
        rows = Rows(places, numbers, np.stack(list(columns.values()), axis=1))
        for code, name in enumerate(names.to_list()):
            self._rows.setdefault(name, []).append(
                rows.taken(codes == code) if len(names) > 1 else rows
            )

    def _add_sums(
        self, names: list[Any], codes: Any, numbers: NDArray[np.uint32], columns: dict[str, Any]
    ) -> None:
        count = len(self.benchmark)
        pairs = codes.astype(np.int64) * count + numbers
        present = np.flatnonzero(np.bincount(pairs))
        dense = np.zeros(len(names) * count, np.uint32)
        dense[present] = np.arange(len(present))
        cells = exact_cells(dense[pairs], len(present), columns)
        for pair, cell in zip(present.tolist(), cells, strict=True):
            self._add_cells(names[pair // count], {pair % count: cell})

    def _add_cells(self, run: str | None, cells: dict[int, Cell]) -> None:
        own = self._cells.setdefault(run, {})
        for number, cell in cells.items():
            own[number] = own[number].plus(cell) if number in own else cell

    def _numbers(self, ids: pl.Series) -> NDArray[np.uint32]:
        known = {id_: number for number, id_ in enumerate(self.benchmark.ids)}
        numbers = ids.replace_strict(known, default=None, return_dtype=pl.UInt32)
        if numbers.null_count():
            other = ids.filter(numbers.is_null())[0]
            raise InputError(f"question_id {other!r} is none of the benchmark's")
        return numbers.to_numpy()

    def _check_values(self, numbers: NDArray[np.uint32], columns: dict[str, Any]) -> None:
        """Raise `InputError` where a score that the row's question has is missing, or no possible number."""
        for name, values in columns.items():
            wrong = _impossible(name, values)
            if name in self._lacking:
                wrong &= ~(np.isnan(values) & self._lacking[name][numbers])
            if wrong.any():
                row = np.flatnonzero(wrong)[0]
                raise _wrong_value(self.benchmark.ids[int(numbers[row])], name, float(values[row]))

    def _read(self, header: dict[str, Any], content: memoryview) -> None:
        named, questions = self.by is not None, len(self.benchmark)
        if header["cells" if self.order is not None else "rows"]:
            raise damaged("it has sums and rows")
        self.left_out = read_left_out(header["left_out"], named)
        self._cells = read_cells(header["cells"], named, questions, self._columns)
        rows = read_rows(header["rows"], named, questions, len(self._columns), content)
        for run, of_run in rows.items():
            try:
                self._check_values(
                    of_run.numbers, dict(zip(self._columns, of_run.scores.T, strict=True))
                )
            except InputError as error:
                raise damaged(str(error)) from None
            self._rows[run] = [of_run]

    def _exact_results(self) -> Iterator[tuple[str | None, RunFigures]]:
        for run, cells in self._cells.items():
            summaries, ties = summarise_exactly(self.benchmark, cells)
            yield run, self._figures(run, summaries, ties)

    def _ordered_results(self) -> Iterator[tuple[str | None, RunFigures]]:
        for run, parts in self._rows.items():
            rows = _in_order_of_places(parts)
            again = np.flatnonzero(rows.places[1:] == rows.places[:-1])
            if len(again):
                which = "" if run is None else f" in run {run!r}"
                place = rows.places[again[0]]
                raise InputError(f"{self.order!r} is {place} in more than one row{which}")
            summaries = summarise(self.benchmark, self._stored(rows))
            yield run, self._figures(run, summaries, [])

    def _stored(self, rows: Rows) -> ResponseScores:
        """Returns the rows as the store of a run, which `summarise` takes."""
        count, length = len(rows.places), self._columns.index("length")
        others = [name for name in self._columns if name != "length"]
        scores = ScoreArrays(
            rows.scores[:, length].astype(np.uint32),
            [np.ascontiguousarray(rows.scores[:, self._columns.index(name)]) for name in others],
        )
        lines = np.arange(1, count + 1)
        store = Store([*_PLACE, *others], in_memory=count)
        stored = ResponseScores(store)
        part = chunk_matrix(self.benchmark.ids, rows.numbers, lines, None, scores)
        stored.parts.append(store.add(str, *part))
        return stored

    def _figures(self, run: str | None, summaries: Any, ties: list[str]) -> RunFigures:
        return RunFigures(
            self.benchmark,
            summaries,
            run,
            self.order is not None,
            self.clean,
            ties,
            self.left_out.get(run, Counter()),
            None if self.by is None else {self.by: run},
        )


def _without_texts(data: Any, used: list[str]) -> Any:
    """Returns pyarrow's data with only the columns in use: polars would copy texts."""
    if type(data).__module__.partition(".")[0] != "pyarrow":
        return data
    return data.select([name for name in data.schema.names if name in used])


def _has_texts(dtype: pl.DataType) -> bool:
    """Whether values of this type have one text each."""
    return not (dtype.is_nested() or dtype in (pl.Binary, pl.Object))


def _check_signatures(column: pl.Series, expected: str) -> None:
    found = column.cast(pl.String)
    other = found.filter(found.ne_missing(pl.Series([expected])))
    if len(other):
        raise InputError(f"rows were scored as {other[0]}, not as {expected}")


def _check_same_about(expected: dict[str, Any], found: dict[str, Any]) -> None:
    for name, value in expected.items():
        if found.get(name) != value:
            raise InputError(
                f"partial results of different kinds cannot be merged: {name} is {found.get(name)!r}, "
                f"not {value!r}"
            )


def _impossible(name: str, values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Returns which values the column of scores cannot have."""
    least, most = limits(name)
    wrong = ~((values >= least) & (values <= most))
    return wrong | (values != np.floor(values)) if name == "length" else wrong


def _wrong_value(id_: str, name: str, value: float) -> InputError:
    if not math.isfinite(value):
        return InputError(f"a row of {id_} has no number in {name!r}, but other scores")
    least, most = limits(name)
    kind = "an integer" if name == "length" else "a number"
    return InputError(
        f"a row of {id_} has {value:.15g} in {name!r}: expected {kind} from {least:.10g} to {most:.10g}"
    )


def _as_floats(column: pl.Series) -> NDArray[np.float64]:
    if not column.dtype.is_numeric() and column.dtype != pl.Null:
        raise InputError(f"column {column.name!r} must have numbers, not {column.dtype}")
    return column.cast(pl.Float64).to_numpy()


def _as_places(column: pl.Series) -> NDArray[np.int64]:
    try:
        return column.cast(pl.Int64).to_numpy()
    except pl.exceptions.InvalidOperationError:
        raise InputError(f"column {column.name!r} has integers of more than 63 bits") from None


def _in_order_of_places(parts: list[Rows]) -> Rows:
    whole = Rows(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
    return whole.taken(np.argsort(whole.places, kind="stable"))
