"""Scores columns of responses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from pfgen_rs import _native
from pfgen_rs.errors import InputError, StoreError
from pfgen_rs.io.chunk import Options
from pfgen_rs.io.layouts import ReadAs
from pfgen_rs.lazy import np, pl
from pfgen_rs.metrics.settings import COLUMNS, score_names
from pfgen_rs.metrics.units import Answer, Column
from pfgen_rs.questions.asked import Asked, in_prompts
from pfgen_rs.questions.question import Question
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.scoring.inputs import AnswerColumn, QuestionColumn, Responses, Table, text_columns
from pfgen_rs.scoring.rescaling import rescaled, scales_of

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

    >>> import pfgen_rs
    >>> score = pfgen_rs.load_benchmark("mini").score("Q02", "光合成は植物の働きです。")
    >>> score.average, score.fluency, score.helpfulness_results[:1]
    (0.37275, {'A': 0.118237}, [['二酸化炭素', 0.0]])
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


def score(benchmark: QuestionSet, question: str | Question, answer: Answer) -> Score:
    """Score one answer to a question, passed as an object, text or id."""
    found = benchmark.find(question)
    column = benchmark._coder.column([answer], 1)
    text, coded = column.texts[0], column.coded[0]
    rules = benchmark._helpfulness(found)
    others, compensated = rules.ends_of_others(text), benchmark.settings.compensated
    scorer = benchmark._native_scorer(found)
    row, cuts, value, cut = scorer.lone(rules.native, coded, others, compensated)
    (_, _, helpfulness, average), fluency, truthfulness = _totals(benchmark, found, row)
    return Score(
        fluency=fluency,
        truthfulness=truthfulness,
        helpfulness=helpfulness,
        helpfulness_results=rules.missed(rules.ends(text, others), value, cut),
        average=average,
        details=_details(benchmark, found, cuts, value, cut),
        signature=benchmark.signature,
    )


def _totals(
    benchmark: QuestionSet, question: Question, row: list[float]
) -> tuple[list[float], dict[str, float], dict[str, float]]:
    """Returns the totals and each source's shares of a row of scores, times the benchmark's scales."""
    sources = question.sources
    if benchmark.left_out is not None:
        of_all = dict.fromkeys(score_names(benchmark.sources), np.full(1, np.nan))
        names = score_names(sources)
        of_all |= {name: np.array([value]) for name, value in zip(names, row, strict=True)}
        number = np.full(1, benchmark._number_of[question.id], np.uint32)
        scored = _native.Scored(np.zeros(1, np.uint32), list(of_all.values()))
        columns = rescaled(benchmark, lambda: number, scored).columns
        found = dict(zip(of_all, (column.item() for column in columns), strict=True))
        row = [found[name] for name in names]
    split = len(COLUMNS) + len(sources)
    fluency = dict(zip(sources, row[len(COLUMNS) : split], strict=True))
    return row[: len(COLUMNS)], fluency, dict(zip(sources, row[split:], strict=True))


def _details(
    benchmark: QuestionSet,
    question: Question,
    cuts: list[tuple[float, int, float, int]],
    value: float,
    cut: int,
) -> Details:
    by_source = [
        dict(zip(question.sources, column, strict=True)) for column in zip(*cuts, strict=True)
    ]
    fluency, fluency_cut, truthfulness, truthfulness_cut = by_source
    for source, scales in scales_of(benchmark, question).items():
        fluency[source] *= scales[0]
        truthfulness[source] = min(truthfulness[source] * scales[1], 1.0)
    return Details(fluency, fluency_cut, truthfulness, truthfulness_cut, value, cut)


def score_batch(
    benchmark: QuestionSet,
    data: Table | QuestionColumn,
    answers: AnswerColumn | None,
    options: Options,
    *,
    threads: int | None = None,
    chunk_size: int = CHUNK,
) -> pl.DataFrame:
    """Score many answers, one per row; see `Benchmark.score_batch`."""
    found = text_columns(data, answers, options)
    return score_responses(benchmark, found, threads=threads, chunk_size=chunk_size)


def score_responses(
    benchmark: QuestionSet,
    found: Responses,
    *,
    threads: int | None = None,
    chunk_size: int = CHUNK,
) -> pl.DataFrame:
    """`score_batch` for a column of questions and a column of answers of the same length."""
    codes, column, _ = numbered_responses(benchmark, found, threads=threads)
    return score_numbered(benchmark, codes, column, threads=threads, chunk_size=chunk_size)


def numbered_responses(
    benchmark: QuestionSet, found: Responses, *, threads: int | None = None
) -> tuple[_native.Codes, Column, ReadAs]:
    """Returns the numbers of the questions and the coded answers, for `score_numbered`."""
    column = benchmark._coder.column(found.answers, threads)
    if len(column.coded) != len(found.questions):
        raise InputError(f"{len(found.questions)} questions but {len(column.coded)} answers")
    codes, read_as = question_numbers(benchmark, found, threads=threads)
    return codes, column, read_as


def score_numbered(
    benchmark: QuestionSet,
    codes: _native.Codes,
    answers: Column,
    *,
    threads: int | None = None,
    chunk_size: int = CHUNK,
) -> pl.DataFrame:
    """`score_batch` for question numbers and the same number of answers."""
    found = score_column(benchmark, codes, answers, threads=threads, chunk_size=chunk_size)
    return score_frame(benchmark, codes, found)


def score_column(
    benchmark: QuestionSet,
    codes: _native.Codes,
    answers: Column,
    *,
    threads: int | None = None,
    chunk_size: int = CHUNK,
    once: bool = False,
) -> _native.Scored:
    """Score the same number of answers as question numbers, `chunk_size` at a time.

    `once`: see `QuestionSet._batches`.
    """
    if chunk_size < 1:
        raise InputError(f"chunk_size must be positive, not {chunk_size}")
    count = len(codes)
    parts = [
        _score_rows(benchmark, codes, answers, at, min(chunk_size, count - at), threads, once)
        for at in range(0, max(count, 1), chunk_size)
    ]
    return parts[0] if len(parts) == 1 else _native.Scored.joined(parts)


def _score_rows(
    benchmark: QuestionSet,
    codes: _native.Codes,
    answers: Column,
    start: int,
    count: int,
    threads: int | None,
    once: bool,
) -> _native.Scored:
    asked = {number: benchmark._in_order[number] for number in codes.asked(start, count)}
    batches = benchmark._batches(list(asked.values()), threads=threads, once=once)
    others = []
    for number, question in asked.items():
        rules = benchmark._helpfulness(question)
        if rules.has_expressions:
            texts = (answers.texts[row] for row in codes.rows(number, start, count))
            others.append((number, rules.expression_ends(texts, threads=threads)))
    compensated = benchmark.settings.compensated
    try:
        found = batches.score(codes, answers.coded, start, count, others, compensated, threads)
    except StoreError as error:  # only of scorers that are read now
        benchmark._give_up_cache(error)
        return _score_rows(benchmark, codes, answers, start, count, threads, once=False)
    return rescaled(benchmark, lambda: codes.array()[start : start + count], found)


def score_frame(
    benchmark: QuestionSet, codes: _native.Codes, scores: _native.Scored
) -> pl.DataFrame:
    """Returns scores as a table, with the ids of their questions."""
    ids = pl.Series(benchmark.ids, dtype=pl.String)
    columns = zip(score_names(benchmark.sources), scores.columns, strict=True)
    return pl.DataFrame(
        [
            ids.gather(codes.array()).alias("question_id"),
            pl.Series("length", scores.lengths).cast(pl.Int64),
            *(pl.Series(name, values, nan_to_null=True) for name, values in columns),
        ]
    )


def question_numbers(
    benchmark: QuestionSet, found: Responses, *, threads: int | None = None
) -> tuple[_native.Codes, ReadAs]:
    """Returns the number of each question (text, id, or a prompt with it), and how many were in prompts.

    Raises an error naming the row of an unknown one.
    """
    questions, read_as = found.questions, found.read_as
    if questions.null_count():
        raise InputError(f"row {questions.is_null().arg_true()[0]}: the question is null")
    if questions.dtype.is_nested() or questions.dtype == pl.Object:
        raise InputError(f"invalid questions: expected text, not {questions.dtype.base_type()}")
    texts = _native.Texts(questions.cast(pl.String), threads)
    codes = benchmark._numbers.find(texts, threads)
    if read_as.asks_prompts and codes.unknown():
        codes, prompts, several = in_prompts(Asked(benchmark), benchmark.ids, codes, texts)
        read_as = read_as.counting(prompts, several, read_as.reasoned)
    return _known(benchmark, texts, codes), read_as


def numbers_of(
    benchmark: QuestionSet, texts: _native.Texts, *, threads: int | None = None
) -> _native.Codes:
    """Returns the number of each question in a native column. Raises an error naming an unknown one's row."""
    return _known(benchmark, texts, benchmark._numbers.find(texts, threads))


def _known(benchmark: QuestionSet, texts: _native.Texts, codes: _native.Codes) -> _native.Codes:
    for row in codes.unknown():
        others = (texts[i] for i in range(min(len(texts), _LOOKED_AT)))
        raise benchmark._unknown(texts[row], others, row=row)
    return codes
