"""Scores columns of responses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from pfgen_rs import _native
from pfgen_rs.errors import InputError
from pfgen_rs.io.cleaning import Clean
from pfgen_rs.lazy import Floats, NDArray, np, pl
from pfgen_rs.metrics.settings import BY_SOURCE, Settings, score_names, share_name
from pfgen_rs.metrics.sums import left_sum
from pfgen_rs.metrics.units import Answer, Column
from pfgen_rs.questions.question import Question
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.scoring.inputs import FIELDS, AnswerColumn, QuestionColumn, Table, text_columns

Numbers: TypeAlias = "NDArray[np.uint32]"

CHUNK = 1 << 18
_LOOKED_AT = 1 << 16  # number of questions to inspect for a hint in an error message


class Details(NamedTuple):
    """Unrounded values, and the cuts (in units) at which they are attained.

    By source, before dividing by the number of sources.
    """

    fluency: dict[str, float]
    fluency_cut: dict[str, int]
    truthfulness: dict[str, float]
    truthfulness_cut: dict[str, int]
    helpfulness: float
    helpfulness_cut: int


@dataclass(frozen=True)
class Score:
    """The scores of one answer. `to_dict` returns the published per-answer object.

    `fluency` and `truthfulness` contain each source's share (its value divided by the number of sources);
    `average` is the mean of the three metrics, or of the other two if no question of the set has
    keyword rules. Truthfulness and Helpfulness are between 0 and 1. Fluency is relative to the reference
    answers, whose mean is 1, so an answer of very common n-grams can exceed 1. `signature` makes the score
    reproducible.
    """

    fluency: dict[str, float]
    truthfulness: dict[str, float]
    helpfulness: float
    helpfulness_results: list[list[Any]]
    average: float
    details: Details
    signature: str

    def to_dict(self) -> dict[str, Any]:
        """Returns keys and values exactly as published for every answer."""
        return {
            "fluency": self.fluency,
            "fluency_discount": 1.0,
            "truthfulness": self.truthfulness,
            "helpfulness": self.helpfulness,
            "helpfulness_results": self.helpfulness_results,
            "average": self.average,
        }

    def _repr_html_(self) -> str:
        """Show the metrics by source, and what the answer lacks, in notebooks."""
        from pfgen_rs.io import notebook  # which scoring does without

        missed = [(label, float(factor)) for label, factor in self.helpfulness_results]
        return notebook.document(
            [
                notebook.table(("metric", "source", "share"), self.shares()),
                notebook.table(("missed", "factor"), missed) if missed else "",
                notebook.paragraph(self.signature),
            ]
        )

    def shares(self) -> list[tuple[str, str | None, float]]:
        """Returns rows of metric, source and value; sources are `None` where there are none."""
        return [
            *(("fluency", source, value) for source, value in self.fluency.items()),
            *(("truthfulness", source, value) for source, value in self.truthfulness.items()),
            ("helpfulness", None, self.helpfulness),
            ("average", None, self.average),
        ]

    def __str__(self) -> str:
        """Returns the average with its signature, without which it is not reproducible."""
        return f"{self.average} ({self.signature})"


class ScoreArrays(NamedTuple):
    """Scores of responses as native columns: lengths, and float64 columns in the order of `score_names`."""

    lengths: NDArray[np.uint32]
    columns: list[Floats]

    def rows(self, rows: Any) -> ScoreArrays:
        """Returns these rows of all columns."""
        return ScoreArrays(self.lengths[rows], [column[rows] for column in self.columns])


def score(benchmark: QuestionSet, question: str | Question, answer: Answer) -> Score:
    """Score one answer to a question, passed as an object, text or id."""
    found = benchmark.find(question)
    column = benchmark.coder.column([answer], 1)
    rules = benchmark.helpfulness(found)
    text, coded = column.texts[0], column.coded[0]
    ends = [(0, rules.expression_ends([text]))] if rules.has_expressions else []
    batches = benchmark.lone_batches(found)
    _, columns = batches.score(np.zeros(1, np.uint32), column.coded, 0, ends, 1)
    if benchmark.settings.compensated:
        _compensate_sums(benchmark, columns, [(slice(None), found.sources)])
    values = dict(
        zip(score_names(benchmark.sources), (column[0].item() for column in columns), strict=True)
    )
    value, cut = rules.evaluate(text, coded)
    return Score(
        fluency={source: values[share_name("fluency", source)] for source in found.sources},
        truthfulness={
            source: values[share_name("truthfulness", source)] for source in found.sources
        },
        helpfulness=values["helpfulness"],
        helpfulness_results=rules.missed(rules.ends(text), value, cut),
        average=values["average"],
        details=_details(benchmark, found, coded, value, cut),
        signature=benchmark.signature,
    )


def _details(
    benchmark: QuestionSet, question: Question, coded: str, value: float, cut: int
) -> Details:
    cuts = benchmark.native_scorer(question).cuts(coded)
    by_source = [
        dict(zip(question.sources, column, strict=True)) for column in zip(*cuts, strict=True)
    ]
    fluency, fluency_cut, truthfulness, truthfulness_cut = by_source
    return Details(fluency, fluency_cut, truthfulness, truthfulness_cut, value, cut)


def score_batch(
    benchmark: QuestionSet,
    data: Table | QuestionColumn,
    answers: AnswerColumn | None = None,
    *,
    question_field: str = FIELDS[0],
    answer_field: str = FIELDS[1],
    clean: Clean = False,
    threads: int | None = None,
    chunk_size: int = CHUNK,
) -> pl.DataFrame:
    """Score many answers, one per row; see `Benchmark.score_batch`."""
    questions, texts = text_columns(data, answers, (question_field, answer_field), clean)
    return score_batch_columns(benchmark, questions, texts, threads=threads, chunk_size=chunk_size)


def score_batch_columns(
    benchmark: QuestionSet,
    questions: pl.Series,
    answers: Any,
    *,
    threads: int | None = None,
    chunk_size: int = CHUNK,
) -> pl.DataFrame:
    """`score_batch` for a column of questions and a column of answers of the same length."""
    numbers, column = numbered_batch(benchmark, questions, answers, threads=threads)
    return score_numbered(benchmark, numbers, column, threads=threads, chunk_size=chunk_size)


def numbered_batch(
    benchmark: QuestionSet, questions: pl.Series, answers: Any, *, threads: int | None = None
) -> tuple[Numbers, Column]:
    """Returns the numbers of a column of questions and the coded answers, for `score_numbered`."""
    column = benchmark.coder.column(answers, threads)
    if len(column.coded) != len(questions):
        raise InputError(f"{len(questions)} questions but {len(column.coded)} answers")
    return question_numbers(benchmark, questions, threads=threads), column


def score_numbered(
    benchmark: QuestionSet,
    numbers: Numbers,
    answers: Column,
    *,
    threads: int | None = None,
    chunk_size: int = CHUNK,
) -> pl.DataFrame:
    """`score_batch` for question numbers and the same number of answers."""
    found = scored_arrays(benchmark, numbers, answers, threads=threads, chunk_size=chunk_size)
    return score_frame(benchmark, numbers, found)


def scored_arrays(
    benchmark: QuestionSet,
    numbers: Numbers,
    answers: Column,
    *,
    threads: int | None = None,
    chunk_size: int = CHUNK,
) -> ScoreArrays:
    """Score the same number of answers as question numbers, `chunk_size` at a time."""
    if chunk_size < 1:
        raise InputError(f"chunk_size must be positive, not {chunk_size}")
    parts = [
        score_arrays(
            benchmark, numbers[start : start + chunk_size], answers, start=start, threads=threads
        )
        for start in range(0, max(len(numbers), 1), chunk_size)
    ]
    if len(parts) == 1:
        return parts[0]
    columns = zip(*(part.columns for part in parts), strict=True)
    lengths = np.concatenate([part.lengths for part in parts])
    return ScoreArrays(lengths, [np.concatenate(column) for column in columns])


def score_frame(benchmark: QuestionSet, numbers: Numbers, scores: ScoreArrays) -> pl.DataFrame:
    """Returns scores as a table, with the ids of their questions."""
    ids = pl.Series(benchmark.ids, dtype=pl.String)
    columns = zip(score_names(benchmark.sources), scores.columns, strict=True)
    return pl.DataFrame(
        [
            ids.gather(numbers).alias("question_id"),
            pl.Series("length", scores.lengths).cast(pl.Int64),
            *(pl.Series(name, values, nan_to_null=True) for name, values in columns),
        ]
    )


def score_arrays(
    benchmark: QuestionSet,
    numbers: Numbers,
    answers: Column,
    *,
    start: int = 0,
    threads: int | None = None,
) -> ScoreArrays:
    """Score the answers from `start` on, one for each of these question numbers."""
    counts = np.bincount(numbers, minlength=1)
    asked = {n: benchmark.in_order[n] for n in np.flatnonzero(counts).tolist()}
    batches = benchmark.batches(list(asked.values()), threads=threads)
    expressions = {
        number: rules
        for number, question in asked.items()
        if (rules := benchmark.helpfulness(question)).has_expressions
    }
    compensated = benchmark.settings.compensated
    rows = _rows_by_number(numbers, counts) if expressions or compensated else []
    others = []
    for number, rules in expressions.items():
        texts = (answers.texts[start + row] for row in rows[number].tolist())
        others.append((number, rules.expression_ends(texts, threads=threads)))
    found = ScoreArrays(*batches.score(numbers, answers.coded, start, others, threads))
    if compensated:
        by_question = [(rows[number], question.sources) for number, question in asked.items()]
        _compensate_sums(benchmark, found.columns, by_question)
    return found


def _rows_by_number(numbers: Numbers, counts: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Returns the rows of each number, ascending, in time linear in rows and numbers."""
    return np.split(np.argsort(numbers, kind="stable"), np.cumsum(counts)[:-1])


