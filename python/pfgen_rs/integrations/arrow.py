"""Adds scores to Arrow record batches: one small object that workers of any engine can be sent.

Spark's `mapInArrow`, Ray Data, Dask, Daft, DuckDB, Hugging Face datasets and pyarrow itself hand over Arrow
data: docs/how-to/scale.md.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pfgen_rs import InputError, SettingsError, _native, extras
from pfgen_rs.benchmark import Benchmark, resolve
from pfgen_rs.io.cleaning import Clean, Mode, cleaned, cleaning_mode, default_stop
from pfgen_rs.lazy import NDArray, np
from pfgen_rs.metrics.settings import Settings, score_names
from pfgen_rs.metrics.signature import signature
from pfgen_rs.questions.folder import Place, loaded
from pfgen_rs.scoring import batch

extras.needed("pyarrow", "arrow")

import pyarrow as pa  # type: ignore[import-untyped]  # noqa: E402 - the error names the extra

_AVERAGE = score_names(()).index("average")


def scorer(
    benchmark: Benchmark | str | os.PathLike[str] | None = None,
    *,
    settings: Settings | None = None,
    question_field: str | None = "question",
    answer_field: str = "answer",
    question: str | None = None,
    clean: Clean = False,
    threads: int | None = 1,
) -> "ArrowScorer":
    """Returns an object that adds scores to Arrow data in this process or in others.

    `benchmark`: what `load_benchmark` takes, or a `Benchmark` that was read from a folder. Text that answers
    no question, such as that of a corpus, is scored as an answer to `question` (its id or text), or, with
    `question_field=None`, to every question: each row has the scores, and in `question_id` the question, of
    the highest `average` (of equal ones, the first). `clean`: score
    answers as pfgen-bench stores them, as for `score_file`; the column stays as it is. `threads`: of each
    call; `None` means all cores. The scores of a row that cannot be scored are null, and the column `problem`
    says why.

    Reads the questions now, and its scorers in the process in which they are first used: from the index
    cache if that has them. Raises `SettingsError` for a benchmark without a folder and an impossible number
    of threads, `UnknownQuestionError`, and the errors of `load_benchmark`.
    """
    if isinstance(benchmark, Benchmark):
        found = resolve(benchmark, settings)
    else:
        found = loaded(Benchmark, benchmark, settings)
    if found.folder is None:
        raise SettingsError(
            "the benchmark was not read from a folder, from which other processes could read it, too: write "
            "its question files and load them with load_benchmark"
        )
    found._numbers.find(_native.Texts([]), threads)  # refuses an impossible number of threads
    asked = None if question is None else found[question].id
    place = Place.of(found, found.folder)
    return ArrowScorer(place, question_field, answer_field, asked, cleaning_mode(clean), threads)


class ArrowScorer:
    """Maps Arrow data with questions and answers to the same with scores; created by `scorer`.

    A call takes a record batch, a table, or an iterable of record batches (such as a record batch reader)
    and returns the same kind; for an iterable, an iterator. All columns and rows stay, in their order.
    Appended are `question_id`, `length`, the metrics and each source's share as in `score_batch`,
    `signature`, and `problem`. Values depend neither on how rows are split into batches nor on the process.

    Its pickle has some hundred bytes. Each process loads the benchmark once, by name or folder, and raises
    `BenchmarkError` if that has other questions there.
    """

    def __init__(
        self,
        place: tuple[str, str, Settings],
        question_field: str | None,
        answer_field: str,
        question: str | None,
        clean: Mode | None,
        threads: int | None,
    ) -> None:
        self._place = Place(*place)
        self.question_field = question_field if question is None else None
        self.answer_field, self.question = answer_field, question
        self.clean, self.threads = clean, threads
        texts, numbers = pa.string(), pa.float64()
        scores = [pa.field(name, numbers) for name in score_names(self.benchmark.sources)]
        place_of_row = [pa.field("question_id", texts), pa.field("length", pa.int64())]
        notes = [pa.field("signature", texts), pa.field("problem", texts)]
        self.fields = pa.schema([*place_of_row, *scores, *notes])

    def __call__(self, data: Any) -> Any:
        """Returns the data with scores."""
        if isinstance(data, pa.RecordBatch):
            return self._scored(data)
        if isinstance(data, pa.Table):
            batches = [self._scored(one) for one in data.to_batches()]
            return pa.Table.from_batches(batches, self.schema(data.schema))
        if isinstance(data, Iterable) and not isinstance(data, str | bytes | dict):
            return self._scored_one_by_one(data)
        raise InputError(
            f"expected Arrow data (a record batch, a table or an iterable of record batches), not "
            f"{type(data).__name__}"
        )

    def schema(self, schema: pa.Schema) -> pa.Schema:
        """Returns the schema of what a call returns for data with this one.

        Raises `InputError` for a missing column, or one that has the name of an appended one.
        """
        missing = [name for name in self.needed if name not in schema.names]
        if missing:
            raise InputError(f"missing column {missing[0]!r}: found {', '.join(schema.names)}")
        taken = [name for name in self.fields.names if name in schema.names]
        if taken:
            raise InputError(
                f"the data has columns of its own called {', '.join(taken)}: rename them"
            )
        return pa.schema([*schema, *self.fields], schema.metadata)

    @property
    def needed(self) -> list[str]:
        """Names of the columns that data must have."""
        return [name for name in (self.question_field, self.answer_field) if name is not None]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle where the benchmark is, rather than the benchmark.

        The signature is there for digests, such as those of `datasets`, since scores depend on the version.
        """
        fields = (self.question_field, self.answer_field, self.question)
        chosen = (*fields, self.clean, self.threads)
        return _unpickled, (self.signature, tuple(self._place), *chosen)

    def __repr__(self) -> str:
        """Show the benchmark and the signature."""
        return f"ArrowScorer({self._place.name!r}; {self.signature!r})"

    @property
    def signature(self) -> str:
        """One line that makes the scores reproducible."""
        return signature(self._place.metadata_hash, self._place.settings, clean=self.clean)

    @property
    def benchmark(self) -> Benchmark:
        """The benchmark, which is loaded once in each process."""
        return self._place.found(Benchmark)

    def _scored_one_by_one(self, batches: Iterable[Any]) -> Iterator[pa.RecordBatch]:
        for one in batches:
            if not isinstance(one, pa.RecordBatch):
                raise InputError(f"expected record batches, not {type(one).__name__}")
            yield self._scored(one)

    def _scored(self, data: pa.RecordBatch) -> pa.RecordBatch:
        schema = self.schema(data.schema)
        asked = None if self.question_field is None else data.column(self.question_field)
        found = self.scores(data.column(self.answer_field), asked)
        return pa.RecordBatch.from_arrays([*data.columns, *found.columns], schema=schema)

    def scores(self, answers: Any, asked: Any | None) -> pa.RecordBatch:
        """Returns only what is appended to rows with these answers, which were `asked` these questions.

        Both are columns, or sequences of any objects; what is no text has a problem. `asked` is `None` if the
        scorer has no `question_field`.
        """
        rows = _Rows(self.benchmark, len(answers))
        questions = None if asked is None else rows.texts(asked, "question")
        answers = rows.answers(answers)
        known = None if questions is None else rows.numbers(questions)
        column = self.benchmark._coder.column(self._cleaned(rows.kept(answers)), self.threads)
        numbers, found = self._of_questions(known, column, int(rows.usable.sum()))
        ids = pa.array(self.benchmark.ids, pa.string())
        appended = [
            ids.take(rows.spread(numbers)),
            rows.spread(found.lengths.astype(np.int64)),
            *(rows.spread(values) for values in found.columns),
            pa.repeat(pa.scalar(self.signature, pa.string()), len(answers)),
            rows.column_of_problems(),
        ]
        return pa.RecordBatch.from_arrays(appended, schema=self.fields)

    def _of_questions(
        self, numbers: NDArray[np.uint32] | None, column: Any, count: int
    ) -> tuple[NDArray[np.uint32], _native.Scored]:
        """Score answers to the questions with these numbers, or to those that agree best with each."""
        if numbers is not None:
            return numbers, self._score(numbers, column)
        ids = self.benchmark.ids
        first, *others = range(len(ids)) if self.question is None else [ids.index(self.question)]
        best = np.full(count, first, np.uint32)
        found = self._score(best, column)
        scores = found.columns
        for number in others:
            other = self._score(np.full(count, number, np.uint32), column).columns
            better = other[_AVERAGE] > scores[_AVERAGE]
            best[better] = number
            scores = [np.where(better, *pair) for pair in zip(other, scores, strict=True)]
        return best, _native.Scored(found.lengths, scores)

    def _score(self, numbers: NDArray[np.uint32], column: Any) -> _native.Scored:
        codes = _native.Codes(numbers)
        return batch.score_column(self.benchmark, codes, column, threads=self.threads)

    def _cleaned(self, answers: Any) -> Any:
        if self.clean is None or not len(answers):
            return answers
        stop = default_stop(self.clean)
        return pa.array(
            [cleaned(text, self.clean, stop) for text in answers.to_pylist()], pa.string()
        )


