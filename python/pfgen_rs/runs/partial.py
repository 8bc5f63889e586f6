"""Figures of runs from parts of their rows, on any machine and in any order: merged, and sent as bytes."""

from __future__ import annotations

import hashlib
import json
import struct
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs.errors import InputError
from pfgen_rs.io.cleaning import Clean, cleaning_mode
from pfgen_rs.metrics.names import share_names
from pfgen_rs.metrics.signature import signature
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.runs.aggregate import summarise
from pfgen_rs.runs.exact_sums import Cell, exact_cells, summarise_exactly, summed_columns
from pfgen_rs.runs.figures import Evaluation, RunFigures
from pfgen_rs.runs.score_store import ResponseScores, Store, chunk_matrix
from pfgen_rs.scoring.batch import ScoreArrays
from pfgen_rs.scoring.columns import Table, table

__all__ = ["Partial"]

_FORMAT = b"pfgen-rs partial result 1\n"
_DIGEST = 16  # bytes
_SIZE = struct.Struct("<Q")
_PLACE = ("line", "start", "length")
_REASON = "pfgen_rs reason"  # no column of the user's


class _Rows(NamedTuple):
    """Scored answers of a run: places in its order, numbers of questions, and scores as columns."""

    places: NDArray[np.int64]
    numbers: NDArray[np.uint32]
    scores: NDArray[np.float64]

    def taken(self, rows: Any) -> _Rows:
        return _Rows(self.places[rows], self.numbers[rows], self.scores[rows])


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
        self.left_out: dict[str | None, Counter[str]] = {}
        self._columns = summed_columns(benchmark.sources)
        self._cells: dict[str | None, dict[int, Cell]] = {}
        self._rows: dict[str | None, list[_Rows]] = {}

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
        together = {run: _in_order_of_places(rows) for run, rows in _sorted_by_run(self._rows)}
        header = {
            "about": self.about,
            "left_out": [[run, sorted(c.items())] for run, c in _sorted_by_run(self.left_out)],
            "cells": [
                [run, [[n, c.answers, *map(_as_text, c.sums)] for n, c in sorted(cells.items())]]
                for run, cells in _sorted_by_run(self._cells)
            ],
            "rows": [[run, len(rows.places)] for run, rows in together.items()],
        }
        text = json.dumps(header, ensure_ascii=False).encode()
        arrays = [array.tobytes() for rows in together.values() for array in rows]
        content = b"".join([_SIZE.pack(len(text)), text, *arrays])
        return _FORMAT + _digest_of_partial(content) + content

    @classmethod
    def from_bytes(cls, data: bytes, benchmark: QuestionSet) -> Partial:
        """Returns what `to_bytes` made.

        Raises `InputError` for bytes that are damaged, of another format, benchmark, version or settings.
        """
        content = memoryview(data)[len(_FORMAT) + _DIGEST :]
        if not data.startswith(_FORMAT):
            raise InputError("no partial result of this version of pfgen_rs")
        if data[len(_FORMAT) : len(_FORMAT) + _DIGEST] != _digest_of_partial(content):
            raise InputError("a partial result is damaged: its checksum differs")
        [size] = _SIZE.unpack_from(content)
        header = json.loads(bytes(content[_SIZE.size : _SIZE.size + size]))
        about = header["about"]
        made = cls(benchmark, by=about["by"], order=about["order"], clean=about["clean"] or False)
        _check_same_about(made.about, about)
        made.left_out = {run: Counter(dict(counts)) for run, counts in header["left_out"]}
        for run, cells in header["cells"]:
            made._cells[run] = {
                n: Cell(count, [*map(_as_number, sums)]) for n, count, *sums in cells
            }
        made._read_rows(header["rows"], content[_SIZE.size + size :])
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
        if self.order is not None and not (
            schema[self.order].is_integer() or not len(data.lazy().head(1).collect())
        ):
            raise InputError(f"column {self.order!r} must have integers, not {schema[self.order]}")
        reasons = [pl.col("problem")] if "problem" in schema else []
        places = [name for name in (self.by, self.order) if name is not None]
        checked = [("question_id", "no scores"), *((name, f"{name!r} is null") for name in places)]
        reasons += [pl.when(pl.col(name).is_null()).then(pl.lit(text)) for name, text in checked]
        return data.lazy().select(*self._needed, pl.coalesce(reasons).alias(_REASON)).collect()

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
        rows = _Rows(places, numbers, np.stack(list(columns.values()), axis=1))
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
        """Raise `InputError` where a score that the row's question has is missing, or no finite number."""
        for name, values in columns.items():
            wrong = ~np.isfinite(values)
            if name in self._lacking:
                wrong &= ~(np.isnan(values) & self._lacking[name][numbers])
            if wrong.any():
                id_ = self.benchmark.ids[int(numbers[wrong][0])]
                raise InputError(f"a row of {id_} has no number in {name!r}, but other scores")

    def _read_rows(self, counts: list[list[Any]], content: memoryview) -> None:
        at, width = 0, len(self._columns)
        for run, count in counts:
            places = np.frombuffer(content, np.int64, count, at)
            numbers = np.frombuffer(content, np.uint32, count, at + places.nbytes)
            at += places.nbytes + numbers.nbytes
            scores = np.frombuffer(content, np.float64, count * width, at)
            at += scores.nbytes
            self._rows[run] = [_Rows(places, numbers, scores.reshape(count, width))]

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

    def _stored(self, rows: _Rows) -> ResponseScores:
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


def _as_floats(column: pl.Series) -> NDArray[np.float64]:
    if not column.dtype.is_numeric() and column.dtype != pl.Null:
        raise InputError(f"column {column.name!r} must have numbers, not {column.dtype}")
    return column.cast(pl.Float64).to_numpy()


def _as_places(column: pl.Series) -> NDArray[np.int64]:
    try:
        return column.cast(pl.Int64).to_numpy()
    except pl.exceptions.InvalidOperationError:
        raise InputError(f"column {column.name!r} has integers of more than 63 bits") from None


def _in_order_of_places(parts: list[_Rows]) -> _Rows:
    whole = _Rows(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
    return whole.taken(np.argsort(whole.places, kind="stable"))


def _sorted_by_run(runs: dict[str | None, Any]) -> list[tuple[str | None, Any]]:
    return sorted(runs.items(), key=lambda item: (item[0] is not None, item[0] or ""))


def _as_text(number: int) -> str:
    """Returns an integer in hexadecimal, without the zeros at its end, which are counted."""
    zeros = max((number & -number).bit_length() - 1, 0)
    return f"{number >> zeros:x}.{zeros}"


def _as_number(text: str) -> int:
    digits, _, zeros = text.partition(".")
    return int(digits, 16) << int(zeros)


def _digest_of_partial(content: bytes | memoryview) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST).digest()
