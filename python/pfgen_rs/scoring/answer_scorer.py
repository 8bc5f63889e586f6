"""A scorer for training loops, with little overhead per call."""

from __future__ import annotations

from typing import Any

from pfgen_rs import _native
from pfgen_rs.errors import InputError
from pfgen_rs.lazy import NDArray, np
from pfgen_rs.metrics.settings import COLUMNS, Metric, check_metric
from pfgen_rs.metrics.units import Column, texts_of
from pfgen_rs.questions.question import Question
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.scoring import batch
from pfgen_rs.scoring.inputs import AnswerColumn, QuestionColumn, asked_texts


class AnswerScorer:
    """`scorer(questions, answers)` returns one metric of each answer: float64, shape (answers,).

    `questions` are texts, ids or `Question` objects, or a single one for all answers; `answers` are texts
    (lists of ids if the unit is `token`). Both may be lists or Arrow columns.

    `metric`: `average`, `fluency`, `truthfulness` or `helpfulness`, as returned by `score_batch`.

    Thread-safe, does not use polars, and safe in forked processes: calls run on the calling thread unless
    `threads` is set (`None`: all cores, which pays off for more than a few hundred answers). Can be pickled
    and sent to worker processes. Raises the same errors as `score_batch`.

    >>> import pfgen_rs
    >>> reward = pfgen_rs.load_benchmark("mini").scorer()
    >>> reward(["Q02", "Q14"], ["光合成", "風呂敷"]).tolist()
    [0.34292, 0.34693]
    """

    def __init__(
        self, benchmark: QuestionSet, metric: Metric = "average", *, threads: int | None = 1
    ) -> None:
        check_metric(metric)
        self.benchmark = benchmark
        self.metric = metric
        self.threads = threads
        self._place = COLUMNS.index(metric)
        self._numbers = benchmark._numbers
        self._column = benchmark._coder.column
        self._batches = benchmark._batches(list(benchmark))
        self._simple = not (
            benchmark.settings.compensated
            or benchmark.left_out is not None
            or any(benchmark._helpfulness(q).has_expressions for q in benchmark)
        )
        self._few: _native.Few | None = None
        # Warm up, so that the first call takes no longer than others.
        answer = [0] if benchmark.settings.unit == "token" else "。"
        self([question.id for question in benchmark], [answer] * len(benchmark))
        if self._simple and benchmark.settings.unit == "character":
            self._few = _native.Few(self._numbers, self._batches, self._place)

    def __call__(
        self, questions: str | Question | QuestionColumn, answers: AnswerColumn
    ) -> NDArray[np.float64]:
        """Score answers; see the class's docstring."""
        if self._few is not None:
            scores = self._few.score(questions, answers)
            if scores is not None:
                return scores
        column = self._column(answers, self.threads)
        each: Any = questions
        if isinstance(questions, str | Question):
            each = [questions] * len(column.coded)
        try:
            asked = _native.Texts(each, self.threads)
        except (
            InputError,
            TypeError,
        ):  # checking for `Question` objects first would slow down every call
            asked = texts_of(asked_texts(each), self.threads)
        if self._simple:
            scores = self._batches.total(
                self._numbers, asked, column.coded, self._place, self.threads
            )
            if scores is not None:
                return scores
        return self._metric_of(asked, column)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the arguments of the constructor."""
        return _answer_scorer_again, (self.benchmark, self.metric, self.threads)

    def __repr__(self) -> str:
        """Show the metric and the signature."""
        return f"AnswerScorer({self.metric!r}, {self.benchmark.signature!r})"

    def _metric_of(self, questions: _native.Texts, answers: Column) -> NDArray[np.float64]:
        """Take the slow path: errors for unknown questions, regular expressions, compensated sums."""
        if len(questions) != len(answers.coded):
            raise InputError(f"{len(questions)} questions but {len(answers.coded)} answers")
        codes = batch.numbers_of(self.benchmark, questions)
        found = batch.score_column(self.benchmark, codes, answers, threads=self.threads)
        return found.columns[self._place]


def _answer_scorer_again(
    benchmark: QuestionSet, metric: Metric, threads: int | None
) -> AnswerScorer:
    return AnswerScorer(benchmark, metric, threads=threads)