def _unpickled(_signature: str, *arguments: Any) -> ArrowScorer:
    return ArrowScorer(*arguments)


class _Rows:
    """Which rows of a record batch can be scored (`usable`), and why the others cannot (`problems`)."""

    def __init__(self, benchmark: Benchmark, count: int) -> None:
        self._benchmark = benchmark
        self.problems: dict[int, str] = {}
        self.usable = np.ones(count, bool)

    def texts(self, column: Any, what: str) -> pa.Array:
        """Returns a column or objects as text, and notes rows that are null or not text."""
        if not isinstance(column, pa.Array):
            texts = [each if isinstance(each, str) else None for each in column]
            wrong = [at for at, each in enumerate(column) if texts[at] is None and each is not None]
            self._note(wrong, f"the {what} is not text")
            encoded = [text and text.encode(errors="surrogatepass") for text in texts]
            column = pa.array(encoded, pa.large_binary()).view(pa.large_string())
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if pa.types.is_null(column.type) or pa.types.is_string_view(column.type):
            column = column.cast(pa.large_string())  # views cannot be filtered
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            self._note(np.ones(len(column), bool), f"the {what} is of type {column.type}, not text")
            return pa.nulls(len(column), pa.string())
        return self._checked(column, what, _native.Texts)

    def answers(self, column: Any) -> pa.Array:
        """Returns the column of answers, and notes rows that are null or no answers."""
        if self._benchmark.settings.unit != "token":
            return self.texts(column, "answer")
        column = column if isinstance(column, pa.Array) else pa.array(column)
        if pa.types.is_null(column.type):
            column = column.cast(pa.list_(pa.int64()))
        return self._checked(column, "answer", self._benchmark._coder.column)

    def _checked(self, column: pa.Array, what: str, read: Any) -> pa.Array:
        self._note(column.is_null().to_numpy(zero_copy_only=False), f"the {what} is null")
        there = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
        try:
            read(column.drop_null())
        except InputError:
            for row in there.tolist():
                try:
                    read(column.slice(row, 1))
                except InputError as error:
                    reason = error.problem.removeprefix("row 0 ").removeprefix("row 0: ")
                    self._note(
                        [row], f"the {what} {reason}" if reason.startswith("is ") else reason
                    )
        return column

    def numbers(self, questions: pa.Array) -> NDArray[np.uint32]:
        """Returns the numbers of the questions of usable rows, and notes rows with others."""
        asked = np.flatnonzero(self.usable)
        texts = _native.Texts(self.kept(questions))
        found: NDArray[np.uint32] = self._benchmark._numbers.find(texts, 1).array()
        is_unknown = found == _native.UNKNOWN
        self._note(asked[is_unknown], "unknown question")
        usable: NDArray[np.uint32] = found[~is_unknown]
        return usable

    def kept(self, column: pa.Array) -> Any:
        """Returns what usable rows have in a column, which is not copied where all are usable."""
        if not self.problems:
            return column
        return column.filter(pa.array(self.usable)) if self.usable.any() else []

    def spread(self, values: NDArray[Any]) -> pa.Array:
        """Returns values of usable rows as a column of all rows: null elsewhere, and where they are NaN."""
        column = values
        if self.problems:
            column = np.zeros(len(self.usable), values.dtype)
            column[self.usable] = values
        unknown = ~self.usable | np.isnan(column)
        return pa.array(column, mask=unknown if unknown.any() else None)

    def column_of_problems(self) -> pa.Array:
        """Returns why each row has no scores, null where it has."""
        if not self.problems:
            return pa.nulls(len(self.usable), pa.string())
        return pa.array([self.problems.get(row) for row in range(len(self.usable))], pa.string())

    def _note(self, rows: NDArray[Any] | Sequence[int], problem: str) -> None:
        """Note a problem of some rows, unless they have one already."""
        for row in np.arange(len(self.usable))[rows].tolist():
            if self.usable[row]:
                self.problems[row], self.usable[row] = problem, False