def _compensate_sums(
    benchmark: QuestionSet,
    columns: Sequence[Floats],
    questions: Sequence[tuple[Rows, Sequence[str]]],
) -> None:
    named = dict(zip(score_names(benchmark.sources), columns, strict=True))
    sum_again(named, questions, benchmark.settings)


def question_numbers(
    benchmark: QuestionSet, questions: Any, *, threads: int | None = None
) -> Numbers:
    """Returns the number of each question (text or id). Raises an error naming the row of an unknown one."""
    if isinstance(questions, pl.Series):
        if questions.null_count():
            raise InputError(f"row {questions.is_null().arg_true()[0]}: the question is null")
        if questions.dtype.is_nested() or questions.dtype == pl.Object:
            raise InputError(f"invalid questions: expected text, not {questions.dtype.base_type()}")
        questions = questions.cast(pl.String)
    return numbers_of(benchmark, _native.Texts(questions, threads), threads=threads)


def numbers_of(
    benchmark: QuestionSet, texts: _native.Texts, *, threads: int | None = None
) -> Numbers:
    """Returns the number of each question in a native column. Raises an error naming an unknown one's row."""
    numbers = benchmark.numbers.find(texts, threads)
    unknown = np.flatnonzero(numbers == _native.UNKNOWN)
    if len(unknown):
        row = int(unknown[0])
        others = (texts[i] for i in range(min(len(texts), _LOOKED_AT)))
        raise benchmark.unknown(texts[row], others, row=row)
    return numbers


# Recomputes totals of responses from the sources' shares, with plain or compensated sums.
#
# The native scorer uses plain sums. Shares are rounded before they are added, so stored shares are
# sufficient.


Rows: TypeAlias = "slice | NDArray[np.intp]"


def sum_again(
    columns: Mapping[str, Floats],
    questions: Iterable[tuple[Rows, Sequence[str]]],
    settings: Settings,
) -> None:
    """Replace `fluency`, `truthfulness` and `average` in `columns` (named as by `score_names`) in place.

    `questions`: for each question, the rows of its responses, and its sources in file order. Values
    must be those of variant `pfgen-bench`; `settings` say how they are added.
    """
    for rows, sources in questions:
        fluency, truthfulness = (
            left_sum(
                [columns[share_name(metric, source)][rows] for source in sources],
                compensated=settings.compensated,
            )
            for metric in BY_SOURCE
        )
        average = settings.average(fluency, truthfulness, columns["helpfulness"][rows])
        columns["fluency"][rows] = fluency
        columns["truthfulness"][rows] = truthfulness
        columns["average"][rows] = _native.round_half_even(average, 5)
